package import Sealing

/// One verified state of a group and a consistent view of its rows. Every answer is proved against the signed root.
package final class Snapshot: ItemReading {
  let connection: Connection
  package let state: VerifiedState
  let cache: ProvedCache
  package internal(set) var notices: [Notice] = []
  private let witnessed: WitnessReading
  /// Returns the connection to the pool when the view ends; `nil` if it belongs to somebody else.
  var lease: ConnectionLease?

  /// - Parameter witnessed: the reading that `state` was compared with.
  init(_ connection: Connection, _ state: VerifiedState, _ cache: ProvedCache, witnessed: WitnessReading) {
    (self.connection, self.state, self.cache, self.witnessed) = (connection, state, cache, witnessed)
    // No honest scan needs more steps; in a hostile file, a tree that repeats its pages would never end.
    let rows = state.manifest.itemCount + state.manifest.versionRowCount
    connection.handle.stepLimit = Int(clamping: 1_000_000 + 64 * min(rows, 1 << 40))
  }

  /// Raises `witness` to `new`: this state, or a durable successor of it; it is never lowered. Returns whether it could be
  /// written.
  ///
  /// A record that another process has written since this state was compared with the witness is compared now, so that
  /// of two forks shown in turn only one can ever raise the witness.
  @discardableResult
  func raise(_ witness: any Witnessing, to new: VerifiedState, gapSeen: Bool = false) -> Bool {
    let isWritten = witness.raise { reading in
      switch reading {
      case .absent: return new.witnessRecord()
      case .invalid, .unavailable: return nil
      case .valid(let record) where witnessed == .absent && record.flags.contains(.removed) && !new.isSameGroup(record):
        return new.witnessRecord()
      case .valid(let record):
        guard record.epoch < new.manifest.epoch,
          reading == witnessed || (try? WitnessRule.check(new, against: reading, strict: true, connection)) != nil
        else { return nil }
        var flags = record.flags
        if gapSeen { flags.insert(.gapSeen) }
        return new.witnessRecord(flags: flags)
      }
    }
    if !isWritten { notices.append(.witnessUnwritten) }
    return isWritten
  }

  /// The node with `digest`, which the caller took from a proved parent or from the signed root.
  ///
  /// - Parameter scan: finds the node in a walk over all nodes, which keeps no leaf for later searches.
  func load(_ digest: Digest, _ place: TreePlace, in scan: NodeScan? = nil) throws(VaultError) -> TreeNode {
    if let node = cache.node(digest) { return node }
    // An empty group has no stored node.
    if digest == TreeNode.emptyRoot, place.depth == 0 { return .leaf([]) }
    // Proved and read in SQLite's own buffer, so that nothing changes in between, and nothing is copied twice.
    func prove(_ body: UnsafeRawBufferPointer) throws(VaultError) -> TreeNode? {
      guard unsafe TreeNode.digest(ofBody: body, at: place) == digest else { return nil }
      return try unsafe TreeNode(parsing: body, at: place)
    }
    let node =
      if let scan { try unsafe scan.withBody(at: place, prove) } else {
        try unsafe connection.withNodeBody(at: place, prove)
      }
    guard case .some(.some(let proved)) = node else { throw .damaged(.tree, "a node does not match its parent") }
    // A walk visits each leaf once, and there are ten times as many of them as branches.
    if scan != nil, case .leaf = proved { return proved }
    cache.keep(proved, digest, itemCount: state.manifest.itemCount)
    return proved
  }

  package var view: Snapshot { self }

  package func provedDigest(of token: Token) throws(VaultError) -> Digest? {
    try digest(of: token, below: state.manifest.root, at: .root)
  }

  /// The digest of the row at `token` below the node at `place`, whose digest is proved.
  func digest(of token: Token, below node: Digest, at place: TreePlace) throws(VaultError) -> Digest? {
    var step = TreeStep.child(node, place)
    while true {
      if case .child(let digest, let place) = step { step = cache.follow(token, from: digest, at: place) }
      switch step {
      case .end(let found): return found
      case .child(let digest, let place): step = try load(digest, place).step(toward: token, at: place)
      }
    }
  }

  /// The current row at `token`, whose bytes must have the proved `digest`.
  func row(_ token: Token, digest: Digest) throws(VaultError) -> Row {
    guard let row = try connection.currentRow(token) else { throw .damaged(.row, "a row is missing") }
    guard row.digest == digest else { throw .damaged(.row, "a row does not match the tree") }
    return row
  }

  /// Opens the current value of `name`, for a reader.
  ///
  /// - Throws: `notFound` if it is absent or removed; as `secret(of:)`.
  package func value(_ name: String) throws(VaultError) -> OpenedSecret {
    let (keys, root) = (state.keys, state.manifest.root)
    let token = keys.token(of: name)
    if let kept = cache.value(token, nil, under: root) { return try keys.secret(kept) }
    guard let digest = try provedDigest(of: token) else { throw .notFound(.item) }
    if let kept = cache.value(token, digest, under: root) { return try keys.secret(kept) }
    let row = try row(token, digest: digest)
    guard row.state == .present else { throw .notFound(.item) }
    // A kept value needs no name: its token is that of the name that is compared here.
    var opened: [UInt8] = []
    _ = try keys.fields(of: row, named: name, in: &opened)
    let secret = try secret(of: row)
    guard row.place == .inline else { return secret }
    cache.keepValue(of: row, digest, under: root)
    if let leaf = cache.leafToKeep(of: token, under: root, itemCount: state.manifest.itemCount) {
      keepValues(of: leaf, besides: token, &opened)
    }
    return secret
  }

  /// Keeps the values of a leaf that was read for `token`: the rows are on the page that was read, or next to it. What cannot
  /// be proved or opened is reported to whoever asks for it.
  private func keepValues(of entries: [TreeEntry], besides token: Token, _ opened: inout [UInt8]) {
    guard let first = entries.first, let last = entries.last,
      let rows = try? connection.currentRows(from: first.token, through: last.token)
    else { return }
    defer { rows.reset() }
    // Whoever may write the file can add rows that the leaf does not name.
    for _ in entries {
      guard (try? rows.step()) == true else { return }
      guard let row = try? Row(rows), row.token != token, row.place == .inline else { continue }
      let (index, isNamed) = entries.position(of: row.token)
      guard isNamed, row.digest == entries[index].digest, (try? state.keys.fields(of: row, in: &opened)) != nil else {
        continue
      }
      cache.keepValue(of: row, entries[index].digest, under: state.manifest.root)
    }
  }

  /// The version that `row`, which is proved, replaced; `nil` if `row` is the oldest kept one.
  ///
  /// - Parameter oldest: the oldest version of the current row; if a version at or above it is missing, that is damage.
  func predecessor(of row: Row, oldest: UInt64) throws(VaultError) -> Row? {
    guard row.version > oldest else { return nil }
    guard let older = try connection.olderRow(row.token, version: row.version - 1), older.digest == row.previous else {
      throw .damaged(.row, "an older version does not match")
    }
    return older
  }

  package func attributes(of row: Row) throws(VaultError) -> Attributes { try state.keys.attributes(of: row) }

  /// Opens the secret of a proved row; throws `damaged(.row, …)`, or `storage` if guarded memory is short.
  package func secret(of row: Row) throws(VaultError) -> OpenedSecret {
    switch row.place {
    case .none: throw .notFound(.item)
    case .inline: return try state.keys.secret(SealedValue(row))
    case .blob:
      guard let blob = try connection.blob(row.token, version: row.version),
        Hash.digest(.blob, blob).bytes.elementsEqual(row.encoded[row.secretRange])
      else { throw .damaged(.row, "a large value does not match its row") }
      return try state.keys.secret(SealedValue(row, blob))
    }
  }
}

