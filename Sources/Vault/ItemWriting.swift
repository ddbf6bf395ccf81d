internal import GroupFile

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
