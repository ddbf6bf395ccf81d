import Sealing

/// What a complete proof of one group found in order.
package struct VerifiedGroup: Sendable, Equatable {
  /// Present items.
  package var items: UInt64
  package var tombstones: UInt64
  /// Older versions.
  package var versions: UInt64
  package var epoch: UInt64
  /// Whether there are rows that a writer signed and that no item can be.
  package var holdsStrangeRows: Bool
  package var notices: [GroupNotice]
}

extension AccessGroupFile {
  /// Proves everything in the file.
  ///
  /// - Parameters:
  ///   - isName: whether an item can have a name.
  ///   - progress: called now and then with the number of rows proved so far.
  /// - Throws: the first thing that is wrong; also what a read only gives notice of: an invalid or unavailable witness.
  package func verify(
    isName: (String) -> Bool = { _ in true }, progress: (UInt64) -> Void = { _ in }
  ) throws(GroupFileError) -> VerifiedGroup {
    let transaction = try beginReading()
    for notice in transaction.view.notices {
      switch notice {
      case .witnessInvalid: throw .damaged(.witness, "neither record is valid")
      case .witnessUnavailable(let reason): throw .damaged(.witness, reason)
      case .gap: break
      }
    }
    var holdsStrangeRows = false
    var name = ""
    // The current version comes last of an item's, and then the row as a whole.
    let counts = try FullProof.run(transaction.view, progress: progress) { (_, attributes, _) in
      name = attributes.name
    } visit: { row in
      if row.version >= GroupLimits.lastVersion || row.state == .present && !isName(name) { holdsStrangeRows = true }
    }
    return VerifiedGroup(
      items: counts.items - counts.tombstones, tombstones: counts.tombstones, versions: counts.versions,
      epoch: transaction.view.state.manifest.epoch, holdsStrangeRows: holdsStrangeRows,
      notices: transaction.view.notices)
  }
}