/// A value's bytes while they are open: a range of guarded memory, wiped when the last reference is released.
package struct OpenedSecret: Sendable {
  /// The value in the padded form in which it is sealed.
  private let bytes: GuardedBytes
  private let range: Range<Int>

  /// Copies `value`, at most 1 MiB; the caller wipes the original.
  ///
  /// - Throws: `overLimit`; `storage` if guarded memory is short.
  package init(copying value: UnsafeRawBufferPointer) throws(VaultError) {
    guard value.count <= GroupLimits.secretByteCount else { throw .overLimit("a value of 1 MiB") }
    bytes = try unsafe sealing(Padding.pad(value))
    range = Padding.lengthByteCount..<Padding.lengthByteCount + value.count
  }

  init(bytes: GuardedBytes, range: Range<Int>) {
    self.bytes = bytes
    self.range = range
  }

  package var count: Int { range.count }

  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe bytes.withUnsafeBytes { (all) throws(Failure) in
      try unsafe body(UnsafeRawBufferPointer(rebasing: all[range]))
    }
  }

  /// Lends the value in the padded form in which it is sealed.
  func withPadded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { unsafe body($0) }
  }
}

package struct StoredItem: Sendable {
  package let row: Row
  package let attributes: Attributes

  package var isPresent: Bool { row.state == .present }
}

