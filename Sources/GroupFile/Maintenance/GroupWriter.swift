internal import CVaultSQLite
internal import Glibc
import Sealing

/// Writes a group's new file, from any source of proved items and in any order.
///
/// Nobody else sees the file before it is complete. Tokens are random, so rows are collected in runs of a bounded size,
/// and each run is written in the order of the file. The tree is built from the rows that the file holds in the end.
struct GroupWriter {
  /// The new file, in its only transaction.
  let connection: Connection
  private(set) var itemCount: UInt64 = 0
  private(set) var versionRowCount: UInt64 = 0
  private var current: [Row] = []
  private var older: [Row] = []
  private var byteCount = 0
  /// A complete run in the order of the file: first the older versions, then the current ones.
  private var run: [Row] = []
  private var runOlderCount = 0
  private var writtenCount = 0
  private let lockMode: UInt32
  let thread = SecondThread()

  private static let runByteCount = 8 << 20

  /// Creates the file under a temporary name in `folder`.
  ///
  /// - Throws: as `Connection.create`.
  init(in folder: String, fileMode: UInt32) throws(VaultError) {
    connection = try Connection.create(folder: folder, fileMode: fileMode)
    lockMode = fileMode & 0o020 == 0 ? 0o600 : 0o660
    // Only this process writes to the file, so no statement needs a bound.
    connection.bound(steps: .max)
    do { try connection.begin(.immediate) } catch {
      connection.discard()
      throw error
    }
  }

  /// Adds the kept versions of one item, the oldest first.
  mutating func add(_ versions: [Row]) throws(VaultError) {
    for row in versions.dropLast() { older.append(row) }
    if let row = versions.last { current.append(row) }
    byteCount += versions.reduce(0) { $0 + $1.encoded.count }
    if byteCount >= GroupWriter.runByteCount { try beginRun() }
  }

  private mutating func beginRun() throws(VaultError) {
    while try writeSome() {}
    thread.release(run)
    run = GroupWriter.sorted(older) + GroupWriter.sorted(current)
    runOlderCount = older.count
    (writtenCount, byteCount) = (0, 0)
    itemCount += UInt64(current.count)
    versionRowCount += UInt64(older.count)
    older.removeAll(keepingCapacity: true)
    current.removeAll(keepingCapacity: true)
  }

  private static func sorted(_ rows: [Row]) -> [Row] {
    // Sorting the rows themselves would count their references at each comparison.
    var places = rows.indices.map { (token: rows[$0].token, version: rows[$0].version, index: $0) }
    places.sort { $0.token == $1.token ? $0.version < $1.version : $0.token < $1.token }
    return places.map { rows[$0.index] }
  }

  /// Writes some rows of the last complete run; returns `false` if all of them are written.
  mutating func writeSome() throws(VaultError) -> Bool {
    let end = min(writtenCount + 64, run.count)
    for index in writtenCount..<end {
      if index < runOlderCount {
        try connection.insertOlder(run[index])
      } else {
        try connection.insertCurrent(run[index])
      }
    }
    writtenCount = end
    return end < run.count
  }

  /// Writes the rows that are still collected, and the tree over all rows.
  ///
  /// - Returns: the root.
  mutating func finish(_ progress: (MaintenanceProgress) -> Void = { _ in }) throws(VaultError) -> Digest {
    try beginRun()
    while try writeSome() {}
    run = []
    let rows = try connection.currentRows()
    defer { rows.reset() }
    var tree = HashedTree(thread: thread)
    var count: UInt64 = 0
    while try rows.step() {
      tree.append(try Row(rows))
      count += 1
      guard count % 1_024 == 0 else { continue }
      try tree.hash { (place, body) throws(VaultError) in try connection.storeNode(body, at: place) }
      progress(.written(count))
    }
    guard count == itemCount else { throw .storage(.inputOutput) }
    return try tree.finish { (place, body) throws(VaultError) in try connection.storeNode(body, at: place) }
  }

  /// Makes the file durable and gives it its final name and a lock file. The file is closed.
  ///
  /// - Throws: `exists`, `storage`, `denied`; no new file is left then.
  func complete() throws(VaultError) {
    do { try connection.commit() } catch {
      connection.discard()
      throw error
    }
    try connection.place()
    // The folder's owner creates the lock file, so that they can change its mode later.
    let place = connection.location
    guard try ContainerPlace.status(place.lockPath) == nil else { return }
    do throws(VaultError) { try Connection.makeEmptyFile(place.lockPath, mode: lockMode) } catch {
      guard error == .exists(.group) else { throw error }
    }
  }

