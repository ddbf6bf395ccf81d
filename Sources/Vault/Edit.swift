public import GroupFile

/// The changes of one transaction: all of them are made, or none.
///
/// The first change that fails sets the transaction's error, and later changes do nothing; so a closure that only sets
/// and removes needs no `try`. An edit cannot be copied, so nobody can keep it beyond its transaction.
public struct Edit: ~Copyable {
  private final class Outcome { var failure: VaultError? }

  private let transaction: WriteTransaction
  private let group: String
  private let outcome = Outcome()

  /// The error of the first change that failed; the transaction will throw it.
  package var failure: VaultError? { outcome.failure }

  init(_ transaction: WriteTransaction, group: String) { (self.transaction, self.group) = (transaction, group) }

  /// Sets `name` to `value`, as ``AccessGroup/set(_:to:_:ifVersion:)-(_,SecretValue,_,_)``.
  public func set(
    _ name: String, to value: some SecretValue, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    guard failure == nil else { return }
    do {
      set(name, NewValue(secret: try OpenedSecret(value), kind: value.secretKind), details, ifVersion: expected)
    } catch {
      outcome.failure = error
    }
  }

  /// Sets `name` to the bytes of `secret`, which has no type: a text needs `kind: .string`.
  public func set(
    _ name: String, to secret: borrowing Secret, kind: SecretKind = .bytes, typeName: String? = nil,
    _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    set(name, NewValue(secret: secret.opened, kind: kind, typeName: typeName), details, ifVersion: expected)
  }

  /// Sets `name` as the public call does, and drops versions although the group would keep them.
  ///
  /// - Parameter oldest: the oldest version to keep; the new one is kept in any case.
  package func set(
    _ name: String, to secret: borrowing Secret, kind: SecretKind, _ details: Details, droppingBelow oldest: UInt64
  ) {
    set(name, NewValue(secret: secret.opened, kind: kind), details, droppingBelow: oldest)
  }

  private func set(
    _ name: String, _ value: NewValue?, _ details: Details, ifVersion expected: UInt64? = nil,
    droppingBelow oldest: UInt64 = 0
  ) {
    change(name, checking: details) { (transaction, name) throws(VaultError) in
      _ = try transaction.set(name, to: value, details, ifVersion: expected, droppingBelow: oldest)
    }
  }

  /// Changes the item's details, as ``AccessGroup/change(_:_:ifVersion:)``.
  package func change(_ name: String, _ details: Details) { set(name, nil, details) }

  /// Writes an older version again, as ``AccessGroup/restore(_:version:)``.
  package func restore(_ name: String, version: UInt64) {
    change(name) { (transaction, name) throws(VaultError) in _ = try transaction.restore(name, version: version) }
  }

  /// Removes the item with its history, but for some versions, which are written again, oldest first.
  ///
  /// - Parameter kept: numbers of versions that have values, rising.
  package func destroy(_ name: String, keeping kept: [UInt64] = []) {
    change(name) { (transaction, name) throws(VaultError) in try transaction.destroy(name.description, keeping: kept) }
  }

  /// The state that the transaction has made so far.
  package var state: OneState { OneState(transaction, group: group) }

  /// Removes `name`, as ``AccessGroup/remove(_:ifVersion:)``.
  public func remove(_ name: String, ifVersion expected: UInt64? = nil) {
    change(name) { (transaction, name) throws(VaultError) in _ = try transaction.remove(name, ifVersion: expected) }
  }

  /// Opens the secret of `name` as of this point in the transaction.
  ///
  /// - Throws: ``VaultError/notFound(_:)``, and the error of an earlier change that failed.
  public func get(_ name: String) throws(VaultError) -> Secret { Secret(try open(name).secret.opened) }

  /// Opens the secret of `name` as of this point in the transaction, and returns it with the item's metadata.
  ///
  /// - Throws: as ``get(_:)``.
  public func open(_ name: String) throws(VaultError) -> OpenedItem {
    if let failure { throw failure }
    return try state.open(name)
  }

