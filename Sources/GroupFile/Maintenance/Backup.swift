extension AccessGroupFile {
  /// Copies the group's current state into the empty `folder` as one file, and proves the copy; `nil` for a group that
  /// is bound to this device. Others may write meanwhile. On an error no copy is left.
  package func backUp(
    to folder: String, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> ProvedGroup? {
    let transaction = try beginReading()
    guard !transaction.state.roster.flags.contains(.thisDeviceOnly) else { return nil }
    let place = try ContainerPlace(folder: folder)
    try transaction.copy(to: folder, progress: progress)
    do throws(VaultError) {
      return try FullProof.run(Snapshot(restingIn: folder, context)) { progress(.proved($0)) }
    } catch {
      Connection.remove(place)
      throw error
    }
  }

  /// Copies one state of the file in `source` into `folder` without a key, so nothing of it is proved.
  ///
  /// - Throws: the error of reading the file; `overLimit` for a file of more than 256 MiB, because no signature says
  ///   how large it should be. No copy is left then.
  package static func copyUnproved(from source: String, to folder: String) throws(VaultError) {
    let connection = try Connection(at: ContainerPlace(folder: source), access: .reading)
    defer { connection.close() }
    try connection.begin(.reading)
    defer { connection.rollback() }
    try connection.quickCheck()
    guard try connection.value("PRAGMA page_count") <= 1 << 16 else {
      throw .overLimit("256 MiB in a file that cannot be proved here")
    }
    try connection.copy(to: ContainerPlace(folder: folder)) { _ in }
  }
}

extension Snapshot {
  /// Opens the group's file in `folder`, to which nobody writes, such as one in a backup. No file is created next to it,
  /// and no witness is used.
  ///
  /// - Throws: the errors of a reader's checks, except those about the witness.
  package convenience init(restingIn folder: String, _ context: GroupContext) throws(VaultError) {
    let connection = try Connection(at: ContainerPlace(folder: folder), access: .reading, isResting: true)
    try connection.begin(.reading)
    let state = try VerifiedState.open(connection, as: context, known: nil)
    self.init(connection, state, ProvedCache(), witnessed: .absent)
  }

  /// Copies the file into `folder`, which exists and is empty.
  ///
  /// A file that is too large for its signed content is refused before it is copied page by page. Anyone who can write its
  /// header can make it claim terabytes.
  ///
  /// - Throws: `damaged`; `overLimit` for more free pages than a compacted group has.
  func copy(to folder: String, mode: UInt32 = 0o600, progress: (MaintenanceProgress) -> Void) throws(VaultError) {
    try connection.quickCheck()
    let free = try connection.value("PRAGMA freelist_count")
    guard free <= Snapshot.freePageCount else {
      throw .overLimit("1 GiB of free pages, which compacting the group releases")
    }
    let rows = Int64(clamping: min(state.manifest.itemCount + state.manifest.versionRowCount, 1 << 40))
    guard try connection.value("PRAGMA page_count") - free <= Snapshot.basePageCount + rows * Snapshot.rowPageCount
    else { throw .damaged(.container, "the file is larger than its signed content") }
    try connection.copy(to: ContainerPlace(folder: folder), mode: mode, progress: progress)
  }

  private static let freePageCount: Int64 = 1 << 18
  /// The pages for roster, wraps, chain and the roots of all tables.
  private static let basePageCount: Int64 = 4_096
  /// The pages for the largest attributes and the largest value of one row, with their nodes and keys.
  private static let rowPageCount: Int64 = 400
}

/// The progress of a backup, a restoration, a repair or a rotation of one group.
@nonexhaustive
public enum MaintenanceProgress: Sendable, Equatable {
  case copied(bytes: UInt64, of: UInt64)
  /// The number of items proved so far.
  case proved(UInt64)
  /// The number of items proved and sealed under the new key so far.
  case sealed(UInt64)
  /// The number of sealed items written so far.
  case written(UInt64)
}