/// The reads that both a snapshot and a write transaction provide.
package protocol ItemReading: AnyObject {
  var view: Snapshot { get }

  /// The digest of the current row at `token`, changes of an open transaction included; `nil` is a proof of absence.
  func provedDigest(of token: Token) throws(VaultError) -> Digest?
}

extension ItemReading {
  /// The current row of `name`, which may be a tombstone; `nil` is a proof of absence.
  package func storedRow(_ name: String) throws(VaultError) -> Row? {
    try storedRow(at: view.state.keys.token(of: name))
  }

  /// The current row at `token`, which may be a tombstone; `nil` is a proof of absence.
  package func storedRow(at token: Token) throws(VaultError) -> Row? {
    guard let digest = try provedDigest(of: token) else { return nil }
    return try view.row(token, digest: digest)
  }

  /// The current version of `name`, which may be a tombstone; `nil` is a proof of absence.
  ///
  /// - Parameter token: the name's token, if the caller knows it.
  package func stored(_ name: String, at token: Token? = nil) throws(VaultError) -> StoredItem? {
    try storedRow(at: token ?? view.state.keys.token(of: name)).map { (row) throws(VaultError) in try item(row, name) }
  }

  /// The current version of `name`, or the given one; throws `notFound` if it is not kept, or has no value.
  package func present(_ name: String, version: UInt64? = nil) throws(VaultError) -> StoredItem {
    guard let current = try storedRow(name) else { throw .notFound(.item) }
    let missing = VaultError.notFound(version.map(VaultError.Missing.version) ?? .item)
    let wanted = version ?? current.version
    guard wanted <= current.version, wanted >= current.oldest else { throw missing }
    var row = current
    while row.version > wanted, let older = try view.predecessor(of: row, oldest: current.oldest) { row = older }
    guard row.version == wanted, row.state == .present else { throw missing }
    return try item(row, name)
  }

  /// The current version of `name`, or the given one, with its secret; otherwise as `present`.
  package func opened(
    _ name: String, version: UInt64? = nil
  ) throws(VaultError) -> (item: StoredItem, secret: OpenedSecret) {
    let item = try present(name, version: version)
    return (item, try view.secret(of: item.row))
  }

  /// All kept versions of `name`, newest first, tombstones included; throws `notFound` if it is absent.
  package func history(_ name: String) throws(VaultError) -> [StoredItem] {
    guard let current = try storedRow(name) else { throw .notFound(.item) }
    var versions = [try item(current, name)]
    var row = current
    while let older = try view.predecessor(of: row, oldest: current.oldest) {
      versions.append(try item(older, name))
      row = older
    }
    return versions
  }

  private func item(_ row: Row, _ name: String) throws(VaultError) -> StoredItem {
    StoredItem(row: row, attributes: try view.state.keys.attributes(of: row, named: name))
  }
}
