import Sealing

/// The counts of a group that was proved completely.
package struct ProvedGroup: Sendable, Equatable {
  /// The number of current items.
  package var items: UInt64
  package var tombstones: UInt64
  /// The number of older versions.
  package var versions: UInt64
  package var epoch: UInt64
  /// Whether there are rows that a writer signed but that are not valid items. Only `verify` looks for them.
  package var holdsStrangeRows = false
  package var notices: [Notice] = []
}

extension AccessGroupFile {
  /// Proves everything in the file.
  ///
  /// - Parameters:
  ///   - isName: whether a name is valid for an item.
  ///   - progress: called now and then with the number of rows proved so far.
  /// - Throws: the first defect, including an invalid or unavailable witness, which a read would only report as a
  ///   notice.
  package func verify(
    isName: (String) -> Bool = { _ in true }, progress: (UInt64) -> Void = { _ in }
  ) throws(VaultError) -> ProvedGroup {
    let transaction = try beginReading()
    for notice in transaction.view.notices {
      switch notice {
      case .witnessInvalid: throw .damaged(.witness, "neither record is valid")
      case .witnessUnavailable(let reason): throw .witnessUnavailable(reason)
      default: break
      }
    }
    var holdsStrangeRows = false
    var name = ""
    // Of an item's rows the current version comes last.
    var proved = try FullProof.run(transaction.view, progress: progress) { (_, attributes, _) in
      name = attributes.name
    } visit: { row in
      if row.version >= GroupLimits.lastVersion || row.state == .present && !isName(name) { holdsStrangeRows = true }
    }
    proved.holdsStrangeRows = holdsStrangeRows
    proved.notices = transaction.view.notices
    return proved
  }
}
