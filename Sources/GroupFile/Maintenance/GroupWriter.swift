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
