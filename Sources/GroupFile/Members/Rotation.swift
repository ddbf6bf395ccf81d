import Sealing

/// Gives a group a new key: opens every version of every item that the signed root proves and seals it again, under the
/// token that its name has with the new key (format article, "A new group key").
///
/// Versions, dates, writers, value epochs and removals are kept; the oldest kept version of an item no longer names a
/// predecessor. Rows that no signed data names are counted and dropped, because anyone who can write the file can add
/// them.
struct Rotation {
  /// The result of sealing everything again.
  struct Outcome {
    let root: Digest
    let itemCount: UInt64
    let versionRowCount: UInt64
    let left: LeftBehind
  }

  private let view: Snapshot
  private let seal: RowSeal
  /// Proved items that are dropped on request.
  private let dropped: Set<Token>
  private var current: [SealedDraft] = []
  private var older: [SealedDraft] = []
  private var left = LeftBehind()
  // The versions of proved items, which a second thread opens and seals while this one reads on.
  private var waiting: [[Row]] = []
  private let thread = SecondThread()
  private let done = Locked<Result<[[SealedDraft]], GroupFileError>>(.success([]))

  private static let batchCount = 128

  private var connection: Connection { view.connection }

  /// Proves and seals everything, and replaces the rows in the open transaction.
  ///
  /// Sealed rows are kept in memory until all are proved; large values are not.
  ///
  /// - Parameter root: the root that proves the rows.
  /// - Throws: `damaged` or `altered` if something that the root names cannot be proved.
  static func run(
    _ view: Snapshot, from root: Digest, under keys: GroupKeys, dropping dropped: Set<Token>,
    _ progress: (MaintenanceProgress) -> Void
  ) throws(GroupFileError) -> Outcome {
    var rotation = Rotation(view: view, seal: RowSeal(keys), dropped: dropped)
    // Listed first, so that the new blobs are not included.
    let blobs = try rotation.storedBlobs()
    let nodeCount = try rotation.proveRows(below: root, progress)
    try rotation.countUnsigned(blobs, nodeCount)
    return try rotation.write(in: blobs.map(\.rowID), progress)
  }

  private init(view: Snapshot, seal: RowSeal, dropped: Set<Token>) {
    self.view = view
    self.seal = seal
    self.dropped = dropped
    current.reserveCapacity(Int(min(view.state.manifest.itemCount, 1 << 16)))
  }

  // MARK: Proving

  /// Takes the rows that the signed root names, in the order of the tree.
  ///
  /// - Returns: the number of the tree's nodes.
  private mutating func proveRows(
    below root: Digest, _ progress: (MaintenanceProgress) -> Void
  ) throws(GroupFileError) -> UInt64 {
    let rows = try connection.currentRows()
    defer { rows.reset() }
    var tree = TreeWalk(view, from: root)
    var count: UInt64 = 0
    while let entry = try tree.next() {
      let row = try row(of: entry, in: rows)
      if !dropped.contains(row.token) { try take(row) }
      count += 1
      if count % 1_024 == 0 { progress(.sealed(count)) }
    }
    try finishBatch()
    for versions in waiting { keep(try Rotation.sealed(versions, of: view.state, with: seal)) }
    waiting = []
    while try rows.step() { noteUnsigned(rows) }
    return tree.nodeCount
  }

