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
  private let listsRemoved: Bool
  /// Rows that a writer signed and that no item can be: passed over so far.
  private(set) var strangeRows: [StrangeRow] = []

  init(_ transaction: ReadTransaction, prefix: String, removed: Bool, group: String) throws(VaultError) {
    listsRemoved = removed
    self.transaction = transaction
    self.prefix = prefix
    self.group = group
    do { walk = try RowWalk(transaction) } catch { throw VaultError(error, group: group) }
  }

  /// The next item whose name begins with the prefix; `nil` after the last.
  ///
  /// Rows that a writer signed and that no item can be are passed over; then the end is an error instead of `nil`.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` and ``VaultError/storage(_:)``.
  public func next() throws(VaultError) -> Item? {
    if let item = try nextItem() { return item }
    guard strangeRows.isEmpty else { throw .strangeRows(in: group) }
    return nil
  }

  func nextItem() throws(VaultError) -> Item? {
    do throws(GroupFileError) {
      while let row = try walk.next() {
        if let item = try item(row) { return item }
      }
      return nil
    } catch {
      throw VaultError(error, group: group)
    }
  }

  private func item(_ row: Row) throws(GroupFileError) -> Item? {
    guard row.version < GroupLimits.lastVersion else { return pass(row, "a version that no other can follow") }
    guard (row.state == .present) != listsRemoved else { return nil }
    do throws(GroupFileError) {
      let attributes = try transaction.view.attributes(of: row)
      guard attributes.name.utf8.starts(with: prefix.utf8) || Item.Name(stored: attributes.name) == nil else {
        return nil
      }
      let item = try? Item(StoredItem(row: row, attributes: attributes), in: transaction.view.state)
      return item ?? pass(row, "a name that no item can have")
    } catch .damaged(.row, let detail) {
      // The walk has proved the row: a writer signed it as it is.
      return pass(row, detail)
    }
  }

  private func pass(_ row: Row, _ reason: String) -> Item? {
    if strangeRows.count < StrangeRow.limit {
      strangeRows.append(StrangeRow(token: row.token.hexadecimal, reason: reason))
    }
    return nil
  }

  /// Opens the secret of `name` in the state that the list shows, and tells what there is to tell about it.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and as ``next()``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    let name = try Item.Name(name).description
    do {
      let stored = try transaction.present(name)
      return OpenedItem(
        item: try Item(stored, in: transaction.view.state), secret: Secret(try transaction.view.secret(of: stored.row)))
    } catch let error as GroupFileError {
      throw VaultError(error, group: group)
    } catch {
      throw (error as? VaultError) ?? .unexpected("an item that cannot be opened")
    }
  }
}

/// A row that a writer of a group signed and that no item can be: its name is none, or stands in another's place, it does not
/// open, or its version leaves no room for another. Only a program that is not Vault writes one.
public struct StrangeRow: Sendable, Equatable {
  /// Where the row stands, 32 hexadecimal digits: what ``SecretStore/removeRow(_:from:progress:)`` takes.
  public let token: String
  /// What is wrong with it.
  public let reason: String

  /// No more are kept of one list.
  static let limit = 1_000
}

extension AccessGroup {
  /// The present items whose names begin with `prefix`, one at a time, in no particular order.
  ///
  /// - Parameter prefix: compared in NFC, byte by byte.
  /// - Throws: ``VaultError/invalid(_:)`` for a prefix that no name can have.
  public func list(prefix: String = "") throws(VaultError) -> ItemList { try list(prefix: prefix, removed: false) }

  private func list(prefix: String, removed: Bool) throws(VaultError) -> ItemList {
    let prefix = prefix.isEmpty ? "" : try Item.Name(prefix).description
    let transaction: ReadTransaction
    do { transaction = try file.beginReading() } catch { throw VaultError(error, group: name.description) }
    notices.post(transaction.view.notices, of: name)
    return try ItemList(transaction, prefix: prefix, removed: removed, group: name.description)
  }

  /// The present items whose names begin with `prefix`, in order of their names' bytes.
  ///
  /// - Parameters:
  ///   - prefix: compared in NFC, byte by byte.
  ///   - progress: called now and then with the number of items read so far.
  /// - Throws: as ``list(prefix:)`` and ``ItemList/next()``.
  public func items(
    prefix: String = "", progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> [Item] {
    let (items, strange) = try listing(prefix: prefix, progress: progress)
    guard strange.isEmpty else { throw .strangeRows(in: name.description) }
    return items
  }

  /// As ``items(prefix:progress:)``, with the rows that no item can be, a thousand at most, instead of an error for them.
  public func listing(
    prefix: String = "", removed: Bool = false, progress: (Int) -> Void = { _ in }
  ) throws(VaultError) -> (items: [Item], strange: [StrangeRow]) {
    let list = try list(prefix: prefix, removed: removed)
    var items: [Item] = []
    while let item = try list.nextItem() {
      items.append(item)
      if items.count % 1_024 == 0 { progress(items.count) }
    }
    // Strings in NFC compare as their bytes do, and those of ASCII at once.
    items.sort { $0.name.description < $1.name.description }
    return (items, list.strangeRows)
  }
}
