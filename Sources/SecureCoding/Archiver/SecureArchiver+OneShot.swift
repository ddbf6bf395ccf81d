public import Foundation
public import KeyedArchives

extension SecureArchiver {
  /// Archives `object` under `root`.
  ///
  /// - Parameters:
  ///   - object: an object whose class adopts `NSSecureCoding`, one of Foundation's values, or an array or dictionary
  ///     of these. Any other value throws.
  ///   - format: binary, or XML.
  ///   - requiringSecureCoding: whether classes that adopt only `NSCoding` are refused.
  ///   - names: the names of classes in the archive, where they differ from the classes' own.
  /// - Returns: the archive's bytes, the same for the same value.
  /// - Throws: ``ArchiveError``.
  public static func archivedData(
    withRootObject object: Any, format: ArchiveFormat = .binary, requiringSecureCoding: Bool = true,
    names: [(type: AnyClass, name: String)] = []
  ) throws(ArchiveError) -> Data {
    let archiver = SecureArchiver(requiringSecureCoding: requiringSecureCoding, names: names)
    archiver.encode(object, forKey: "root")
    return try archiver.finishEncoding(format)
  }
}
