import Sealing

/// Writes a group's new file, from any source of proved items and in any order.
///
/// Nobody else sees the file before it is complete, and one that is never completed is removed. Tokens are random, so
/// rows are collected in runs of a bounded size, and each run is written in the order of the file. The tree is built from
/// the only run, or if there are several, from the rows that the file holds in the end.
struct GroupWriter {
  let connection: Connection
  private(set) var itemCount: UInt64 = 0
  private(set) var versionRowCount: UInt64 = 0
  private var collected = Run()
  /// A complete run in the order of the file.
  private var run = Run()
  private var writtenCount = 0
  private let lockMode: UInt32
  private let runByteCounts: (first: Int, next: Int)
  let thread = SecondThread()

  /// Creates the file under a temporary name in `folder`.
  ///
  /// - Parameter runByteCounts: the number of bytes of rows that ends the first run, and each later one. Most groups have
  ///   one run.
  init(
    in folder: String, fileMode: UInt32, runByteCounts: (first: Int, next: Int) = (32 << 20, 8 << 20)
  ) throws(VaultError) {
    self.runByteCounts = runByteCounts
    connection = try Connection.create(folder: folder, fileMode: fileMode)
    lockMode = fileMode & 0o020 == 0 ? 0o600 : 0o660
    // Only this process writes to the file, so no statement needs a bound.
    connection.handle.stepLimit = .max
    try connection.begin(.immediate)
  }

  /// Adds items with all their kept versions: those of one item follow each other, the oldest first.
  mutating func add(_ versions: [Row]) throws(VaultError) {
    collected.add(versions)
    if collected.byteCount >= (itemCount == 0 ? runByteCounts.first : runByteCounts.next) { try beginRun() }
  }

  private mutating func beginRun() throws(VaultError) {
    while try writeSome() {}
    thread.release(run)
    run = collected
    collected = Run()
    run.sort()
    writtenCount = 0
    itemCount += UInt64(run.count - run.olderCount)
    versionRowCount += UInt64(run.olderCount)
  }

  /// Writes some rows of the last complete run; returns `false` if all of them are written.
  mutating func writeSome() throws(VaultError) -> Bool {
    let end = min(writtenCount + 64, run.count)
    for position in writtenCount..<end {
      if position < run.olderCount {
        try connection.insertOlder(run[position])
      } else {
        try connection.insertCurrent(run[position])
      }
    }
    writtenCount = end
    return end < run.count
  }

  /// Writes the rows that are still collected, and the tree over all rows; returns the root.
  mutating func finish(_ progress: (MaintenanceProgress) -> Void = { _ in }) throws(VaultError) -> Digest {
    let isOnlyRun = itemCount == 0
    try beginRun()
    let (connection, thread) = (connection, thread)
    func store(_ place: TreePlace, _ body: [UInt8]) throws(VaultError) { try connection.storeNode(body, at: place) }
    let tree = JobResult(TreeBuilder())
    /// Begins to hash the next `count` rows in the second thread, and stores the nodes that are complete.
    func hash(_ count: Int, _ row: @escaping @Sendable (Int) -> Row) throws(VaultError) {
      thread.wait()
      var builder = try tree.get()
      let nodes = builder.takeNodes()
      thread.begin(tree) { [builder] () throws(VaultError) in
        var builder = builder
        for index in 0..<count {
          let row = row(index)
          try builder.append(TreeEntry(token: row.token, digest: row.digest))
        }
        return builder
      }
      for node in nodes { try store(node.place, node.body) }
    }
    var count: UInt64 = 0
    if isOnlyRun {
      for start in stride(from: run.olderCount, to: run.count, by: 1_024) {
        let end = min(start + 1_024, run.count)
        try hash(end - start) { [run] in run[start + $0] }
        while writtenCount < end { _ = try writeSome() }
        count += UInt64(end - start)
        if count % 1_024 == 0 { progress(.written(count)) }
      }
      while try writeSome() {}
    } else {
      while try writeSome() {}
      let rows = try connection.currentRows()
      defer { rows.reset() }
      var waiting: [Row] = []
      while try rows.step() {
        waiting.append(try Row(rows))
        count += 1
        guard count % 1_024 == 0 else { continue }
        try hash(waiting.count) { [waiting] in waiting[$0] }
        waiting = []
        progress(.written(count))
      }
      guard count == itemCount else { throw .storage(.inputOutput) }
      try hash(waiting.count) { [waiting] in waiting[$0] }
    }
    thread.wait()
    let root = try tree.get().finish(visit: store)
    // The group is not done yet, and another writer may follow. A job that does nothing has the rows released.
    thread.release(run)
    run = Run()
    thread.begin {}
    return root
  }

  /// Makes the file durable and gives it its final name and a lock file. The file is closed.
  ///
  /// - Throws: `exists`, `storage`, `denied`.
  func complete() throws(VaultError) {
    try connection.commit()
    try connection.place()
    // The folder's owner creates the lock file, so that they can change its mode later.
    let place = connection.location
    guard try ContainerPlace.status(place.lockPath) == nil else { return }
    do throws(VaultError) { _ = try Connection.newFile(place.lockPath, mode: lockMode) } catch .exists(.group) {}
  }
}

/// Rows that are written together. They stay in the arrays in which they were added, because each copy of a row counts a
/// reference.
private struct Run: Sendable {
  /// Where rows are, and their tokens until these are sorted.
  private struct Table {
    var tokens: [Token] = []
    var places: [(batch: Int, index: Int)] = []

    mutating func append(_ token: Token, _ place: (batch: Int, index: Int)) {
      tokens.append(token)
      places.append(place)
    }

    mutating func sort() {
      places = tokens.sortedPositions().map { places[$0.position] }
      tokens = []
    }
  }

  private var batches: [[Row]] = []
  private var older = Table()
  private var current = Table()
  private(set) var byteCount = 0

  var count: Int { older.places.count + current.places.count }
  var olderCount: Int { older.places.count }

  mutating func add(_ rows: [Row]) {
    for index in rows.indices {
      let token = rows[index].token
      byteCount += rows[index].encoded.count
      if index + 1 < rows.count, rows[index + 1].token == token {
        older.append(token, (batches.count, index))
      } else {
        current.append(token, (batches.count, index))
      }
    }
    batches.append(rows)
  }

  /// Puts the rows in the order of the file: first the older versions, then the current ones.
  mutating func sort() {
    // The versions of an item were added in their order, and keep it.
    older.sort()
    current.sort()
  }

  subscript(_ position: Int) -> Row {
    let place =
      position < older.places.count ? older.places[position] : current.places[position - older.places.count]
    return batches[place.batch][place.index]
  }
}
