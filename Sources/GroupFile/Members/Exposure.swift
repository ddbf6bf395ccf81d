import Sealing

extension AccessGroupFile {
  /// Calls `body` with each current item, and with the removed members that could read its value and may have kept a copy;
  /// there are none if the value was changed since.
  ///
  /// - Parameter body: returns whether the item is valid.
  /// - Returns: whether all are. A writer can sign others, which are skipped.
  /// - Throws: the errors of a reader's checks.
  package func eachExposure(_ body: (StoredItem, [Writer]) -> Bool) throws(VaultError) -> Bool {
    let transaction = try beginReading()
    let roster = transaction.state.roster
    // Members that were added again may read the current values.
    let gone = roster.removed.filter { former in
      !roster.members.contains { $0.application == former.application && $0.issue == former.issue }
    }
    guard !gone.isEmpty else { return true }
    var areValid = true
    let rows = try RowWalk(transaction)
    while let row = try rows.next() {
      guard row.state == .present else { continue }
      do throws(VaultError) {
        let item = StoredItem(row: row, attributes: try transaction.attributes(of: row))
        var readers: [Writer] = []
        // A member that was removed more than once is named once.
        for former in gone where item.attributes.valueEpoch < former.epoch {
          let reader = Writer.application(former.application, issue: former.issue)
          if readers.last != reader { readers.append(reader) }
        }
        if !body(item, readers) { areValid = false }
      } catch .damaged(_, .row, _) {
        areValid = false
      }
    }
    return areValid
  }
}
