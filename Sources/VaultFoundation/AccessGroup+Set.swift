public import Foundation
public import Vault

extension AccessGroup {
  /// Sets `name` to a text, data, number, boolean, date, URL or UUID, which every program can read.
  ///
  /// - Returns: the new version's number.
  /// - Throws: ``VaultError/invalid(_:)`` for a date without a textual form; otherwise the errors of
  ///   ``AccessGroup/set(_:to:kind:typeName:_:ifVersion:)``.
  @discardableResult
  public func set<Value: SecretScalar>(
    _ name: String, to value: Value, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try value.requireReadable()
    return try set(name, to: Secret(value), kind: Value.secretKind, details, ifVersion: expected)
  }

  /// Sets `name` to a Swift value, as a keyed archive with the name of its type.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - value: a structure, an enumeration, or an array or dictionary of these.
  ///   - typeName: the name of the type in the archive. Private, local and generic types need one.
  ///   - details: label, attributes and expiry; by default label and attributes are kept.
  ///   - expected: the version that must be the current one; 0 if the item must not exist.
  /// - Returns: the new version's number.
  /// - Throws: ``VaultError/archive(_:)``; otherwise the errors of
  ///   ``AccessGroup/set(_:to:kind:typeName:_:ifVersion:)``.
  @discardableResult
  public func set<Value: Encodable>(
    _ name: String, to value: Value, named typeName: String? = nil, _ details: Details = Details(),
    ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    // Generic code does not know that its value is a text or a number, but a reader may request it as one.
    if typeName == nil, let scalar = value as? any SecretScalar {
      return try set(name, to: scalar, details, ifVersion: expected)
    }
    return try set(name, ArchivedValue(encoding: value, named: typeName), details, expected)
  }

  /// Sets `name` to an object, as a keyed archive that its class's `encode(with:)` writes.
  ///
  /// - Throws: ``VaultError/archive(_:)``.
  @discardableResult
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to object: Object, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, ArchivedValue(object: object), details, expected)
  }

  /// Sets `name` to an object whose class supports both codings: its `encode(with:)` is used.
  @discardableResult
  public func set<Object: NSObject & NSSecureCoding & Encodable>(
    _ name: String, to object: Object, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, ArchivedValue(object: object), details, expected)
  }

  /// Sets `name` to an array of objects. An object that occurs several times is stored once.
  @discardableResult
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, ArchivedValue(objects: objects), details, expected)
  }

  /// Sets `name` to a dictionary of objects.
  @discardableResult
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [String: Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, ArchivedValue(objects: objects), details, expected)
  }

  /// Sets `name` to a dictionary of any values, if all of them can be archived. ``get(_:ofClasses:matching:version:)``
  /// reads it.
  ///
  /// - Throws: ``VaultError/archive(_:)`` with the path to a value that cannot be archived.
  @discardableResult
  public func set(
    _ name: String, to values: [String: Any], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) -> UInt64 {
    try set(name, ArchivedValue(object: values, typeName: "[String: Any]"), details, expected)
  }
}

extension Edit {
  /// Sets `name` to a Swift value in this transaction, like ``AccessGroup/set(_:to:named:_:ifVersion:)``.
  ///
  /// - Throws: ``VaultError/archive(_:)``. If the error is caught, the transaction continues without this change.
  public func set<Value: Encodable>(
    _ name: String, to value: Value, named typeName: String? = nil, _ details: Details = Details(),
    ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    // As in a group's own call.
    if typeName == nil, let scalar = value as? any SecretScalar {
      try scalar.requireReadable()
      return set(name, to: scalar, details, ifVersion: expected)
    }
    try set(name, ArchivedValue(encoding: value, named: typeName), details, expected)
  }

  /// Sets `name` to a text, data, number, boolean, date, URL or UUID in this transaction.
  public func set<Value: SecretScalar>(
    _ name: String, to value: Value, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    do { try value.requireReadable() } catch { return fail(error) }
    // Only known as a `SecretValue`, so that the overload for `Encodable` is not chosen.
    func set(_ value: some SecretValue) { self.set(name, to: value, details, ifVersion: expected) }
    set(value)
  }

  /// Sets `name` to an object in this transaction.
  ///
  /// - Throws: ``VaultError/archive(_:)``. If the error is caught, the transaction continues without this change.
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to object: Object, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    try set(name, ArchivedValue(object: object), details, expected)
  }

  /// Sets `name` to an array of objects in this transaction.
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    try set(name, ArchivedValue(objects: objects), details, expected)
  }

  /// Sets `name` to a dictionary of objects in this transaction.
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [String: Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    try set(name, ArchivedValue(objects: objects), details, expected)
  }

  private func set(
    _ name: String, _ value: ArchivedValue, _ details: Details, _ expected: UInt64?
  ) throws(VaultError) {
    set(name, to: try value.secret(), kind: .archive, typeName: value.typeName, details, ifVersion: expected)
  }
}
