extension AccessGroupFile {
  /// Calls `body` with each current item, and with the removed members that could read its value; with none if it was
  /// changed since, and then also with the newest version that they could read. It is called again for an item with a
  /// new value that they could read: a former one of the item, or one of 8 bytes or more that another item has or had.
  /// `body` says whether an item is valid; the result is whether all are.
  package func eachExposure(_ body: (StoredItem, UInt64?, [Writer]) -> Bool) throws(VaultError) -> Bool {
    let view = try beginReading()
    let roster = view.state.roster
    // Members that were added again may read the current values.
    let gone = roster.removed.filter { former in
      !roster.members.contains { $0.application == former.application && $0.issue == former.issue }
    }
    guard !gone.isEmpty else { return true }
    func readers(_ attributes: Attributes) -> [Writer] {
      gone.filter { attributes.valueEpoch < $0.epoch }.reduce(into: []) { readers, former in
        let reader = Writer.application(former.application, issue: former.issue)
        // A member that was removed more than once is named once.
        if readers.last != reader { readers.append(reader) }
      }
    }
    /// A value in a form by which it can be compared, and its size.
    func mark(_ row: Row) throws(VaultError) -> (token: Token, byteCount: Int) {
      unsafe try view.secret(of: row).withUnsafeBytes { unsafe (view.state.keys.token(of: $0), $0.count) }
    }
    var areValid = true
    func eachRow(_ body: (Row) throws(VaultError) -> Void) throws(VaultError) {
      let rows = try RowWalk(view)
      while let row = try rows.next() {
        do throws(VaultError) { try body(row) } catch .damaged(_, .row, _) { areValid = false }
      }
    }
    var changed: [Token: [StoredItem]] = [:]
    try eachRow { (row) throws(VaultError) in
      guard row.state == .present else { return }
      let item = StoredItem(row: row, attributes: try view.attributes(of: row))
      let readers = readers(item.attributes)
      if !body(item, nil, readers) {
        areValid = false
      } else if readers.isEmpty {
        changed[try mark(row).token, default: []].append(item)
      }
    }
    guard !changed.isEmpty else { return areValid }
    try eachRow { (row) throws(VaultError) in
      var current: StoredItem?
      var version: Row? = row
      while let known = version {
        version = try view.predecessor(of: known, oldest: row.oldest)
        guard known.state == .present, case let attributes = try view.attributes(of: known) else { continue }
        let readers = readers(attributes)
        if readers.isEmpty {
          if known.version == row.version { current = StoredItem(row: row, attributes: attributes) }
          continue
        }
        if let item = current { _ = body(item, known.version, readers) }
        current = nil
        let (token, byteCount) = try mark(known)
        let same = changed.removeValue(forKey: token) ?? []
        for item in same where item.row.token == row.token || byteCount >= 8 { _ = body(item, nil, readers) }
        let others = same.filter { $0.row.token != row.token && byteCount < 8 }
        if !others.isEmpty { changed[token] = others }
      }
    }
    return areValid
  }
}
