import Sealing

/// A value that somebody could read who is no member any more.
package struct ExposedValue: Sendable, Equatable {
  /// The item's name.
  package let name: String
  /// Its present version.
  package let version: UInt64
  /// When it was written; milliseconds since 1970-01-01 UTC.
  package let changed: UInt64
  /// Those who could read it, in the roster's order.
  package let readers: [RemovedMember]
}

extension AccessGroupFile {
  /// The present values that removed members could read, and that were not set anew since.
  ///
  /// A member could read what was written before he was removed; what he kept a copy of, he can read for ever.
  ///
  /// - Parameter isName: whether an item can have a name.
  /// - Returns: the values, and whether no row had to be passed over that a writer signed and that no item can be.
  /// - Throws: what a reader's checks find.
  package func exposure(
    isName: (String) -> Bool = { _ in true }
  ) throws(GroupFileError) -> (values: [ExposedValue], isComplete: Bool) {
    let transaction = try beginReading()
    let roster = transaction.view.state.roster
    // Who was let in again reads today's values by right.
    let gone = roster.removed.filter { former in
      !roster.members.contains { $0.application == former.application && $0.issue == former.issue }
    }
    guard !gone.isEmpty else { return ([], true) }
    var exposed: [ExposedValue] = []
    var isComplete = true
    let rows = try RowWalk(transaction)
    while let row = try rows.next() {
      guard row.state == .present else { continue }
      guard let attributes = try transaction.view.shownAttributes(of: row), isName(attributes.name) else {
        isComplete = false
        continue
      }
      var readers: [RemovedMember] = []
      // Whoever was removed more than once is named once.
      for former in gone where attributes.valueEpoch < former.epoch {
        if readers.last.map({ $0.application == former.application && $0.issue == former.issue }) != true {
          readers.append(former)
        }
      }
      guard !readers.isEmpty else { continue }
      exposed.append(
        ExposedValue(name: attributes.name, version: row.version, changed: attributes.changed, readers: readers))
    }
    return (exposed.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }, isComplete)
  }
}

extension Snapshot {
  /// The attributes of a row that a walk has proved; `nil` where a writer signed it so that it does not open.
  fileprivate func shownAttributes(of row: Row) throws(GroupFileError) -> Attributes? {
    do throws(GroupFileError) {
      return try attributes(of: row)
    } catch .damaged(.row, _) {
      return nil
    }
  }
}
