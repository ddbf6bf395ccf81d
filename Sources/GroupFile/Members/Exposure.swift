import Sealing

/// A value that a removed member could read.
package struct ExposedValue: Sendable, Equatable {
  /// The item's name.
  package let name: String
  /// Its current version.
  package let version: UInt64
  /// When it was written, in milliseconds since 1970-01-01 UTC.
  package let changed: UInt64
  /// The removed members that could read it, in the roster's order.
  package let readers: [RemovedMember]
}

extension AccessGroupFile {
  /// The current values that removed members could read, and that have not been changed since.
  ///
  /// A member could read what was written before their removal, and can keep copies of it.
  ///
  /// - Parameter isName: whether a name is valid for an item.
  /// - Returns: the values, and whether all rows could be examined; rows that a writer signed but that are not valid
  ///   items are skipped.
  /// - Throws: the errors of a reader's checks.
  package func exposure(
    isName: (String) -> Bool = { _ in true }
  ) throws(GroupFileError) -> (values: [ExposedValue], isComplete: Bool) {
    let transaction = try beginReading()
    let roster = transaction.view.state.roster
    // Members that were added again may read the current values.
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
      // A member that was removed more than once is listed once.
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
  /// The attributes of a proved row; `nil` if they do not open although a writer signed the row.
  fileprivate func shownAttributes(of row: Row) throws(GroupFileError) -> Attributes? {
    do throws(GroupFileError) {
      return try attributes(of: row)
    } catch .damaged(.row, _) {
      return nil
    }
  }
}
