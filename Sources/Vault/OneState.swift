internal import GroupFile

/// Reads of one state of a group, which agree with each other: the state that a reader sees, or the one that a
/// transaction has made so far.
///
/// For one thread at a time. That of a transaction is valid until its end.
package struct OneState {
  private let reading: any ItemReading
  private let group: String

  init(_ reading: any ItemReading, group: String) { (self.reading, self.group) = (reading, group) }

  /// The current version of `name`, which may be its removal; `nil` if there never was such an item.
  package func item(_ name: String) throws(VaultError) -> Item? {
    let name = try Item.Name(name).description
    let stored: StoredItem?
    do { stored = try reading.stored(name) } catch { throw VaultError(error, group: group) }
    guard let stored else { return nil }
    return try Item(stored, in: reading.view.state)
  }

  /// All kept versions of `name`, newest first, removals included; empty if there never was such an item.
  package func history(_ name: String) throws(VaultError) -> [Item] {
    let name = try Item.Name(name).description
    let versions: [StoredItem]
    do { versions = try reading.history(name) } catch .noItem { return [] } catch {
      throw VaultError(error, group: group)
    }
    var items: [Item] = []
    for version in versions { items.append(try Item(version, in: reading.view.state)) }
    return items
  }

  /// Opens the secret of `name`, and returns it with the item's metadata.
  ///
  /// - Parameter version: a kept version; `nil` for the current one.
  /// - Throws: ``VaultError/notFound(_:)``.
  package func open(_ name: String, version: UInt64? = nil) throws(VaultError) -> OpenedItem {
    let name = try Item.Name(name).description
    let (stored, secret) = try opened(name, version)
    return OpenedItem(item: try Item(stored, in: reading.view.state), secret: Secret(secret))
  }

  private func opened(
    _ name: String, _ version: UInt64?
  ) throws(VaultError) -> (stored: StoredItem, secret: OpenedSecret) {
    do {
      let stored = if let version { try reading.present(name, version: version) } else { try reading.present(name) }
      return (stored, try reading.view.secret(of: stored.row))
    } catch {
      throw VaultError(error, group: group)
    }
  }
}

extension AccessGroup {
  /// The current state, for several reads. It is released with the last use of the result.
  package func state() throws(VaultError) -> OneState {
    let transaction = try observed(.read) { () throws(VaultError) in
      try readingItems { (transaction) throws(GroupFileError) in transaction }
    }
    return OneState(transaction, group: name.description)
  }
}
