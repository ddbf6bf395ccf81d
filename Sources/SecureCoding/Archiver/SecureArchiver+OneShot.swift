public import Foundation
public import KeyedArchives

extension SecureArchiver {
  /// An archive of `object` under `root`.
  ///
  /// - Parameters:
  ///   - object: an object whose class adopts `NSSecureCoding`, or one of Foundation's values, or an array or dictionary of
  ///     these. What any other value in it would end as is never guessed: it throws.
  ///   - format: binary, or XML.
  ///   - requiringSecureCoding: whether classes that adopt only `NSCoding` are refused.
  ///   - names: under which names classes are archived, where it is not their own.
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
