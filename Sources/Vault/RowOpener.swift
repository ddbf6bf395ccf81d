struct OpenedRows: Sendable {
  var items: [Item] = []
  var texts = ItemTexts()
  var strange: [StrangeRow] = []
  /// The first defect; rows after it are not opened.
  var failure: VaultError?
  /// For the attributes of one row after the other.
  fileprivate var buffer: [UInt8] = []
}

/// Proves and opens the rows of a list; on any thread.
struct RowOpener: Sendable {
  let state: VerifiedState
  let signer: Writer?
  let query: ItemQuery
  let listsRemoved: Bool
  /// If there is one, the query asks for nothing that it does not show.
  let text: ItemText?

  func open(_ unproved: UnprovedRow, into opened: inout OpenedRows) {
    guard opened.failure == nil else { return }
    do throws(VaultError) {
      try unproved.prove()
      try add(unproved.row, to: &opened)
    } catch {
      opened.failure = error
    }
  }

  /// Adds the item of a proved row, if it is wanted and a valid item.
  func add(_ row: Row, to opened: inout OpenedRows) throws(VaultError) {
    func skip(_ reason: String) { opened.strange.append(StrangeRow(token: row.token.hexadecimal, reason: reason)) }
    guard row.version < GroupLimits.lastVersion else { return skip("a version that no other can follow") }
    guard (row.state == .present) != listsRemoved else { return }
    var bytes: [UInt8] = []
    swap(&bytes, &opened.buffer)
    defer { swap(&bytes, &opened.buffer) }
    do throws(VaultError) {
      let fields = try state.keys.fields(of: row, in: &bytes)
      guard begins(fields, of: bytes) else { return }
      if let text {
        try addText(text, fields, of: bytes, row, to: &opened.texts)
      } else {
        let item = try Item(row, Attributes(fields, of: bytes), signedBy: signer)
        if query.accepts(item) { opened.items.append(item) }
      }
    } catch .damaged(_, .row, let detail) {
      // The list has proved the row, so a writer signed exactly this.
      skip(detail)
    }
  }

  /// Whether the name begins with the prefix, or is one that no item can have, which is reported.
  private func begins(_ fields: AttributeFields, of bytes: [UInt8]) -> Bool {
    let prefix = query.prefix.utf8
    guard !prefix.isEmpty, !bytes[fields.name].starts(with: prefix) else { return true }
    return (try? Item.Name(stored: String(decoding: bytes[fields.name], as: UTF8.self))) == nil
  }

  private func addText(
    _ text: ItemText, _ fields: AttributeFields, of bytes: [UInt8], _ row: Row, to texts: inout ItemTexts
  ) throws(VaultError) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(VaultError) in
      let name = unsafe UnsafeRawBufferPointer(rebasing: bytes[fields.name])
      try unsafe Item.Name.check(name)
      guard unsafe !query.skipsCompanions || !Item.Name.isCompanion(name) else { return }
      let summary = unsafe ItemSummary(
        name: name, label: UnsafeRawBufferPointer(rebasing: bytes[fields.label ?? 0..<0]), version: row.version,
        changed: Timestamp(milliseconds: fields.changed), expires: fields.expires.map(Timestamp.init(milliseconds:)))
      texts.add(summary, text)
    }
  }
}