  /// Removes the file.
  func discard() { connection.discard() }
}

/// Builds a tree over rows that this process has sealed: a second thread hashes them.
private struct HashedTree {
  fileprivate var waiting: [Row] = []
  let thread: SecondThread
  private let done = Locked<Result<TreeBuilder, VaultError>>(.success(TreeBuilder()))

  /// Adds the row of the next token.
  mutating func append(_ row: Row) { waiting.append(row) }

  /// Begins to hash the rows that were added, and stores the nodes that are complete.
  mutating func hash(store: (TreePlace, [UInt8]) throws(VaultError) -> Void) throws(VaultError) {
    thread.wait()
    var tree = try done.withLock { $0 }.get()
    let nodes = tree.takeNodes()
    thread.begin { [waiting, done, tree] in
      let result = Result { () throws(VaultError) in
        var tree = tree
        for row in waiting { try tree.append(TreeEntry(token: row.token, digest: row.digest)) }
        return tree
      }
      done.withLock { $0 = result }
    }
    waiting.removeAll(keepingCapacity: true)
    for node in nodes { try store(node.place, node.body) }
  }

  /// Hashes the rest, and returns the root.
  mutating func finish(store: (TreePlace, [UInt8]) throws(VaultError) -> Void) throws(VaultError) -> Digest {
    try hash(store: store)
    thread.wait()
    return try done.withLock { $0 }.get().finish(visit: store)
  }
}

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
  package init(in folder: String, for target: String) throws(VaultError) {
    let status = try ContainerPlace.status(target)
    try self.init(in: folder, for: target, shape: status.flatMap(ContainerShape.init(folder:)) ?? .closed)
  }

  /// Makes the draft's folder in another shape than that of `target`.
  init(in folder: String, for target: String, shape: ContainerShape) throws(VaultError) {
    self.folder = folder
    self.target = target
    fileMode = shape.fileMode
    try shape.makeFolder(folder)
  }

  /// The path of the group's file in the draft.
  package var filePath: String { "\(folder)/\(ContainerPlace.groupFileName)" }

  /// Copies `group` into the draft.
  package func fill(from group: RestingGroup, progress: (MaintenanceProgress) -> Void = { _ in }) throws(VaultError) {
    try group.copy(to: folder, mode: fileMode, progress: progress)
    // Create an empty log and index, so that users who may only read the folder can open the file.
    try Connection(at: ContainerPlace(folder: folder), access: .writing).close()
  }

  /// Moves the draft to the group's place, while no writer is active there.
  ///
  /// - Parameters:
  ///   - kept: an unused path, to which the replaced files are moved.
  ///   - drops: whether the replaced files are not needed. They are in the draft's folder afterwards, for the caller to
  ///     remove.
  /// - Returns: whether files were moved to `kept`.
  /// - Throws: `busy`, `denied`, `storage`; the group is unchanged then, unless the error is `unconfirmed`.
  package func take(keeping kept: String, dropping drops: Bool = false) throws(VaultError) -> Bool {
    guard try ContainerPlace.status(target) != nil else {
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder))
      try onDisk(NewName.give(target, to: folder))
      try confirm(folder)
      return false
    }
    let lock = try WriterLock(at: ContainerPlace(folder: target))
    return try take(keeping: kept, dropping: drops, holding: lock)
  }

  /// As `take(keeping:dropping:)`, for a caller that holds the writer lock of the group's place.
  func take(
    keeping kept: String, dropping drops: Bool = false, holding lock: borrowing WriterLock
  ) throws(VaultError) -> Bool {
    try takeWhileLocked(keeping: kept, dropping: drops)
  }

  /// As `take(keeping:dropping:)`, while the writer lock of the group's place is held.
  func takeWhileLocked(keeping kept: String, dropping drops: Bool) throws(VaultError) -> Bool {
    let old = try ContainerPlace(folder: target)
    for place in [try ContainerPlace(folder: folder), old] { ConnectionPool.closeIdle(at: place) }
    // A folder without a group's file holds nothing to keep.
    let drops = drops || (try? old.checkVacant()) != nil
    // If the process is killed, the replaced files are where the drafts of killed processes are removed.
    if drops, try GroupDraft.exchange(folder, target) {
      try confirm(folder)
      return false
    }
    // First rename the draft to the path for the old files, so that a process killed from now on loses neither.
    try onDisk(NewName.give(kept, to: folder))
    do throws(VaultError) {
      if try !GroupDraft.exchange(kept, target) { try GroupDraft.exchangeInSteps(kept, target) }
    } catch {
      try? NewName.give(folder, to: kept)
      throw error
    }
    try confirm(kept)
    if drops { try onDisk(NewName.give(folder, to: kept)) }
    return !drops
  }

  /// - Returns: `false` if the file system cannot exchange two folders.
  private static func exchange(_ draft: String, _ target: String) throws(VaultError) -> Bool {
    if unsafe csqlite_exchange(draft, target) == 0 { return true }
    guard errno == EINVAL || errno == ENOSYS else { throw ResultCode.error(errno: errno) }
    return false
  }

  /// The same for any file system: the group is missing for a moment.
  private static func exchangeInSteps(_ draft: String, _ target: String) throws(VaultError) {
    let old = draft + ".old"
    try onDisk(NewName.give(old, to: target))
    do throws(FileFault) { try NewName.give(target, to: draft) } catch {
      try? NewName.give(target, to: old)
      throw VaultError(error)
    }
    do throws(FileFault) { try NewName.give(draft, to: old) } catch { throw .storage(.unconfirmed) }
  }

  /// - Throws: `storage(.unconfirmed)`, because the files are exchanged already.
  private func confirm(_ other: String) throws(VaultError) {
    do throws(VaultError) {
      for path in [target, other] { try Connection.synchronise(CanonicalPath.split(path).folder) }
    } catch {
      throw .storage(.unconfirmed)
    }
  }
}

