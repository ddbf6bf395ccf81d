internal import CVaultSQLite
internal import Glibc
import Sealing

/// A folder in which a group's file is prepared; once complete, it becomes the group, replacing an existing one.
///
/// The folder is moved as a whole: the old file, log and index stay together and unchanged, and nobody sees a group
/// that is half replaced.
package struct GroupDraft: Sendable {
  /// The draft's folder, on the file system of the store.
  package let folder: String
  private let target: String
  /// The permissions of the group's files.
  package let fileMode: UInt32

  /// Makes the draft's folder, with the modes and the Unix group of `target`.
  ///
  /// - Throws: `denied`, `storage`, `exists`.
  package init(in folder: String, for target: String) throws(GroupFileError) {
    self.folder = folder
    self.target = target
    guard unsafe mkdir(folder, 0o700) == 0 else { throw ResultCode.error(errno: errno) }
    var found = stat()
    guard unsafe lstat(target, &found) == 0, found.st_mode & S_IFMT == S_IFDIR, found.st_mode & 0o077 != 0 else {
      fileMode = 0o600
      return
    }
    fileMode = found.st_mode & S_IWGRP == 0 ? 0o640 : 0o660
    // Ownership first: changing it clears the bit that lets new files inherit the group.
    guard unsafe chown(folder, uid_t.max, found.st_gid) == 0, unsafe chmod(folder, found.st_mode & 0o7777) == 0 else {
      throw ResultCode.error(errno: errno)
    }
  }

  /// Makes the draft's folder in another shape than that of `target`.
  init(in folder: String, for target: String, shape: ContainerShape) throws(GroupFileError) {
    self.folder = folder
    self.target = target
    fileMode = shape.fileMode
    try shape.makeFolder(folder)
  }

  /// The path of the group's file in the draft.
  package var filePath: String { "\(folder)/\(ContainerPlace.groupFileName)" }

  /// Copies `group` into the draft.
  package func fill(from group: RestingGroup, progress: (MaintenanceProgress) -> Void = { _ in }) throws(GroupFileError)
  {
    try group.copy(to: folder, mode: fileMode, progress: progress)
    // Create an empty log and index, so that users who may only read the folder can open the file.
    try Connection(at: ContainerPlace(folder: folder), access: .writing).close()
  }

  /// Moves the draft to the group's place, while no writer is active there.
  ///
  /// - Parameter kept: an unused path, to which the replaced files are moved.
  /// - Returns: whether files were moved there.
  /// - Throws: `busy`, `denied`, `storage`; the group is unchanged then.
  package func take(keeping kept: String) throws(GroupFileError) -> Bool {
    guard try ContainerPlace.status(target) != nil else {
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder))
      try GroupDraft.check(NewName.give(target, to: folder))
      try synchronise(kept)
      return false
    }
    let lock = try WriterLock(at: ContainerPlace(folder: target))
    return try take(keeping: kept, holding: lock)
  }

  /// As `take(keeping:)`, for a caller that holds the writer lock of the group's place.
  func take(keeping kept: String, holding lock: borrowing WriterLock) throws(GroupFileError) -> Bool {
    try takeWhileLocked(keeping: kept)
  }

  /// As `take(keeping:)`, while the writer lock of the group's place is held.
  func takeWhileLocked(keeping kept: String) throws(GroupFileError) -> Bool {
    for path in [folder, target] { ConnectionPool.closeIdle(at: try ContainerPlace(folder: path)) }
    // First rename the draft to the path for the old files, so that a process killed from now on loses neither.
    try GroupDraft.check(NewName.give(kept, to: folder))
    try GroupDraft.exchange(kept, target)
    try synchronise(kept)
    let old = try ContainerPlace(folder: kept)
    guard (try? old.checkVacant()) != nil else { return true }
    // The folder held no group file, so there is nothing to keep.
    try? old.removeFiles()
    return false
  }

  private static func exchange(_ kept: String, _ target: String) throws(GroupFileError) {
    if unsafe csqlite_exchange(kept, target) == 0 { return }
    guard errno == EINVAL || errno == ENOSYS else { throw ResultCode.error(errno: errno) }
    // On a file system that cannot exchange two folders, the group is missing for a moment.
    let old = kept + ".old"
    try check(NewName.give(old, to: target))
    try check(NewName.give(target, to: kept))
    try check(NewName.give(kept, to: old))
  }

  private static func check(_ code: CInt) throws(GroupFileError) {
    if code != 0 { throw ResultCode.error(errno: code) }
  }

  private func synchronise(_ kept: String) throws(GroupFileError) {
    for path in [target, kept] { try Connection.synchronise(GroupDraft.parent(of: path)) }
  }

  private static func parent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }
}

