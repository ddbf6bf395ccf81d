/// What a change of a group's roster came to.
package struct ChangedRoster: Sendable {
  /// The new state; the present one if there was nothing to change.
  package let state: VerifiedState
  package let left: LeftBehind
}

/// What the last signed root of a group does not prove, and a new key therefore left behind.
package struct LeftBehind: Sendable, Equatable {
  /// Rows of each table that nothing signed names; anybody who can write the file can add them.
  package internal(set) var rows: UInt64 = 0
  package internal(set) var versions: UInt64 = 0
  package internal(set) var blobs: UInt64 = 0
  package internal(set) var nodes: UInt64 = 0
  package internal(set) var wraps: UInt64 = 0
  package internal(set) var links: UInt64 = 0
  /// The names of rows that open although nobody signed them, a thousand at most; sorted.
  package internal(set) var unproved: [String] = []
  /// Signed items that cannot be proved any more.
  package internal(set) var lost: UInt64 = 0
  /// Their names, as far as they can be known; sorted.
  package internal(set) var lostNames: [String] = []
  /// Signed older versions that cannot be proved any more, of items that were taken along.
  package internal(set) var lostVersions: UInt64 = 0
  /// Whether the history of the group's states was lost: machines that have not seen its last one must accept it.
  package internal(set) var losesChain = false
  /// Whether the file was too damaged to be changed where it lies: a new one took its place, and the old one was kept.
  package internal(set) var isReplaced = false

  static let namedCount = 1_000

  /// Rows that nobody signed, of all tables.
  package var unsigned: UInt64 { rows + versions + blobs + nodes + wraps + links }

  /// Counts what a second step left behind, besides that of a first one.
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
