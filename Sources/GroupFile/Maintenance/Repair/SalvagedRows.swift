import Sealing

/// Writes the items that can be kept: all that the signed root proves, and those that the owner names.
struct SalvagedRows {
  private(set) var group = GroupRepair()
  let view: Snapshot
  /// Tokens of unproved items to keep.
  private let wanted: Set<Token>
  /// Tokens of proved items to leave out.
  private let dropped: Set<Token>
  private var kept: [Token] = []

  // SQLite cannot store more rows.
  private static let believedItemCount: UInt64 = 1 << 36

  private var connection: Connection { view.connection }

  /// - Parameter view: the signed state, and the new file.
  init(_ view: Snapshot, _ names: [String], dropping dropped: Set<Token> = []) {
    self.view = view
    self.dropped = dropped
    wanted = Set(names.map(view.state.keys.token))
  }

  /// Writes rows, large values and nodes.
  ///
  /// - Parameter writer: makes the new file, to which `view` belongs.
  /// - Returns: the root of the tree over what was written.
  /// - Throws: `notFound` if a wanted item is not among the unproved ones.
  mutating func write(
    from index: borrowing SalvageIndex, to writer: inout GroupWriter, progress: (UInt64) -> Void
  ) throws(VaultError) -> Digest {
    let tree = SalvagedTree(root: view.state.manifest.root, in: index)
    for entry in tree.entries where !dropped.contains(entry.token) {
      if try !keep(entry, index, &writer) { try noteLost(entry.token, index) }
      if group.kept % 1_024 == 1_023 { progress(group.kept) }
    }
    // Only the manifest says how many items were below a lost node, and a malicious writer may have signed any number.
    let signed = view.state.manifest.itemCount
    if !tree.isWhole, signed <= SalvagedRows.believedItemCount, signed > UInt64(tree.entries.count) {
      group.lost += signed - UInt64(tree.entries.count)
    } else if !tree.isWhole {
      group.lost += 1
    }
    try noteUnproved(index, &writer)
    group.lostNames.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    group.unproved.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    guard group.unproved.count(where: \.isKept) == wanted.count else { throw .notFound(.item) }
    return try writer.finish()
  }

  /// Keeps a proved item with the unbroken part of its history.
  ///
  /// - Returns: `false` if its row or its value is lost.
  private mutating func keep(
    _ entry: TreeEntry, _ index: borrowing SalvageIndex, _ writer: inout GroupWriter
  ) throws(VaultError) -> Bool {
    guard let current = index.row(entry.token, entry.digest), try opens(current, index) else { return false }
    var oldest = current
    var versions: [Row] = []
    while oldest.version > current.oldest,
      let older = index.row(entry.token, version: oldest.version - 1, oldest.previous), try opens(older, index)
    {
      versions.append(older)
      oldest = older
    }
    // No item keeps more versions, although a malicious writer may have signed any number.
    group.lostVersions += min(oldest.version - current.oldest, UInt64(GroupLimits.keptVersions.upperBound) - 1)
    group.kept += 1
    versions.reverse()
    versions.append(oldest.version == current.oldest ? current : current.keeping(from: oldest.version))
    kept.append(current.token)
    try writer.add(versions)
    return true
  }

  /// Whether attributes and secret of a row can be opened; if so, its large value is written.
  private func opens(_ row: Row, _ index: borrowing SalvageIndex) throws(VaultError) -> Bool {
    if row.place == .blob {
      guard let digest = Digest(row.encoded[row.secretRange]), let blob = index.blob(digest) else { return false }
      try connection.insertBlob(row.token, version: row.version, blob)
    }
    do throws(VaultError) {
      _ = try view.attributes(of: row)
      if row.state == .present { _ = try view.secret(of: row) }
      return true
    } catch {
      guard case .damaged(_, .row, _) = error else { throw error }
      if row.place == .blob { try dropBlob(of: row) }
      return false
    }
  }

  private func dropBlob(of row: Row) throws(VaultError) {
    try connection.statement("DELETE FROM blob WHERE token = ? AND version = ?").bind(1, row.token.bytes)
      .bind(2, counter: row.version).run()
  }

  /// Records the name of a lost item, if any version has it: a name that yields the item's token is its name.
  private mutating func noteLost(_ token: Token, _ index: borrowing SalvageIndex) throws(VaultError) {
    group.lost += 1
    for record in index.versions(of: token).reversed() {
      guard let row = index.row(record), let attributes = try? view.attributes(of: row) else { continue }
      group.lostNames.append(attributes.name)
      return
    }
  }

