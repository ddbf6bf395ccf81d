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
  private let dropped: Set<Token>
  private var left: GroupRepair
  private var takenBlobs: UInt64 = 0
  private var last: Token?
  // The versions of proved items, which a second thread opens and seals while this one reads and writes. Those of one item
  // follow each other, the newest first. An array for each item would cost a seventh of the time.
  private var waiting: [Row] = []
  private let thread: SecondThread
  private let done = JobResult<[Row]>([])

  private static let batchCount = 256

  private var connection: Connection { view.connection }

  /// Proves everything that `root` names, and seals it again into a new file; throws `damaged` if that is not possible.
  /// The counts of what is left behind are added to `left`. Returns the root of the new tree.
  static func run(
    _ view: Snapshot, from root: Digest, into writer: inout GroupWriter, under keys: GroupKeys,
    dropping dropped: Set<Token>, _ left: inout GroupRepair, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> Digest {
    var rotation = Rotation(view: view, keys: keys, dropped: dropped, left: left, thread: writer.thread)
    let nodeCount = try rotation.proveRows(below: root, into: &writer, progress)
    let newRoot = try writer.finish(progress)
    rotation.countUnsigned(nodeCount, versions: writer.versionRowCount)
    try rotation.copyChain(to: writer.connection)
    left = rotation.left
    return newRoot
  }

  /// Takes the rows that the signed root names, in the order of the tree; returns the number of the tree's nodes.
  private mutating func proveRows(
    below root: Digest, into writer: inout GroupWriter, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> UInt64 {
    let rows = try connection.currentRows()
    defer { rows.reset() }
    var tree = TreeWalk(view, from: root)
    defer { tree.end() }
    var count: UInt64 = 0
    while let entry = try tree.next() {
      let row = try row(of: entry, in: rows)
      if !dropped.contains(row.token) { try take(row, into: &writer) }
      count += 1
      if count % 1_024 == 0 { progress(.sealed(count)) }
    }
    try finishBatch(into: &writer)
    try sealHere(waiting.count, into: &writer)
    // Unsigned rows may be followed by what cannot be read.
    while (try? next(of: rows)) == true {
      guard let token = unsafe (try? rows.blob(0, count: Token.byteCount)).map({ unsafe Token(loadingFrom: $0) }),
        last.map({ token > $0 }) ?? true
      else { break }
      last = token
      noteUnsigned(rows)
    }
    return tree.nodeCount
  }

  /// Steps to the next row. One that is longer than any valid row is damage, because reading many of them takes long.
  private func next(of rows: Statement, upTo byteCount: Int32 = Rotation.rowByteCount) throws(VaultError) -> Bool {
    try connection.limitingValues(to: byteCount) { () throws(VaultError) in try rows.step() }
  }

  // More than all columns of a valid row of `item` take, and of a link of the chain.
  private static let rowByteCount: Int32 = 128 << 10
  private static let linkByteCount: Int32 = 1 << 10

  private mutating func row(of entry: TreeEntry, in rows: Statement) throws(VaultError) -> Row {
    while try next(of: rows) {
      // An unsigned row may have columns that no valid row has.
      let token = unsafe (try? rows.blob(0, count: Token.byteCount)).map { unsafe Token(loadingFrom: $0) }
      // The pages of a hostile table may repeat, so that it has no end.
      if let token, let last, token <= last { throw .damaged(.container, "order of rows") }
      last = token ?? last
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
    left.unsigned += 1
    guard left.unsignedNames.count < GroupRepair.namedCount, let row = try? Row(rows), row.state == .present,
      let attributes = try? view.attributes(of: row)
    else { return }
    left.unsignedNames.append(attributes.name)
  }

  /// Takes the kept versions of an item: they are sealed later, or at once if the file has to be read for their values.
  private mutating func take(_ row: Row, into writer: inout GroupWriter) throws(VaultError) {
    let start = waiting.count
    waiting.append(row)
    var blobCount: UInt64 = row.place == .blob ? 1 : 0
    while let before = try view.predecessor(of: waiting[waiting.count - 1], oldest: row.oldest) {
      waiting.append(before)
      if before.place == .blob { blobCount += 1 }
    }
    guard blobCount == 0 else {
      takenBlobs += blobCount
      let (view, target, versions) = (view, writer.connection, Array(waiting[start...]))
      waiting.removeLast(versions.count)
      return try writer.add(
        Rotation.sealed(versions, of: view.state, with: keys) { (row) throws(VaultError) in
          try view.secret(of: row)
        } storing: { (row, blob) throws(VaultError) in
          try target.insertBlob(row.token, version: row.version, blob)
        })
    }
    guard waiting.count >= Rotation.batchCount else { return }
    // While the other thread seals, this one writes, and if there is nothing to write, it seals some as well: few, so that
    // the other one never waits long for the rest.
    while thread.isBusy, try writer.writeSome() {}
    if thread.isBusy { return try sealHere(32, into: &writer) }
    try finishBatch(into: &writer)
    thread.begin(done) { [waiting, keys, state = view.state] () throws(VaultError) in
      try Rotation.sealed(waiting, of: state, with: keys)
    }
    waiting = []
    waiting.reserveCapacity(Rotation.batchCount)
  }

  /// Seals the last `count` rows, and those before them that belong to the same item.
  private mutating func sealHere(_ count: Int, into writer: inout GroupWriter) throws(VaultError) {
    var start = waiting.count - count
    while start > 0, start < waiting.count, waiting[start].token == waiting[start - 1].token { start -= 1 }
    let rows = Array(waiting[start...])
    waiting.removeLast(rows.count)
    try writer.add(Rotation.sealed(rows, of: view.state, with: keys))
  }

  private mutating func finishBatch(into writer: inout GroupWriter) throws(VaultError) {
    thread.wait()
    try writer.add(done.take(leaving: []))
  }

  /// Opens the versions of items and seals them again. An item's versions come newest first, and are returned oldest
  /// first.
  ///
  /// - Parameter secret: reads a value that may be outside of its row.
  private static func sealed(
    _ rows: [Row], of state: VerifiedState, with keys: GroupKeys,
    secret: ((Row) throws(VaultError) -> OpenedSecret)? = nil,
    storing store: (Row, [UInt8]) throws(VaultError) -> Void = { _, _ in }
  ) throws(VaultError) -> [Row] {
    // One system call for all. They are drawn here and used at once, so a forked child never has the same ones.
    var nonces = Nonce.random(count: rows.count)
    var sealed: [Row] = []
    sealed.reserveCapacity(rows.count)
    var opened: [UInt8] = []
    // Memory for each value in turn: guarded memory for each would take a tenth of all time.
    let padded = try sealing(GuardedBytes(count: GroupLimits.inlineSecretByteCount))
    var start = 0
    while start < rows.count {
      var end = start + 1
      while end < rows.count, rows[end].token == rows[start].token { end += 1 }
      var before: Row?
      for index in (start..<end).reversed() {
        let version = rows[index]
        let fields = try state.keys.fields(of: version, in: &opened)
        var encoded = opened[fields.range]
        if fields.valueEpoch > state.manifest.epoch {
          // No value can be newer than the last state; a later epoch would hide the value from the list of exposed
          // values.
          var attributes = Attributes(fields, of: opened)
          attributes.valueEpoch = state.manifest.epoch
          encoded = try attributes.encoded()[...]
        }
        let token = unsafe before?.token ?? opened[fields.name].withUnsafeBytes { unsafe keys.token(of: $0) }
        // Hosts that repeat a request look for its mark. But a mark that is kept also shows removed members which row it is.
        let fresh = nonces.removeLast()
        let nonce = state.isPublished ? fresh.marked(version.nonce.mark) : fresh
        // The attributes stay as they are: no text is made of them.
        func seal(_ padded: UnsafeRawBufferPointer?) -> (row: Row, blob: [UInt8]?) {
          unsafe keys.sealedRow(
            encoded: encoded, padded: padded, token: token, version: version.version, oldest: version.oldest,
            previous: before?.digest ?? .zero, nonce: nonce)
        }
        let (row, blob): (Row, [UInt8]?)
        if version.state != .present {
          (row, blob) = seal(nil)
        } else if let secret {
          let value = try secret(version)
          (row, blob) = unsafe value.withPadded { unsafe seal($0) }
        } else {
          _ = try state.keys.open(SealedValue(version), into: padded)
          let count = version.secretRange.count - SealedBox.overhead
          (row, blob) = unsafe padded.withUnsafeBytes { unsafe seal(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        if let blob { try store(row, blob) }
        sealed.append(row)
        before = row
      }
      start = end
    }
    return sealed
  }

  private func isDropped(_ statement: Statement) -> Bool {
    guard !dropped.isEmpty, let token = unsafe try? statement.blob(0, count: Token.byteCount) else { return false }
    return unsafe dropped.contains(Token(loadingFrom: token))
  }

  /// Counts what is left behind, as far as damaged tables can be read: nothing signed depends on it.
  private mutating func countUnsigned(_ nodeCount: UInt64, versions: UInt64) {
    let blobs = connection.count("SELECT token FROM blob") { !isDropped($0) }
    left.unsigned += blobs - min(blobs, takenBlobs)
    let stored = connection.count("SELECT token FROM version") { !isDropped($0) }
    left.unsigned += stored - min(stored, versions)
    let nodes = connection.count("SELECT prefix FROM node")
    left.unsigned += nodes - min(nodes, nodeCount)
    let slots = Set(view.state.roster.members.map(\.slotID))
    left.unsigned += connection.count("SELECT slot FROM wrap") { row in
      (try? row.bytes(0, count: 16...16)).map { !slots.contains($0) } ?? true
    }
    left.unsignedNames.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Copies the chain, if it leads to the old state, without links that cannot belong to any state so far.
  private mutating func copyChain(to target: Connection) throws(VaultError) {
    let end = view.state.manifest.epoch
    let start = end > GroupLimits.chainLength ? end - GroupLimits.chainLength : 0
    var links: [UInt64: Digest] = [:]
    let rows = try connection.statement("SELECT epoch, rest FROM chain")
    defer { rows.reset() }
    // An error here ends the rotation, because a search of the file may still find the links.
    while try next(of: rows, upTo: Rotation.linkByteCount) {
      if let epoch = try? rows.counter(0), epoch > start, epoch <= end {
        links[epoch] = unsafe (try? rows.blob(1, count: 32...32)).flatMap { unsafe Digest($0) }
      } else {
        left.unsigned += 1
      }
    }
    if try !target.storeChain(links, of: view.state) { left.losesChain = true }
  }
}

extension Connection {
  /// Counts the rows that `sql` yields up to the first that cannot be read, or only those that satisfy `counts`.
  fileprivate func count(_ sql: StaticString, where counts: (Statement) -> Bool = { _ in true }) -> UInt64 {
    guard let statement = try? statement(sql) else { return 0 }
    defer { statement.reset() }
    var count: UInt64 = 0
    while (try? statement.step()) == true { if counts(statement) { count += 1 } }
    return count
  }
}
