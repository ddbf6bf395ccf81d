import Sealing

/// Proves everything in a group file, and not only what an answer needs: each row, version, blob, node, wrap and link.
///
/// The tree is computed again from the rows and compared with the signed root, so that only data that a writer signed
/// is accepted (format article, "A complete proof"). Verify, compact, rotate and backup begin with this.
package struct FullProof {
  private let view: Snapshot
  /// The current rows so far, tombstones included.
  private var rows: UInt64 = 0
  private var group: ProvedGroup
  private var blobs: UInt64 = 0
  private var nodes = 0
  private var builder = TreeBuilder()

  /// - Throws: the first defect. What `visit` receives is proved only once this call returns.
  package static func run(
    _ view: Snapshot, progress: (UInt64) -> Void = { _ in },
    isName: (String) -> Bool = { _ in true }, visit: (Row) throws(VaultError) -> Void = { _ in }
  ) throws(VaultError) -> ProvedGroup {
    try view.connection.quickCheck()
    try view.state.confirmRoster(view.connection)
    var proof = FullProof(view: view, group: ProvedGroup(epoch: view.state.manifest.epoch))
    let blobs = try proof.blobCount()
    try proof.proveRows(progress, isName, visit)
    // Every blob that a row names was opened, so equal counts mean that there is no other.
    guard blobs == proof.blobs else { throw .damaged(.row, "a large value without a row") }
    try proof.proveNodes()
    try proof.proveWraps()
    try proof.proveChain()
    return proof.group
  }

  private mutating func proveRows(
    _ progress: (UInt64) -> Void, _ isName: (String) -> Bool, _ visit: (Row) throws(VaultError) -> Void
  ) throws(VaultError) {
    let manifest = view.state.manifest
    let current = try view.connection.currentRows()
    let older = try view.connection.statement("SELECT * FROM version ORDER BY token, version")
    defer {
      current.reset()
      older.reset()
    }
    while try current.step() {
      guard rows < manifest.itemCount else { throw .damaged(.row, "more rows than signed") }
      let row = try Row(current)
      try builder.append(TreeEntry(token: row.token, digest: row.digest))
      rows += 1
      if row.state == .removed { group.tombstones += 1 } else { group.items += 1 }
      try proveVersions(of: row, older)
      let name = try proveContent(of: row)
      if row.version >= GroupLimits.lastVersion || row.state == .present && !isName(name) {
        group.holdsStrangeRows = true
      }
      try visit(row)
      guard rows % 1_024 == 0 else { continue }
      for node in builder.takeNodes() { try prove(node.body, at: node.place) }
      progress(rows)
    }
    guard rows == manifest.itemCount else { throw .damaged(.row, "fewer rows than signed") }
    guard try !older.step(), group.versions == manifest.versionRowCount else {
      throw .damaged(.row, "older versions without an item")
    }
  }

  /// Proves the kept versions of `row`, which come next in `older`, oldest first. Each version names its predecessor's
  /// digest.
  private mutating func proveVersions(of row: Row, _ older: Statement) throws(VaultError) {
    var digest: Digest?
    for version in row.oldest..<row.version {
      guard try older.step() else { throw .damaged(.row, "an older version is missing") }
      let kept = try Row(older)
      guard kept.token == row.token, kept.version == version, digest == nil || kept.previous == digest else {
        throw .damaged(.row, "an older version does not match")
      }
      digest = kept.digest
      group.versions += 1
      _ = try proveContent(of: kept)
    }
    guard digest == nil || row.previous == digest else { throw .damaged(.row, "an older version does not match") }
  }

  private mutating func proveContent(of row: Row) throws(VaultError) -> String {
    let name = try view.attributes(of: row).name
    if row.place == .blob { blobs += 1 }
    if row.state == .present { _ = try view.secret(of: row) }
    return name
  }

  /// Checks that the stored nodes are exactly those of the canonical tree.
  private mutating func proveNodes() throws(VaultError) {
    let root = try builder.finish { (place, body) throws(VaultError) in try prove(body, at: place) }
    guard root == view.state.manifest.root else { throw .damaged(.tree, "the rows do not give the signed root") }
    let stored = try view.connection.statement("SELECT prefix, body FROM node ORDER BY prefix")
    defer { stored.reset() }
    for _ in 0..<nodes { guard try stored.step() else { throw .damaged(.tree, "a node is missing") } }
    guard try !stored.step() else { throw .damaged(.tree, "a node too many") }
  }

  private mutating func prove(_ body: [UInt8], at place: TreePlace) throws(VaultError) {
    guard try view.connection.nodeBody(at: place) == body else { throw .damaged(.tree, "a node is not canonical") }
    nodes += 1
  }

  /// The number of stored large values; stops counting beyond the number that there can be.
  private func blobCount() throws(VaultError) -> UInt64 {
    let stored = try view.connection.statement("SELECT token, version FROM blob ORDER BY token, version")
    defer { stored.reset() }
    let limit = view.state.manifest.itemCount + view.state.manifest.versionRowCount
    var count: UInt64 = 0
    var last: (token: Token, version: UInt64)?
    while count <= limit, try stored.step() {
      let key = unsafe (
        token: Token(loadingFrom: try stored.blob(0, count: Token.byteCount)),
        version: try stored.counter(1, from: 1)
      )
      if let last, last >= key { throw .damaged(.row, "order of large values") }
      last = key
      count += 1
    }
    return count
  }

  /// Checks that there is exactly one wrap for each member, the one that the roster names.
  private func proveWraps() throws(VaultError) {
    let roster = view.state.roster
    guard Set(roster.members.map(\.slotID)).count == roster.members.count else { throw .damaged(.wrap, "a slot twice") }
    for member in roster.members {
      guard let wrap = try view.connection.wrap(member.slotID),
        Wrap.digest(wrap, slotID: member.slotID) == member.wrapDigest
      else { throw .damaged(.wrap, "a member's wrap does not match") }
    }
    let stored = try view.connection.statement("SELECT slot FROM wrap ORDER BY slot")
    defer { stored.reset() }
    var count = 0
    while count <= roster.members.count, try stored.step() { count += 1 }
    guard count == roster.members.count else { throw .damaged(.wrap, "a wrap too many") }
  }

  /// Checks that the chain ends in this state and has the right length.
  private func proveChain() throws(VaultError) {
    let manifest = view.state.manifest
    let rows = try view.connection.chain(after: 0)
    guard let last = rows.last, last.epoch == manifest.epoch, last.rest == manifest.rest() else {
      throw .damaged(.chain, "the newest link is missing")
    }
    guard rows.allSatisfy({ $0.epoch + GroupLimits.chainLength > manifest.epoch }) else {
      throw .damaged(.chain, "links that should be gone")
    }
    guard view.state.isEnd(of: rows) else { throw .damaged(.chain, "links do not lead to this state") }
  }
}

