/// A row that a writer of a group signed but that is not a valid item: its name is invalid or belongs to another place,
/// it does not open, or no version can follow it. Only a program other than Vault writes such a row.
public struct StrangeRow: Sendable, Equatable {
  /// The row's place, 32 hexadecimal digits: ``SecretStore/removeRow(_:from:progress:)`` takes it.
  public let token: String
  /// What is wrong with it.
  public let reason: String

  /// The highest number of such rows that one list keeps.
  static let limit = 1_000
}

extension AccessGroup {
  /// The current items whose names begin with `prefix`, one at a time, in no particular order.
  ///
  /// - Parameter prefix: compared in NFC, byte by byte.
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no valid name has.
  public func list(prefix: String = "") throws(VaultError) -> ItemList { try list(ItemQuery(prefix: prefix)) }

  /// The current items that match `query`, one at a time, in no particular order. Rows are read, proved and opened as
  /// the caller asks for items.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no valid name has.
  public func list(_ query: ItemQuery) throws(VaultError) -> ItemList {
    try observed(.read) { () throws(VaultError) in try list(query, removed: false) }
  }

  /// As ``list(_:)``, of present or removed items, but no observer hears of it.
  package func list(_ query: ItemQuery, removed: Bool, text: ItemText? = nil) throws(VaultError) -> ItemList {
    var query = query
    if !query.prefix.isEmpty { query.prefix = try Item.Name(query.prefix).description }
    if let service {
      var call = ServiceCall(.list, name.description, query.prefix)
      call.listsRemoved = removed
      return ItemList(try service.answer(to: call).items, query, of: self, text: text)
    }
    return try ItemList(beginReading(), query, removed: removed, group: name.description, text: text)
  }

  /// The current items whose names begin with `prefix`, sorted by the bytes of their names.
  ///
  /// - Parameters:
  ///   - prefix: compared in NFC, byte by byte.
  ///   - progress: called now and then with the number of items read so far.
  /// - Throws: as ``list(prefix:)`` and ``ItemList/next()``.
  public func items(prefix: String = "", progress: (Int) -> Void = { _ in }) throws(VaultError) -> [Item] {
    let (items, strange) = try listing(prefix: prefix, progress: progress)
    guard strange.isEmpty else { throw .strangeRows(group: name.description) }
    return items
  }

  /// As ``items(prefix:progress:)``, but returns the rows that are not valid items, at most 1,000, instead of an error.
  public func listing(
    prefix: String = "", removed: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    try listing(ItemQuery(prefix: prefix), removed: removed, progress: progress)
  }

  /// As ``listing(prefix:removed:progress:)``, of the items that match `query`.
  package func listing(
    _ query: ItemQuery, removed: Bool, progress: (Int) -> Void
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    try observed(.read) { () throws(VaultError) in
      let list = try list(query, removed: removed)
      var items: [Item] = []
      var names = JoinedTexts()
      while let item = try list.nextItem() {
        items.append(item)
        names.append(item.name.description)
        if items.count % 1_024 == 0 { progress(items.count) }
      }
      names.sort(&items)
      return (items, list.strangeRows)
    }
  }

  /// As ``listing(_:removed:progress:)``, but with a text for each item instead of the item.
  package func texts(
    _ query: ItemQuery, removed: Bool, progress: (Int) -> Void, text: @escaping ItemText
  ) throws(VaultError) -> (texts: ItemTexts, strange: [StrangeRow]) {
    try observed(.read) { () throws(VaultError) in
      let list = try list(query, removed: removed, text: text)
      return (try list.texts(progress: progress), list.strangeRows)
    }
  }
}
