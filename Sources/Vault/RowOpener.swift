internal import GroupFile
internal import Sealing

struct OpenedRows: Sendable {
  var items: [Item] = []
  var texts = ItemTexts()
  var strange: [StrangeRow] = []
  /// The first defect; rows after it are not opened.
  var failure: VaultError?

  mutating func add(_ item: Item, _ text: ItemText?) {
    if let text { texts.add(item, text) } else { items.append(item) }
  }
}

/// Proves and opens the rows of a list; on any thread.
struct RowOpener: Sendable {
  let state: VerifiedState
  let signer: Writer?
  let query: ItemQuery
  let listsRemoved: Bool
  let text: ItemText?

  func open(_ unproved: UnprovedRow, into opened: inout OpenedRows) {
    guard opened.failure == nil else { return }
    do throws(VaultError) {
      try unproved.prove()
      if let item = try item(unproved.row, &opened.strange), query.accepts(item) { opened.add(item, text) }
    } catch {
      opened.failure = error
    }
  }

  /// The item of a proved row; `nil` if it is not wanted, or not a valid item.
  private func item(_ row: Row, _ strange: inout [StrangeRow]) throws(VaultError) -> Item? {
    func skip(_ reason: String) -> Item? {
      strange.append(StrangeRow(token: row.token.hexadecimal, reason: reason))
      return nil
    }
    guard row.version < GroupLimits.lastVersion else { return skip("a version that no other can follow") }
    guard (row.state == .present) != listsRemoved else { return nil }
    do throws(VaultError) {
      let attributes = try state.keys.attributes(of: row)
      let prefix = query.prefix
      guard
        prefix.isEmpty || attributes.name.utf8.starts(with: prefix.utf8) || Item.Name(stored: attributes.name) == nil
      else { return nil }
      return try Item(row, attributes, signedBy: signer)
    } catch .damaged(_, .row, let detail) {
      // The list has proved the row, so a writer signed exactly this.
      return skip(detail)
    }
  }
}