  private mutating func row(of entry: TreeEntry, in rows: Statement) throws(GroupFileError) -> Row {
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
  private mutating func take(_ row: Row) throws(GroupFileError) {
    var versions = [row]
    while let before = try view.predecessor(of: versions[versions.count - 1], oldest: row.oldest) {
      versions.append(before)
    }
    if versions.contains(where: { $0.place == .blob }) {
      let sealed = try Rotation.sealed(versions, of: view.state, with: seal) { [view] (row) throws(GroupFileError) in
        try view.secret(of: row)
      }
      for draft in sealed {
        if let blob = draft.blob { try connection.insertBlob(draft.row.token, version: draft.row.version, blob) }
      }
      // Only the blob was large.
      return keep(sealed.map { SealedDraft(old: nil, row: $0.row, digest: $0.digest, blob: nil) })
    }
    waiting.append(versions)
    guard waiting.count == Rotation.batchCount else { return }
    try finishBatch()
    thread.begin { [waiting, seal, done, state = view.state] in
      let result = Result { () throws(GroupFileError) in
        var sealed: [[SealedDraft]] = []
        for versions in waiting { sealed.append(try Rotation.sealed(versions, of: state, with: seal)) }
        return sealed
      }
      done.withLock { $0 = result }
    }
    waiting = []
  }

  private mutating func finishBatch() throws(GroupFileError) {
    thread.wait()
    let result = done.withLock { done in
      defer { done = .success([]) }
      return done
    }
    for versions in try result.get() { keep(versions) }
  }

  private mutating func keep(_ sealed: [SealedDraft]) {
    older += sealed.dropLast()
    current += sealed.suffix(1)
  }

  /// Opens the versions of an item, which begin with the newest, and seals them again, the oldest first.
  private static func sealed(
    _ versions: [Row], of state: VerifiedState, with seal: RowSeal,
    secret: ((Row) throws(GroupFileError) -> OpenedSecret)? = nil
  ) throws(GroupFileError) -> [SealedDraft] {
    let opener = RowSeal(state.keys)
    var sealed: [SealedDraft] = []
    for version in versions.reversed() {
      var attributes = try opener.placedAttributes(of: version)
      // No value can be newer than the last state; a later epoch would hide the value from the list of exposed values.
      attributes.valueEpoch = min(attributes.valueEpoch, state.manifest.epoch)
      var value: OpenedSecret?
      if version.state == .present {
        value =
          if let secret { try secret(version) } else {
            try opener.secret(version.encoded, in: version.secretRange, of: version)
          }
      }
      let (row, blob) = try seal.row(
        attributes, value, token: sealed.last?.row.token ?? seal.keys.token(of: attributes.name),
        version: version.version, oldest: version.oldest, previous: sealed.last?.digest ?? .zero)
      sealed.append(SealedDraft(old: nil, row: row, digest: row.digest, blob: blob))
    }
    return sealed
  }

  private func storedBlobs() throws(GroupFileError) -> [(rowID: Int64, isDropped: Bool)] {
    let stored = try connection.statement("SELECT rowid, token FROM blob")
    defer { stored.reset() }
    var blobs: [(rowID: Int64, isDropped: Bool)] = []
    while try stored.step() {
      blobs.append((try stored.integer(0, in: Int64.min...Int64.max), isDropped(stored, 1)))
    }
    return blobs
  }

  private func isDropped(_ statement: Statement, _ column: Int32) -> Bool {
    guard !dropped.isEmpty, let token = unsafe try? statement.blob(column, count: Token.byteCount) else { return false }
    return unsafe dropped.contains(Token(loadingFrom: token))
  }

  /// Counts the other rows in the tables.
  private mutating func countUnsigned(
    _ blobs: [(rowID: Int64, isDropped: Bool)], _ nodeCount: UInt64
  ) throws(GroupFileError) {
    let taken = current.count { $0.row.place == .blob } + older.count { $0.row.place == .blob }
    left.blobs = UInt64(max(0, blobs.count { !$0.isDropped } - taken))
    let versions = try connection.count("SELECT token FROM version") { !isDropped($0, 0) }
    left.versions = versions - min(versions, UInt64(older.count))
    let nodes = try connection.count("SELECT prefix FROM node")
    left.nodes = nodes - min(nodes, nodeCount)
    let slots = Set(view.state.roster.members.map(\.slotID))
    left.wraps = try connection.count("SELECT slot FROM wrap") { row in
      (try? row.bytes(0, count: 16...16)).map { !slots.contains($0) } ?? true
    }
    left.unproved.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  // MARK: Writing

  /// Replaces the old rows by the new ones, in the order of the file.
  private mutating func write(
    in oldBlobs: [Int64], _ progress: (MaintenanceProgress) -> Void
  ) throws(GroupFileError) -> Outcome {
    for rowID in oldBlobs { try connection.dropBlob(rowID: rowID) }
    try connection.empty("DELETE FROM item")
    try connection.empty("DELETE FROM version")
    try connection.empty("DELETE FROM node")
    try connection.empty("DELETE FROM wrap")
    try connection.empty("DELETE FROM state WHERE part NOT IN (1, 2, 3)")
    (left.links, left.losesChain) = try connection.mendChain(of: view.state)
    older.sort { ($0.row.token, $0.row.version) < ($1.row.token, $1.row.version) }
    for draft in older { try connection.insertOlder(draft.row) }
    current.sort { $0.row.token < $1.row.token }
    var tree = TreeBuilder(reservingCapacity: current.count)
    for (index, draft) in current.enumerated() {
      try connection.insertCurrent(draft.row)
      try tree.append(TreeEntry(token: draft.row.token, digest: draft.digest))
      if index % 1_024 == 1_023 { progress(.written(UInt64(index + 1))) }
    }
    let root = try tree.finish { (place, body) throws(GroupFileError) in try connection.storeNode(body, at: place) }
    return Outcome(
      root: root, itemCount: UInt64(current.count), versionRowCount: UInt64(older.count), left: left)
  }
}

extension Connection {
  /// Counts the rows that `sql` yields, or only those that satisfy `counts`.
  fileprivate func count(
    _ sql: StaticString, where counts: (Statement) -> Bool = { _ in true }
  ) throws(GroupFileError) -> UInt64 {
    let statement = try statement(sql)
    defer { statement.reset() }
    var count: UInt64 = 0
    while try statement.step() { if counts(statement) { count += 1 } }
    return count
  }

  fileprivate func dropBlob(rowID: Int64) throws(GroupFileError) {
    try statement("DELETE FROM blob WHERE rowid = ?").bind(1, rowID).run()
  }

  /// Drops links that cannot belong to any state so far, and the whole chain if it does not lead to `state`.
  ///
  /// - Returns: the number of links that belonged to no state, and whether the chain was lost.
  fileprivate func mendChain(of state: VerifiedState) throws(GroupFileError) -> (count: UInt64, isLost: Bool) {
    let end = state.manifest.epoch
    let start = end > GroupLimits.chainLength ? end - GroupLimits.chainLength : 0
    let foreign = try count("SELECT epoch FROM chain") { row in
      (try? row.counter(0)).map { $0 <= start || $0 > end } ?? true
    }
    try statement("DELETE FROM chain WHERE epoch <= ? OR epoch > ?").bind(1, counter: start).bind(2, counter: end).run()
    return (foreign, try !confirmChain(of: state))
  }
}