  /// Makes the transaction fail with `error`, unless it has failed already.
  package func fail(_ error: VaultError) { outcome.failure = failure ?? error }

  private func change(
    _ name: String, checking details: Details? = nil, _ body: (WriteTransaction, Item.Name) throws(VaultError) -> Void
  ) {
    guard failure == nil else { return }
    do {
      let name = try Item.Name(name)
      try details?.validate()
      try inGroup(group, body(transaction, name))
    } catch {
      outcome.failure = error
    }
  }
}

extension AccessGroup {
  /// Makes all changes of `body` in one transaction, signed and synced once; other writers wait until it ends.
  ///
  /// In a published group, transactions of several threads share a commit, and `body` is called again if another host
  /// was faster, another thread's change failed half done, or the commit failed before it was sent. There it must not
  /// wait for changes of other threads.
  ///
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, or the ``VaultError`` of the first change that failed; the group is unchanged then.
  ///   Inside `body`, the group's own calls that change it throw ``VaultError/invalid(_:)``.
  @discardableResult
  public func transaction<Result>(_ body: (borrowing Edit) throws -> Result) throws -> Result {
    try observed(.write) {
      try changing(isRepeatable: false) { transaction in
        let edit = Edit(transaction, group: name.description)
        let result = try body(edit)
        if let failure = edit.failure { throw failure }
        return result
      }
    }
  }

  /// Sets many items in one transaction, signed and synced once: for imports of any size.
  ///
  /// The items are written in the order of the file, so each of a million costs little more than a single one. If two
  /// items have the same name, both are written, and the later one is the newer version.
  ///
  /// - Parameter items: names and values. The collection is traversed twice, and one value is held in memory at a time.
  /// - Throws: the error of the first item that cannot be set, and ``VaultError/invalid(_:)`` if a name differs the second
  ///   time, as a lazy collection's may; the group is unchanged then.
  @inlinable
  public func set<Items: RandomAccessCollection, Value: SecretValue>(
    contentsOf items: Items
  ) throws(VaultError) where Items.Element == (name: String, value: Value) {
    // Inlinable, so that the caller's module reads its own collection, and everything else is not generic.
    try unsafe set(
      count: items.count, name: { position in items[items.index(items.startIndex, offsetBy: position)].name },
      lend: { position, take in
        let item = items[items.index(items.startIndex, offsetBy: position)]
        unsafe item.value.withSecretBytes { unsafe take(item.name, item.value.secretKind, $0) }
      })
  }

  @usableFromInline
  func set(
    count: Int, name nameOfItem: (Int) -> String,
    lend: (Int, (String, SecretKind, UnsafeRawBufferPointer) -> Void) -> Void
  ) throws(VaultError) {
    try writing(isRepeatable: false) { (transaction) throws(VaultError) in
      for (token, position) in try order(count, nameOfItem, in: transaction) {
        var outcome: Result<Void, VaultError> = .failure(.unexpected("a value that does not lend its bytes"))
        unsafe lend(position) { (name, kind, bytes) in
          outcome = Result { () throws(VaultError) in
            let name = try Item.Name(name)
            guard transaction.view.state.keys.token(of: name.description) == token else {
              throw .invalid("the names of a collection must not change while it is read")
            }
            let value = NewValue(secret: try unsafe OpenedSecret(copying: bytes), kind: kind)
            _ = try transaction.set(name, to: value, Details(), ifVersion: nil, at: token)
          }
        }
        try outcome.get()
      }
    }
  }

  /// The tokens and positions of items, sorted by token; equal names keep their order.
  private func order(
    _ count: Int, _ name: (Int) -> String, in transaction: WriteTransaction
  ) throws(VaultError) -> [(token: Token, position: Int)] {
    var tokens = TokenQueue(transaction.view.state.keys, count: count)
    for position in 0..<count { tokens.add(try Item.Name(name(position)).description) }
    return try tokens.finish().sortedPositions()
  }