  /// Lists each item that was not kept, with its newest version that can be opened; a tombstone has nothing to keep.
  private mutating func noteUnproved(
    _ index: borrowing SalvageIndex, _ writer: inout GroupWriter
  ) throws(VaultError) {
    var position = 0
    var last: Token?
    for record in index.rows where record.token != last {
      last = record.token
      while position < kept.count, kept[position] < record.token { position += 1 }
      if position < kept.count, kept[position] == record.token || dropped.contains(record.token) { continue }
      for candidate in index.versions(of: record.token).reversed() {
        guard let row = index.row(candidate), row.state == .present, try opens(row, index) else { continue }
        try note(row, &writer)
        break
      }
    }
  }

  private mutating func note(_ row: Row, _ writer: inout GroupWriter) throws(VaultError) {
    let attributes = try view.attributes(of: row)
    let isKept = wanted.contains(row.token)
    group.unproved.append(
      UnprovedItem(
        name: attributes.name, version: row.version, changed: Timestamp(milliseconds: attributes.changed),
        isKept: isKept))
    if isKept {
      try writer.add([row.keeping(from: row.version)])
    } else if row.place == .blob {
      try dropBlob(of: row)
    }
  }
}

/// The digest tree of a damaged file, read from its signed root downwards. A lost node is rebuilt from its children or
/// rows, and counts if it has the digest that its proved parent names (format article, "Repairing").
struct SalvagedTree {
  /// The items that the signed root proves, in rising order.
  private(set) var entries: [TreeEntry] = []
  /// Whether the tree is complete: then `entries` are all items that were signed.
  private(set) var isWhole = true
  /// Rebuilt nodes, by digest.
  private var made: [Digest: TreeNode] = [:]

  init(root: Digest, in index: borrowing SalvageIndex) {
    prove(root, at: .root, index)
  }

  private mutating func prove(_ digest: Digest, at place: TreePlace, _ index: borrowing SalvageIndex) {
    if digest == TreeNode.emptyRoot, place.depth == 0 { return }
    switch made[digest] ?? index.node(digest, at: place) ?? madeNode(digest, at: place, index) {
    case .leaf(let found)?: entries += found
    case .branch(let bitmap, let children)?:
      for nibble in 0..<16 {
        guard let child = TreeNode.child(nibble, bitmap: bitmap, children: children) else { continue }
        prove(child, at: place.child(nibble), index)
      }
    // Items below this node are not proved.
    case nil: isWhole = false
    }
  }

  private mutating func madeNode(_ digest: Digest, at place: TreePlace, _ index: borrowing SalvageIndex) -> TreeNode? {
    // For a child there may be both a node and rows, and after damage either may be wrong.
    for prefersNodes in [true, false] {
      let candidates = [leaf(at: place, index), branch(at: place, index, prefersNodes: prefersNodes)]
      for case let node? in candidates where node.digest(at: place) == digest { return node }
    }
    return nil
  }

  /// The leaf built from the rows below `place`, if they are few enough for one.
  private func leaf(at place: TreePlace, _ index: borrowing SalvageIndex) -> TreeNode? {
    var found: [TreeEntry] = []
    for record in index.rows(below: place) {
      let entry = TreeEntry(token: record.token, digest: record.digest)
      // Versions come in rising order, so the last one is the current one.
      if found.last?.token == record.token { found[found.count - 1] = entry } else { found.append(entry) }
      guard found.count <= TreeNode.leafCapacity else { return nil }
    }
    return found.isEmpty ? nil : .leaf(found)
  }

  /// The branch built from the nodes that are stored below `place`, or from the rows there.
  private mutating func branch(at place: TreePlace, _ index: borrowing SalvageIndex, prefersNodes: Bool) -> TreeNode? {
    guard place.depth < 32 else { return nil }
    var bitmap: UInt16 = 0
    var children: [Digest] = []
    for nibble in 0..<16 {
      guard let digest = candidate(at: place.child(nibble), index, prefersNodes: prefersNodes) else { continue }
      bitmap |= 1 << UInt16(nibble)
      children.append(digest)
    }
    return children.isEmpty ? nil : .branch(bitmap: bitmap, children: children)
  }

  private mutating func candidate(at place: TreePlace, _ index: borrowing SalvageIndex, prefersNodes: Bool) -> Digest? {
    let stored = index.nodesByPlace[place]
    if prefersNodes, let stored { return stored }
    let node: TreeNode?
    if let leaf = leaf(at: place, index) {
      node = leaf
    } else {
      node = index.rows(below: place).isEmpty ? nil : branch(at: place, index, prefersNodes: prefersNodes)
    }
    guard let node else { return stored }
    let digest = node.digest(at: place)
    made[digest] = node
    return digest
  }
}
