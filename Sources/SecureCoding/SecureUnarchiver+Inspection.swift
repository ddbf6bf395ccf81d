public import Foundation
@_exported public import KeyedArchives

extension SecureUnarchiver {
  /// Reads any keyed archive as a tree, without building anything.
  ///
  /// Throws ``ArchiveError`` if `data` is not a keyed archive, contradicts itself or exceeds a limit. Another
  /// archiver's name, another version, cycles and unknown classes are not errors here.
  public static func inspect(
    _ data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> ArchiveInspection {
    try ArchiveInspection([UInt8](data), limits: limits)
  }
}
