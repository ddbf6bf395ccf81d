import Sealing

/// What a copy of one group holds, proved completely.
package struct CopiedGroup: Sendable, Equatable {
  /// Present items.
  package var items: UInt64
  /// Older versions.
  package var versions: UInt64
  package var epoch: UInt64

  fileprivate init(_ counts: FullProof.Counts, _ state: VerifiedState) {
    items = counts.items - counts.tombstones
    versions = counts.versions
    epoch = state.manifest.epoch
  }
}

extension AccessGroupFile {
  /// Copies the group's present state into `folder`, and proves the copy completely against its signed root.
  ///
  /// Others may write meanwhile. The copy is one file, without log, index and lock.
  ///
  /// - Parameter folder: is there, and empty.
  /// - Returns: `nil` for a group that is bound to this device: no copy of it could be opened elsewhere.
  /// - Throws: what a reader finds, and what is wrong with the copy; there is no copy then.
  package func backUp(
    to folder: String, progress: (CopyStep) -> Void = { _ in }
  ) throws(GroupFileError) -> CopiedGroup? {
    let transaction = try beginReading()
    guard !transaction.view.state.roster.flags.contains(.thisDeviceOnly) else { return nil }
    let place = try ContainerPlace(folder: folder)
    try transaction.view.connection.copy(to: place, progress: progress)
    do throws(GroupFileError) {
      return try RestingGroup(at: place, context).proved { progress(.proved($0)) }
    } catch {
      Connection.remove(place)
      throw error
    }
  }
}

/// A group's file that nobody writes to, such as one in a backup. Nothing is made beside it, and no witness is asked.
package final class RestingGroup {
  private let connection: Connection
  private let view: Snapshot

  package var state: VerifiedState { view.state }

  /// Opens the group's file in `folder`.
  ///
  /// - Throws: what the checks of a reader find, but for the witness.
  package convenience init(in folder: String, _ context: GroupContext) throws(GroupFileError) {
    try self.init(at: ContainerPlace(folder: folder), context)
  }

  init(at place: ContainerPlace, _ context: GroupContext) throws(GroupFileError) {
    connection = try Connection(at: place, access: .reading, isResting: true)
    try connection.begin(.reading)
    let state = try VerifiedState.open(connection, as: context, known: nil)
    view = Snapshot(connection, state, NodeCache(), witnessed: .absent)
  }

  deinit { connection.close() }

  /// Proves everything in the file.
  ///
  /// - Throws: the first thing that is wrong.
  package func proved(progress: (UInt64) -> Void = { _ in }) throws(GroupFileError) -> CopiedGroup {
    CopiedGroup(try FullProof.run(view, progress: progress), state)
  }

  /// Copies the file into `folder`, which is there and empty.
  func copy(to folder: String, mode: UInt32, progress: (CopyStep) -> Void) throws(GroupFileError) {
    try connection.copy(to: ContainerPlace(folder: folder), mode: mode, progress: progress)
  }
}
