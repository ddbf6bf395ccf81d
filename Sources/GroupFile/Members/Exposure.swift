internal import Sealing

extension AccessGroupFile {
  /// The current values that removed members could read, and that have not been changed since.
  ///
  /// A member could read what was written before their removal, and can keep copies of it.
  ///
  /// - Parameter isName: whether a name is valid for an item.
  /// - Returns: the items with the removed members that could read them, sorted by name, and whether all rows could be
  ///   examined. Rows that a writer signed but that are not valid items are skipped.
  /// - Throws: the errors of a reader's checks.
  package func exposure(
    isName: (String) -> Bool = { _ in true }
  ) throws(VaultError) -> (values: [(item: StoredItem, readers: [Writer])], isComplete: Bool) {
    let transaction = try beginReading()
    let roster = transaction.state.roster
    // Members that were added again may read the current values.
    let gone = roster.removed.filter { former in
      !roster.members.contains { $0.application == former.application && $0.issue == former.issue }
    }
    guard !gone.isEmpty else { return ([], true) }
    var exposed: [(item: StoredItem, readers: [Writer])] = []
    var isComplete = true
    let rows = try RowWalk(transaction)
    while let row = try rows.next() {
      guard row.state == .present else { continue }
      let found: Attributes?
      // A writer can sign a row whose attributes do not open.
      do throws(VaultError) { found = try transaction.attributes(of: row) } catch .damaged(_, .row, _) { found = nil }
      guard let attributes = found, isName(attributes.name) else {
        isComplete = false
        continue
      }
      var readers: [Writer] = []
      // A member that was removed more than once is listed once.
      for former in gone where attributes.valueEpoch < former.epoch {
        let reader = Writer.application(former.application, issue: former.issue)
        if readers.last != reader { readers.append(reader) }
      }
      if !readers.isEmpty { exposed.append((StoredItem(row: row, attributes: attributes), readers)) }
    }
    return (
      exposed.sorted { $0.item.attributes.name.utf8.lexicographicallyPrecedes($1.item.attributes.name.utf8) },
      isComplete
    )
  }
}
