internal import GroupFile

extension AccessGroup {
  /// Sets many items at once, signed and made durable once: for imports of any size.
  ///
  /// The items are written in the order in which the file keeps them, so a million cost little more each than one does. Of two
  /// items with one name the later wins, as a version of its own.
  ///
  /// - Parameter items: names and values; the collection is gone through twice, and its values one at a time.
  /// - Throws: what is wrong with the first item that cannot be set; nothing is changed then.
  public func set<Items: RandomAccessCollection, Value: SecretValue>(
    contentsOf items: Items
  ) throws(VaultError) where Items.Element == (name: String, value: Value) {
    let transaction: WriteTransaction
    do { transaction = try file.beginWriting() } catch { throw VaultError(error, group: name.description) }
    defer { transaction.rollback() }
    for (token, position) in try order(of: items, in: transaction) {
      let item = items[items.index(items.startIndex, offsetBy: position)]
      let name = try Item.Name(item.name)
      let value = NewValue(secret: try OpenedSecret(item.value), kind: item.value.secretKind)
      do {
        _ = try transaction.set(name, to: value, Details(), ifVersion: nil, at: token)
      } catch {
        throw VaultError(error, group: self.name.description)
      }
    }
    do { try transaction.commit() } catch { throw VaultError(error, group: name.description) }
    notices.post(transaction.view.notices, of: name)
  }

  /// The tokens of `items` in rising order, with the items' positions; equal names stay in their order.
  private func order<Items: RandomAccessCollection, Value>(
    of items: Items, in transaction: WriteTransaction
  ) throws(VaultError) -> [(token: Token, position: Int)] where Items.Element == (name: String, value: Value) {
    var places: [(token: Token, position: Int)] = []
    places.reserveCapacity(items.count)
    for (position, item) in items.enumerated() {
      places.append((transaction.view.state.keys.token(of: try Item.Name(item.name).description), position))
    }
    places.sort { ($0.token, $0.position) < ($1.token, $1.position) }
    return places
  }
}
