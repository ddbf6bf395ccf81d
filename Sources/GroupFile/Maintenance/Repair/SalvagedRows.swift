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

  /// - Parameter view: the signed state, and the new file.
  init(_ view: Snapshot, _ names: [String], dropping dropped: Set<Token> = []) {
    (self.view, self.dropped) = (view, dropped)
    wanted = Set(names.map(view.state.keys.token))
  }

  /// Writes rows, large values and nodes to the new file, to which `view` belongs, and returns the root of the tree over
  /// them; throws `notFound` if a wanted item is not among the unproved ones.
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

  /// Keeps a proved item with the unbroken part of its history; returns `false` if its row or its value is lost.
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
    do throws(VaultError) {
      // The attributes first: rows without a key's seal could all name one large value, which would be read for each.
      _ = try view.attributes(of: row)
      guard row.state == .present else { return true }
      guard let (_, blob) = try index.secret(of: row, view.state.keys) else { return false }
      if let blob { try view.connection.insertBlob(row.token, version: row.version, blob) }
      return true
    } catch .damaged(_, .row, _) {
      return false
    }
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

  /// Lists each item that was not kept, with its newest version whose attributes open, and whose value does if it is in
  /// the row; a tombstone has nothing to keep.
  private mutating func noteUnproved(
    _ index: borrowing SalvageIndex, _ writer: inout GroupWriter
  ) throws(VaultError) {
    var position = 0
    var last: Token?
    for record in index.rows where record.token != last {
      last = record.token
      while position < kept.count, kept[position] < record.token { position += 1 }
      if dropped.contains(record.token) || position < kept.count && kept[position] == record.token { continue }
      for candidate in index.versions(of: record.token).reversed() {
        guard let row = index.row(candidate), row.state == .present, let attributes = try? view.attributes(of: row)
        else { continue }
        let isKept = wanted.contains(row.token)
        // Large values are read for wanted items alone: anybody who has the key can plant rows that name them.
        guard try row.place == .blob && !isKept ? true : opens(row, index) else { continue }
        group.unproved.append(
          UnprovedItem(
            name: attributes.name, version: row.version, changed: Timestamp(milliseconds: attributes.changed),
            isKept: isKept))
        if isKept { try writer.add([row.keeping(from: row.version)]) }
        break
      }
    }
  }
}
