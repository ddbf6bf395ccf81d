internal import GroupFile

/// The changes of one transaction: all of them, or none.
///
/// A change that cannot be made is kept as the transaction's error, and those after it do nothing; so a closure that only
/// sets and removes needs no `try`.
public final class Edit {
  private let transaction: WriteTransaction
  private let group: String
  /// What kept a change from being made; the transaction will end with it.
  package private(set) var failure: VaultError?

  init(_ transaction: WriteTransaction, group: String) {
    self.transaction = transaction
    self.group = group
  }

  /// Sets `name` to `value`, as ``AccessGroup/set(_:to:_:ifVersion:)-(_,SecretValue,_,_)``.
  public func set(
    _ name: String, to value: some SecretValue, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    change { (transaction) throws(VaultError) in
      let name = try Item.Name(name)
      try details.validate()
      let new = NewValue(secret: try OpenedSecret(value), kind: value.secretKind)
      try run { () throws(GroupFileError) in
        _ = try transaction.set(name, to: new, details, ifVersion: expected)
      }
    }
  }

  /// Sets `name` to the bytes of `secret`.
  public func set(
    _ name: String, to secret: borrowing Secret, kind: SecretKind = .bytes, typeName: String? = nil,
    _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    let value = NewValue(secret: secret.opened, kind: kind, typeName: typeName)
    change { (transaction) throws(VaultError) in
      let name = try Item.Name(name)
      try details.validate()
      try run { () throws(GroupFileError) in
        _ = try transaction.set(name, to: value, details, ifVersion: expected)
      }
    }
  }

  /// Removes `name`, as ``AccessGroup/remove(_:ifVersion:)``.
  public func remove(_ name: String, ifVersion expected: UInt64? = nil) {
    change { (transaction) throws(VaultError) in
      let name = try Item.Name(name)
      try run { () throws(GroupFileError) in _ = try transaction.remove(name, ifVersion: expected) }
    }
  }

  /// Opens the secret of `name` as this transaction has left it.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and whatever kept an earlier change from being made.
  public func get(_ name: String) throws(VaultError) -> Secret { Secret(try opened(name).secret) }

  /// Opens the secret of `name` as this transaction has left it, and tells what there is to tell about it.
  ///
  /// - Throws: as ``get(_:)``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    let (stored, secret) = try opened(name)
    return OpenedItem(item: try Item(stored, in: transaction.view.state), secret: Secret(secret))
  }

  private func opened(_ name: String) throws(VaultError) -> (stored: StoredItem, secret: OpenedSecret) {
    if let failure { throw failure }
    let name = try Item.Name(name).description
    do {
      let stored = try transaction.present(name)
      return (stored, try transaction.view.secret(of: stored.row))
    } catch {
      throw VaultError(error, group: group)
    }
  }

  /// Keeps `error` as what keeps the transaction from being made.
  package func fail(_ error: VaultError) { failure = failure ?? error }

  /// Ends the edit: one that was kept beyond its transaction does nothing and says so.
  func end() { failure = failure ?? .unexpected("the transaction is over") }

  private func change(_ body: (WriteTransaction) throws(VaultError) -> Void) {
    guard failure == nil else { return }
    do { try body(transaction) } catch { failure = error }
  }

  private func run(_ body: () throws(GroupFileError) -> Void) throws(VaultError) {
    do { try body() } catch { throw VaultError(error, group: group) }
  }
}

extension AccessGroup {
  /// Makes all changes of `body` at once, signed and made durable once; other writers wait until it ends.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, or the ``VaultError`` of the first change that could not be made; nothing is changed
  ///   then.
  @discardableResult
  public func transaction<Result>(_ body: (Edit) throws -> Result) throws -> Result {
    let transaction: WriteTransaction
    do { transaction = try file.beginWriting() } catch { throw VaultError(error, group: name.description) }
    defer { transaction.rollback() }
    let edit = Edit(transaction, group: name.description)
    defer { edit.end() }
    let result = try body(edit)
    if let failure = edit.failure { throw failure }
    do { try transaction.commit() } catch { throw VaultError(error, group: name.description) }
    notices.post(transaction.view.notices, of: name)
    return result
  }
}

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

/// A value to be written: its bytes, and what they are.
struct NewValue {
  let secret: OpenedSecret
  let kind: SecretKind
  /// The name of an archived value's type.
  var typeName: String?
}

extension AccessGroup {
  /// Refuses what ``set(_:to:kind:typeName:_:ifVersion:)`` would refuse, and changes and locks nothing.
  package func rehearse(
    _ name: String, to secret: borrowing Secret, kind: SecretKind, typeName: String?, _ details: Details
  ) throws(VaultError) {
    let name = try Item.Name(name)
    try details.validate()
    let value = NewValue(secret: secret.opened, kind: kind, typeName: typeName)
    try reading { (transaction) throws(GroupFileError) in
      let old = try transaction.stored(name.description)
      let time = SystemClock.milliseconds()
      _ = try details.applied(to: old, name: name.description, value: value, at: time).encoded()
    }
  }

  /// - Throws: ``VaultError/denied(_:)`` for whoever may only read.
  package func requireWriter() throws(VaultError) {
    try reading { (transaction) throws(GroupFileError) in
      guard transaction.view.state.member.rights >= .write else { throw .readOnlyMember }
    }
  }
}

/// The changes of single items, inside a transaction.
extension WriteTransaction {
  /// Writes a new value, or with `secret` nil only new details over the present value.
  ///
  /// - Parameter token: that of the name, where it is known already.
  func set(
    _ name: Item.Name, to secret: NewValue?, _ details: Details, ifVersion expected: UInt64?, at token: Token? = nil
  ) throws(GroupFileError) -> UInt64 {
    let token = token ?? view.state.keys.token(of: name.description)
    let old = try stored(name.description, at: token)
    try require(expected, in: old)
    let attributes = details.applied(to: old, name: name.description, value: secret, at: time)
    if let secret { return try put(attributes, secret.secret, over: old?.row, at: token) }
    guard let old, old.isPresent else { throw .noItem }
    return try put(attributes, view.secret(of: old.row), over: old.row, at: token, keepsValue: true)
  }

  /// Writes a tombstone; the history stays.
  func remove(_ name: Item.Name, ifVersion expected: UInt64?) throws(GroupFileError) -> UInt64 {
    let old = try present(name.description)
    try require(expected, in: old)
    return try put(
      Attributes(name: name.description, created: old.attributes.created, changed: time, valueKind: 0), nil,
      over: old.row, at: old.row.token)
  }

  /// Writes the value and details of an older version anew; by default those of the last present one before a removal.
  ///
  /// - Returns: the new version's number; `nil` where the item is present and no version was named.
  func restore(_ name: Item.Name, version: UInt64?) throws(GroupFileError) -> UInt64? {
    let source: StoredItem
    if let version {
      source = try present(name.description, version: version)
    } else {
      let versions = try history(name.description)
      guard versions.first?.isPresent == false else { return nil }
      guard let last = versions.first(where: \.isPresent) else { throw .noItem }
      source = last
    }
    return try put(source.attributes, view.secret(of: source.row), keepsValue: true)
  }

  private func require(_ expected: UInt64?, in old: StoredItem?) throws(GroupFileError) {
    guard let expected else { return }
    let present = old.map { $0.isPresent ? $0.row.version : 0 } ?? 0
    guard present == expected else { throw .conflict(expected: expected, present: present) }
  }
}
