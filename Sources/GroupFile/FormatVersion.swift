/// The versions of the format that this code reads and writes (format article, "Manifest").
package enum FormatVersion {
  /// A file that needs a higher read version is refused.
  package static let read: UInt16 = 1
  /// A file that needs a higher write version is read but not changed.
  package static let write: UInt16 = 1
}