/// The witness for a file that is not a group's file yet: it has seen nothing, and records nothing.
package struct NoWitness: Witnessing {
  package init() {}

  package func read() -> WitnessReading { .absent }

  package func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool { true }
}

extension AccessGroupFile {
  /// The state at the group's place, proved completely, whatever this machine has seen before.
  ///
  /// - Throws: the errors of a reader, except those about the witness.
  package func provedState(
    progress: (UInt64) -> Void = { _ in }
  ) throws(GroupFileError) -> (state: VerifiedState, items: UInt64) {
    let file = AccessGroupFile(folder: folder, context: context, witness: NoWitness(), now: now)
    let transaction = try file.beginReading()
    return (transaction.view.state, try FullProof.run(transaction.view, progress: progress).items)
  }
}

extension AccessGroupFile {
  /// Drops tombstones with their history and returns free pages to the file system.
  ///
  /// The whole file is proved first, because the new tree adopts every other row.
  ///
  /// - Parameter progress: called now and then with the number of rows proved so far.
  /// - Returns: the number of dropped tombstones.
  /// - Throws: the errors of a writer and of the proof; the group is unchanged then.
  package func compact(progress: (UInt64) -> Void = { _ in }) throws(GroupFileError) -> UInt64 {
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.read(), strict: true)
    try view.state.confirmRoster(session.connection)
    try view.state.requireWriter()
    // A log has no way to say that rows are gone, but for a new file, which a new key makes.
    guard !view.state.isPublished else { throw .published }
    var kept = TreeBuilder()
    var tombstones: [Row] = []
    _ = try FullProof.run(
      view, progress: progress,
      visit: { (row) throws(GroupFileError) in
        if row.state == .removed {
          tombstones.append(row)
        } else {
          try kept.append(TreeEntry(token: row.token, digest: row.digest))
        }
      })
    if !tombstones.isEmpty { try drop(tombstones, kept, view, session) }
    session.vacuums = true
    session.end()
    return UInt64(tombstones.count)
  }

  private func drop(
    _ tombstones: [Row], _ kept: TreeBuilder, _ view: Snapshot, _ session: WriteSession
  ) throws(GroupFileError) {
    let connection = session.connection
    var versions: UInt64 = 0
    for row in tombstones {
      try connection.dropCurrent(row.token)
      try connection.dropVersions(of: row.token, below: row.version + 1)
      versions += row.version - row.oldest
    }
    try connection.empty("DELETE FROM node")
    let root = try kept.finish { (place, body) throws(GroupFileError) in try connection.storeNode(body, at: place) }
    let manifest = view.state.successor(
      root: root, itemCount: view.state.manifest.itemCount - UInt64(tombstones.count),
      versionRowCount: view.state.manifest.versionRowCount - versions, time: now())
    let state = try session.sign(manifest, after: view.state, by: context.seed)
    try session.commit()
    view.raise(witness, to: state)
    known.update(state)
  }
}

extension Connection {
  fileprivate func dropCurrent(_ token: Token) throws(GroupFileError) {
    let statement = try statement("DELETE FROM item WHERE token = ?")
    defer { statement.reset() }
    try statement.bind(1, token.bytes)
    _ = try statement.step()
  }
}
