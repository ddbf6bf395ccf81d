/// The versions of the format that a file needs: who reads must know the first, who writes both (format article, "The roster").
package struct FormatVersion: Equatable, Sendable {
  package var read: UInt16
  package var write: UInt16

  /// What this code reads and writes.
  package static let known = FormatVersion(read: 1, write: 1)

  /// Throws `newerFormat` where `access` needs a program that knows more than this one.
  func check(_ access: Connection.Access) throws(GroupFileError) {
    if read > FormatVersion.known.read || access == .writing && write > FormatVersion.known.write {
      throw .newerFormat(read: read, write: write)
    }
  }
}