  /// Throws the errors that ``set(_:to:kind:typeName:_:ifVersion:)`` would throw, without changing or locking anything.
  package func rehearse(
    _ name: String, to secret: borrowing Secret, kind: SecretKind, typeName: String?, _ details: Details
  ) throws(VaultError) {
    let name = try Item.Name(name)
    try details.validate()
    let value = NewValue(secret: secret.opened, kind: kind, typeName: typeName)
    try reading { (transaction) throws(VaultError) in
      let old = try transaction.stored(name.description)
      let time = SystemClock.milliseconds()
      _ = try details.applied(to: old, name: name.description, value: value, at: time).encoded()
    }
  }

  /// - Throws: ``VaultError/denied(_:)`` for a member that may only read.
  package func requireWriter() throws(VaultError) {
    try reading { (transaction) throws(VaultError) in try transaction.view.state.requireWriter() }
  }
}

/// A value to be written: its bytes and their kind.
struct NewValue {
  let secret: OpenedSecret
  let kind: SecretKind
  var typeName: String?
}

extension WriteTransaction {
  /// Sets `name` to bytes that are not secret, for the store's own groups.
  func set(
    _ bytes: [UInt8], at name: String, kind: SecretKind = .bytes, ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    let value = NewValue(secret: try OpenedSecret(bytes), kind: kind)
    _ = try set(try Item.Name(name), to: value, Details(), ifVersion: expected)
  }

  /// Writes a new value; if `secret` is nil, writes only new details for the current value.
  func set(
    _ name: Item.Name, to secret: NewValue?, _ details: Details, ifVersion expected: UInt64?, at token: Token? = nil,
    droppingBelow oldest: UInt64 = 0
  ) throws(VaultError) -> UInt64 {
    let token = token ?? view.state.keys.token(of: name.description)
    if let done = try answered(at: token) { return done }
    let old = try stored(name.description, at: token)
    try require(expected, in: old)
    let attributes = details.applied(to: old, name: name.description, value: secret, at: time)
    if let secret { return try put(attributes, secret.secret, over: old?.row, at: token, droppingBelow: oldest) }
    guard let old, old.isPresent else { throw .notFound(.item) }
    return try put(attributes, view.secret(of: old.row), over: old.row, at: token, keepsValue: true)
  }

  /// Writes a tombstone; the history is kept.
  func remove(_ name: Item.Name, ifVersion expected: UInt64?) throws(VaultError) -> UInt64 {
    if let done = try answered(at: view.state.keys.token(of: name.description)) { return done }
    let old = try present(name.description)
    try require(expected, in: old)
    return try put(
      Attributes(name: name.description, created: old.attributes.created, changed: time, valueKind: 0), nil,
      over: old.row, at: old.row.token)
  }

  /// Writes the value and details of an older version again; by default those of the last version before a removal.
  ///
  /// - Returns: the new version's number; `nil` if the item is present and `version` is nil.
  func restore(_ name: Item.Name, version: UInt64?) throws(VaultError) -> UInt64? {
    if let done = try answered(at: view.state.keys.token(of: name.description)) { return done }
    var version = version
    if version == nil {
      let versions = try history(name.description)
      guard versions.first?.isPresent == false else { return nil }
      guard let last = versions.first(where: \.isPresent) else { throw .notFound(.item) }
      version = last.row.version
    }
    let (source, secret) = try opened(name.description, version: version)
    return try put(source.attributes, secret, keepsValue: true)
  }

  /// Ends the item's history, and writes the versions `kept` again.
  fileprivate func destroy(_ name: String, keeping kept: [UInt64]) throws(VaultError) {
    guard try answered(at: view.state.keys.token(of: name)) == nil else { return }
    let values = try kept.map { (version) throws(VaultError) in try opened(name, version: version) }
    try destroy(name)
    for (item, secret) in values { try put(item.attributes, secret, keepsValue: true) }
  }

  private func require(_ expected: UInt64?, in old: StoredItem?) throws(VaultError) {
    guard let expected else { return }
    let present = old.map { $0.isPresent ? $0.row.version : 0 } ?? 0
    guard present == expected else { throw .conflict(expected: expected, present: present) }
  }
}
