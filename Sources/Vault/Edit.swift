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
