/// The data that the last signed root does not prove, and that a new key therefore dropped.
package struct LeftBehind: Sendable, Equatable {
  /// Rows of each table that no signed data names; anyone who can write the file can add them.
  package internal(set) var rows: UInt64 = 0
  package internal(set) var versions: UInt64 = 0
  package internal(set) var blobs: UInt64 = 0
  package internal(set) var nodes: UInt64 = 0
  package internal(set) var wraps: UInt64 = 0
  package internal(set) var links: UInt64 = 0
  /// The names of unsigned rows that can be opened, at most 1,000, sorted.
  package internal(set) var unproved: [String] = []
  /// The number of signed items that can no longer be proved.
  package internal(set) var lost: UInt64 = 0
  /// Their known names, sorted.
  package internal(set) var lostNames: [String] = []
  /// The number of signed older versions that can no longer be proved, of items that were kept.
  package internal(set) var lostVersions: UInt64 = 0
  /// Whether the chain of the group's states was lost: machines that have not seen the last state must accept it.
  package internal(set) var losesChain = false
  /// Whether the file was too damaged to be changed in place, so that a new one replaced it and the old one was kept.
  package internal(set) var isReplaced = false

  static let namedCount = 1_000

  /// The number of unsigned rows in all tables.
  package var unsigned: UInt64 { rows + versions + blobs + nodes + wraps + links }

  /// Adds the counts of a second step.
  mutating func add(_ other: LeftBehind) {
    rows += other.rows
    versions += other.versions
    blobs += other.blobs
    nodes += other.nodes
    wraps += other.wraps
    links += other.links
    unproved += other.unproved
    losesChain = losesChain || other.losesChain
  }

  package var isNothing: Bool { self == LeftBehind() }
}