extension VerifiedState {
  /// Whether the chain, which ends in this state's row, leads to this state, if that can be computed.
  func isEnd(of chain: [(epoch: UInt64, rest: Digest)]) -> Bool {
    // A chain from epoch 1 must yield this state's link. A later beginning is valid if the older links exceeded the
    // chain's length, or if a repair restarted the chain, at the latest at the roster's first state. Otherwise links
    // are missing, and the computation fails.
    guard let first = chain.first,
      first.epoch == 1 || first.epoch > roster.firstEpoch && manifest.epoch <= GroupLimits.chainLength
    else { return true }
    return chain.reduce(Digest.zero) { Manifest.link(after: $0, rest: $1.rest) } == link
  }
}

package struct ProvedGroup: Sendable, Equatable {
  package var items: UInt64 = 0
  package var tombstones: UInt64 = 0
  package var versions: UInt64 = 0
  package let epoch: UInt64
  /// Whether there are rows that a writer signed but that are not valid items. Only `verify` knows which names are
  /// valid.
  package var holdsStrangeRows = false
  package var notices: [Notice] = []
}

extension AccessGroupFile {
  /// - Throws: the first defect, including an invalid or unavailable witness, which a read would only report as a
  ///   notice.
  package func verify(
    isName: (String) -> Bool = { _ in true }, progress: (UInt64) -> Void = { _ in }
  ) throws(VaultError) -> ProvedGroup {
    let transaction = try beginReading()
    for case let error? in transaction.notices.map(\.witnessError) { throw error }
    var proved = try FullProof.run(transaction, progress: progress, isName: isName)
    proved.notices = transaction.notices
    return proved
  }
}
