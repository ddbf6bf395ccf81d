internal import Glibc
import Sealing

/// One verified state of a group and a consistent view of its rows: every answer is proved against the signed root.
package final class Snapshot {
  let connection: Connection
  package let state: VerifiedState
  let cache: NodeCache
  /// What the caller should tell the user.
  package internal(set) var notices: [GroupNotice] = []
  private let witnessed: WitnessReading
  private let seal: RowSeal

  /// - Parameter witnessed: the reading that `state` was compared with.
  init(_ connection: Connection, _ state: VerifiedState, _ cache: NodeCache, witnessed: WitnessReading) {
    self.connection = connection
    self.state = state
    self.cache = cache
    self.witnessed = witnessed
    // No honest scan needs more; a b-tree that repeats its pages would go on for ever.
    let rows = state.manifest.itemCount + state.manifest.versionRowCount
    connection.bound(steps: Int(clamping: 1_000_000 + 64 * min(rows, 1 << 40)))
    seal = RowSeal(state.keys)
  }

  /// Raises `witness` to `new`: this state, or one that was made of it and is durable.
  func raise(_ witness: any Witnessing, to new: VerifiedState, gapSeen: Bool = false) {
    if let notice = new.raise(witness, from: witnessed, gapSeen: gapSeen, connection) { notices.append(notice) }
  }

  /// The node with `digest`, which the caller took from a proved parent or the signed root.
  func load(_ digest: Digest, _ place: TreePlace) throws(GroupFileError) -> TreeNode {
    if let node = cache[digest] { return node }
    // An empty group has no stored node.
    if digest == TreeNode.emptyRoot, place.depth == 0 { return .leaf([]) }
    // Proved and read where SQLite keeps it, so that nothing can change in between, and nothing is copied twice.
    let node = try unsafe connection.withNodeBody(at: place) { (body) throws(GroupFileError) -> TreeNode? in
      guard unsafe TreeNode.digest(ofBody: body, at: place) == digest else { return nil }
      return try unsafe TreeNode(parsing: body, at: place)
    }
    guard case .some(.some(let proved)) = node else { throw .damaged(.tree, "a node does not match its parent") }
    cache.keep(proved, digest)
    return proved
  }

  /// The digest of the row at `token`; `nil` is a proof of absence.
  func digest(of token: Token) throws(GroupFileError) -> Digest? {
    try TreeSearch.digest(of: token, below: state.manifest.root, at: .root) { (digest, place) throws(GroupFileError) in
      try load(digest, place)
    }
  }

  /// The current row at `token` if its bytes have the proved `digest`.
  func row(_ token: Token, digest: Digest) throws(GroupFileError) -> Row {
    guard let row = try connection.currentRow(token) else { throw .damaged(.row, "a row is missing") }
    guard row.digest == digest else { throw .damaged(.row, "a row does not match the tree") }
    return row
  }

  /// The version that `row`, which is proved, replaced; `nil` at the oldest one kept.
  ///
  /// - Parameter oldest: the current row's oldest version: a missing one at or above it is damage.
  func predecessor(of row: Row, oldest: UInt64) throws(GroupFileError) -> Row? {
    guard row.version > oldest else { return nil }
    guard let older = try connection.olderRow(row.token, version: row.version - 1), older.digest == row.previous else {
      throw .damaged(.row, "an older version does not match")
    }
    return older
  }

  /// Opens the attributes of a proved row and checks that the row stands where its name belongs.
  package func attributes(of row: Row) throws(GroupFileError) -> Attributes { try state.attributes(of: row) }

  /// Opens the attributes of a proved row that was found by the token of `name`.
  ///
  /// - Throws: `damaged(.row, …)`.
  func attributes(of row: Row, named name: String) throws(GroupFileError) -> Attributes {
    let attributes = try seal.attributes(of: row)
    // By bytes, as the token was made: `==` would find another spelling equal.
    guard attributes.name.hasSameBytes(as: name) else { throw .damaged(.row, "a name in another's place") }
    return attributes
  }

  /// Opens the secret of a proved row.
  ///
  /// - Throws: `damaged(.row, …)`; `storage` where there is no guarded memory left.
  package func secret(of row: Row) throws(GroupFileError) -> OpenedSecret {
    let box = try sealedSecret(of: row)
    return try seal.secret(box.bytes, in: box.range, of: row)
  }

  /// The sealed secret of a proved row: part of the row, or a blob with the digest that the row names.
  func sealedSecret(of row: Row) throws(GroupFileError) -> (bytes: [UInt8], range: Range<Int>) {
    switch row.place {
    case .none: throw .noItem
    case .inline: return (row.encoded, row.secretRange)
    case .blob:
      guard let blob = try connection.blob(row.token, version: row.version),
        Hash.digest(.blob, blob).bytes.elementsEqual(row.encoded[row.secretRange])
      else { throw .damaged(.row, "a large value does not match its row") }
      return (blob, blob.indices)
    }
  }
}

extension String {
  /// `utf8.elementsEqual` in a tenth of its time: this happens in every get.
  fileprivate func hasSameBytes(as other: String) -> Bool {
    unsafe utf8Span.span.withUnsafeBytes { own in
      unsafe other.utf8Span.span.withUnsafeBytes { other in
        unsafe own.count == other.count && (own.isEmpty || memcmp(own.baseAddress!, other.baseAddress!, own.count) == 0)
      }
    }
  }
}
