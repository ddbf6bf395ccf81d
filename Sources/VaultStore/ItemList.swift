internal import GroupFile

/// A group's present items, one at a time, each proved before it is given; opens no secret by itself.
///
/// It shows one state of the group until it is let go, however long that takes. The order is not that of the names: names
/// are sealed. For one thread at a time.
public final class ItemList {
  private let transaction: ReadTransaction
  private let walk: RowWalk
  private let prefix: String
  private let group: String

  init(_ transaction: ReadTransaction, prefix: String, group: String) throws(VaultError) {
    self.transaction = transaction
    self.prefix = prefix
    self.group = group
    do { walk = try RowWalk(transaction) } catch { throw VaultError(error, group: group) }
  }

  /// The next item whose name begins with the prefix; `nil` after the last.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` and ``VaultError/storage(_:)``.
  public func next() throws(VaultError) -> Item? {
    let stored: StoredItem?
    do { stored = try nextStored() } catch { throw VaultError(error, group: group) }
    return try stored.map { (stored) throws(VaultError) in try Item(stored) }
  }

  /// Opens the secret of `name` in the state that the list shows, and tells what there is to tell about it.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and as ``next()``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    let name = try Item.Name(name).description
    do {
      let stored = try transaction.present(name)
      return OpenedItem(item: try Item(stored), secret: Secret(try transaction.view.secret(of: stored.row)))
    } catch let error as GroupFileError {
      throw VaultError(error, group: group)
    } catch {
      throw (error as? VaultError) ?? .unexpected("an item that cannot be opened")
    }
  }

  private func nextStored() throws(GroupFileError) -> StoredItem? {
    while let row = try walk.next() {
      guard row.state == .present else { continue }
      let attributes = try transaction.view.attributes(of: row)
      if attributes.name.utf8.starts(with: prefix.utf8) { return StoredItem(row: row, attributes: attributes) }
    }
    return nil
  }
}

extension AccessGroup {
  /// The present items whose names begin with `prefix`, one at a time, in no particular order.
  ///
  /// - Parameter prefix: compared in NFC, byte by byte.
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no name can have.
  public func list(prefix: String = "") throws(VaultError) -> ItemList {
    let prefix = prefix.isEmpty ? "" : try Item.Name(prefix).description
    let transaction: ReadTransaction
    do { transaction = try file.beginReading() } catch { throw VaultError(error, group: name.description) }
    notices.post(transaction.view.notices, of: name)
    return try ItemList(transaction, prefix: prefix, group: name.description)
  }

  /// The present items whose names begin with `prefix`, in order of their names' bytes.
  ///
  /// - Parameters:
  ///   - prefix: compared in NFC, byte by byte.
  ///   - progress: called now and then with the number of items read so far.
  /// - Throws: as ``list(prefix:)``.
  public func items(
    prefix: String = "", progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> [Item] {
    let list = try list(prefix: prefix)
    var items: [Item] = []
    while let item = try list.next() {
      items.append(item)
      if items.count % 1_024 == 0 { progress(items.count) }
    }
    // Strings in NFC compare as their bytes do, and those of ASCII at once.
    items.sort { $0.name.description < $1.name.description }
    return items
  }
}
