import Sealing

/// Gives a group a new key: opens every version of every item that the signed root proves and seals it again, under the
/// token that its name has with the new key (format article, "A new group key").
///
/// Versions, dates, writers, value epochs and removals are kept; the oldest kept version of an item no longer names a
/// predecessor. Rows that no signed data names are counted and dropped, because anyone who can write the file can add
/// them.
struct Rotation {
  private let view: Snapshot
  private let keys: GroupKeys
  /// Proved items that are dropped on request.
  private let dropped: Set<Token>
  private var left = LeftBehind()
  private var takenBlobs: UInt64 = 0
  // The versions of proved items, which a second thread opens and seals while this one reads and writes.
  private var waiting: [[Row]] = []
  private let thread: SecondThread
  private let done = Locked<Result<[[Row]], VaultError>>(.success([]))

  private static let batchCount = 256

  private var connection: Connection { view.connection }

  /// Proves everything, and seals it again into a new file.
  ///
  /// - Parameters:
  ///   - root: the root that proves the rows.
  ///   - writer: makes the new file.
  /// - Returns: the root of the new tree, and what was left behind.
  /// - Throws: `damaged` if something that the root names cannot be proved.
  static func run(
    _ view: Snapshot, from root: Digest, into writer: inout GroupWriter, under keys: GroupKeys,
    dropping dropped: Set<Token>, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> (root: Digest, left: LeftBehind) {
    var rotation = Rotation(view: view, keys: keys, dropped: dropped, thread: writer.thread)
    let nodeCount = try rotation.proveRows(below: root, into: &writer, progress)
    let newRoot = try writer.finish(progress)
    try rotation.countUnsigned(nodeCount, versions: writer.versionRowCount)
    try rotation.copyChain(to: writer.connection)
    return (newRoot, rotation.left)
  }

  // MARK: Proving

  /// Takes the rows that the signed root names, in the order of the tree.
  ///
  /// - Returns: the number of the tree's nodes.
  private mutating func proveRows(
    below root: Digest, into writer: inout GroupWriter, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> UInt64 {
    let rows = try connection.currentRows()
    defer { rows.reset() }
    var tree = TreeWalk(view, from: root)
    var count: UInt64 = 0
    while let entry = try tree.next() {
      let row = try row(of: entry, in: rows)
      if !dropped.contains(row.token) { try take(row, into: &writer) }
      count += 1
      if count % 1_024 == 0 { progress(.sealed(count)) }
    }
    try finishBatch(into: &writer)
    try sealHere(waiting.count, into: &writer)
    while try rows.step() { noteUnsigned(rows) }
    return tree.nodeCount
  }

  private mutating func row(of entry: TreeEntry, in rows: Statement) throws(VaultError) -> Row {
    while try rows.step() {
      // An unsigned row may have columns that no valid row has.
      let token = unsafe (try? rows.blob(0, count: Token.byteCount)).map { unsafe Token(loadingFrom: $0) }
      if token == entry.token {
        let row = try Row(rows)
        guard row.digest == entry.digest else { throw .damaged(.row, "a row does not match the tree") }
        return row
      }
      guard token.map({ $0 < entry.token }) ?? true else { break }
      noteUnsigned(rows)
    }
    throw .damaged(.row, "a row is missing")
  }

  private mutating func noteUnsigned(_ rows: Statement) {
    left.rows += 1
    guard left.unproved.count < LeftBehind.namedCount, let row = try? Row(rows), row.state == .present,
      let attributes = try? view.attributes(of: row)
    else { return }
    left.unproved.append(attributes.name)
  }

  /// Takes the kept versions of an item: they are sealed later, or at once if the file has to be read for their values.
  private mutating func take(_ row: Row, into writer: inout GroupWriter) throws(VaultError) {
    var versions = [row]
    while let before = try view.predecessor(of: versions[versions.count - 1], oldest: row.oldest) {
      versions.append(before)
    }
    let blobCount = versions.count { $0.place == .blob }
    guard blobCount == 0 else {
      takenBlobs += UInt64(blobCount)
      let (view, target) = (view, writer.connection)
      var nonces = Nonce.random(count: versions.count)
      return try writer.add(
        Rotation.sealed(versions, of: view.state, with: keys, &nonces) { (row) throws(VaultError) in
          try view.secret(of: row)
        } storing: { (row, blob) throws(VaultError) in
          try target.insertBlob(row.token, version: row.version, blob)
        })
    }
    waiting.append(versions)
    guard waiting.count == Rotation.batchCount else { return }
    // While the other thread seals, this one writes, and if there is nothing to write, it seals some as well: few, so that
    // the other one never waits long for the rest.
    while thread.isBusy, try writer.writeSome() {}
    if thread.isBusy { return try sealHere(32, into: &writer) }
    try finishBatch(into: &writer)
    thread.begin { [waiting, keys, done, state = view.state] in
      let result = Result { () throws(VaultError) in try Rotation.sealed(waiting, of: state, with: keys) }
      done.withLock { $0 = result }
    }
    waiting = []
    waiting.reserveCapacity(Rotation.batchCount)
  }

  private mutating func sealHere(_ count: Int, into writer: inout GroupWriter) throws(VaultError) {
    let items = Array(waiting.suffix(count))
    waiting.removeLast(items.count)
    for versions in try Rotation.sealed(items, of: view.state, with: keys) { try writer.add(versions) }
  }

  private mutating func finishBatch(into writer: inout GroupWriter) throws(VaultError) {
    thread.wait()
    let result = done.withLock { done in
      defer { done = .success([]) }
      return done
    }
    for versions in try result.get() { try writer.add(versions) }
  }

  private static func sealed(
    _ items: [[Row]], of state: VerifiedState, with keys: GroupKeys
  ) throws(VaultError) -> [[Row]] {
    // One system call for all. They are drawn here and used at once, so a forked child never has the same ones.
    var nonces = Nonce.random(count: items.reduce(0) { $0 + $1.count })
    var sealed: [[Row]] = []
    sealed.reserveCapacity(items.count)
    for versions in items { sealed.append(try Rotation.sealed(versions, of: state, with: keys, &nonces)) }
    return sealed
  }

  /// Opens the versions of an item, which begin with the newest, and seals them again, the oldest first.
  ///
  /// - Parameters:
  ///   - nonces: one for each version is taken from it.
  ///   - secret: reads a value that may be outside of its row.
  ///   - store: receives each value that is too large for its new row.
  private static func sealed(
    _ versions: [Row], of state: VerifiedState, with keys: GroupKeys, _ nonces: inout [Nonce],
    secret: ((Row) throws(VaultError) -> OpenedSecret)? = nil,
    storing store: (Row, [UInt8]) throws(VaultError) -> Void = { _, _ in }
  ) throws(VaultError) -> [Row] {
    var sealed: [Row] = []
    for version in versions.reversed() {
      var attributes = try state.keys.attributes(of: version)
      // No value can be newer than the last state; a later epoch would hide the value from the list of exposed values.
      attributes.valueEpoch = min(attributes.valueEpoch, state.manifest.epoch)
      var value: OpenedSecret?
      if version.state == .present {
        value =
          if let secret { try secret(version) } else {
            try state.keys.secret(version.encoded, in: version.secretRange, of: version)
          }
      }
      let nonce = nonces.popLast() ?? Nonce()
      let (row, blob) = try keys.sealedRow(
        attributes, value, token: sealed.last?.token ?? keys.token(of: attributes.name),
        version: version.version, oldest: version.oldest, previous: sealed.last?.digest ?? .zero,
        nonce: nonce.marked(version.nonce.mark))
      if let blob { try store(row, blob) }
      sealed.append(row)
    }
    return sealed
  }

  // MARK: Counting

  private func isDropped(_ statement: Statement) -> Bool {
    guard !dropped.isEmpty, let token = unsafe try? statement.blob(0, count: Token.byteCount) else { return false }
    return unsafe dropped.contains(Token(loadingFrom: token))
  }

  /// Counts the other rows in the tables.
  private mutating func countUnsigned(_ nodeCount: UInt64, versions: UInt64) throws(VaultError) {
    let blobs = try connection.count("SELECT token FROM blob") { !isDropped($0) }
    left.blobs = blobs - min(blobs, takenBlobs)
    let stored = try connection.count("SELECT token FROM version") { !isDropped($0) }
    left.versions = stored - min(stored, versions)
    let nodes = try connection.count("SELECT prefix FROM node")
    left.nodes = nodes - min(nodes, nodeCount)
    let slots = Set(view.state.roster.members.map(\.slotID))
    left.wraps = try connection.count("SELECT slot FROM wrap") { row in
      (try? row.bytes(0, count: 16...16)).map { !slots.contains($0) } ?? true
    }
    left.unproved.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Copies the chain, if it leads to the old state, without links that cannot belong to any state so far.
  private mutating func copyChain(to target: Connection) throws(VaultError) {
    let end = view.state.manifest.epoch
    let start = end > GroupLimits.chainLength ? end - GroupLimits.chainLength : 0
    var links: [UInt64: Digest] = [:]
    left.links = try connection.count("SELECT epoch, rest FROM chain") { row in
      guard let epoch = try? row.counter(0), epoch > start, epoch <= end else { return true }
      links[epoch] = unsafe (try? row.blob(1, count: 32...32)).flatMap { unsafe Digest($0) }
      return false
    }
    try target.storeChain(links, of: view.state)
    left.losesChain = try !target.confirmChain(of: view.state)
  }
}

extension Connection {
  /// Counts the rows that `sql` yields, or only those that satisfy `counts`.
  fileprivate func count(
    _ sql: StaticString, where counts: (Statement) -> Bool = { _ in true }
  ) throws(VaultError) -> UInt64 {
    let statement = try statement(sql)
    defer { statement.reset() }
    var count: UInt64 = 0
    while try statement.step() { if counts(statement) { count += 1 } }
    return count
  }
}