/// The witness for a file that is not a group's file yet: it may be compared with one, and records nothing.
package struct NoWitness: Witnessing {
  private let known: (any Witnessing)?

  package init(_ known: (any Witnessing)? = nil) { self.known = known }

  package func read() -> WitnessReading { known?.read() ?? .absent }

  package func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool { true }
}

extension AccessGroupFile {
  /// The state at the group's place, proved completely, whatever this machine has seen before.
  ///
  /// - Throws: the errors of a reader, except those about the witness.
  package func provedState(
    progress: (UInt64) -> Void = { _ in }
  ) throws(VaultError) -> (state: VerifiedState, items: UInt64) {
    let file = AccessGroupFile(folder: folder, context: context, witness: NoWitness(), now: now)
    let transaction = try file.beginReading()
    return (transaction.view.state, try FullProof.run(transaction.view, progress: progress).items)
  }
}

extension AccessGroupFile {
  /// Drops tombstones with their history and returns free pages to the file system.
  ///
  /// The file is changed in place: a member may be another Unix user, who cannot make a folder next to the group's. The whole
  /// file is proved first, because the new tree adopts every other row.
  ///
  /// - Parameter progress: called now and then with the number of rows proved so far.
  /// - Returns: the number of dropped tombstones.
  /// - Throws: the errors of a writer and of the proof; the group is unchanged then.
  package func compact(progress: (UInt64) -> Void = { _ in }) throws(VaultError) -> UInt64 {
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.read(), strict: true)
    try view.state.confirmRoster(session.connection)
    try view.state.requireWriter()
    // A log has no way to say that rows are gone, but for a new file, which a new key makes.
    guard !view.state.isPublished else { throw .contradiction(.notByLog) }
    var kept = TreeBuilder()
    var tombstones: [Row] = []
    _ = try FullProof.run(
      view, progress: progress,
      visit: { (row) throws(VaultError) in
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
  ) throws(VaultError) {
    let connection = session.connection
    var versions: UInt64 = 0
    for row in tombstones {
      try connection.statement("DELETE FROM item WHERE token = ?").bind(1, row.token).run()
      try connection.dropVersions(of: row.token, below: row.version + 1)
      versions += row.version - row.oldest
    }
    try connection.statement("DELETE FROM node").run()
    let root = try kept.finish { (place, body) throws(VaultError) in try connection.storeNode(body, at: place) }
    let manifest = view.state.successor(
      root: root, itemCount: view.state.manifest.itemCount - UInt64(tombstones.count),
      versionRowCount: view.state.manifest.versionRowCount - versions, time: now())
    let state = try session.sign(manifest, after: view.state, by: context.seed)
    try session.commit()
    view.raise(witness, to: state)
    known.update(state)
  }
}
