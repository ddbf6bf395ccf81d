public import Foundation
public import Vault

extension Edit {
  /// Sets `name` to a Swift value in this transaction, like ``AccessGroup/set(_:to:named:_:ifVersion:)``.
  ///
  /// - Throws: ``VaultError/archive(_:)``. If the error is caught, the transaction continues without this change.
  public func set<Value: Encodable>(
    _ name: String, to value: Value, named typeName: String? = nil, _ details: Details = Details(),
    ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    try set(name, ArchivedValue(encoding: value, named: typeName), details, expected)
  }

  /// Sets `name` to a text, data, number, boolean, date, URL or UUID in this transaction.
  public func set<Value: SecretScalar>(
    _ name: String, to value: Value, _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) {
    guard value.isReadable else { return fail(Value.unreadable) }
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
    let typeName = ArchivedValue.name(of: type(of: object))
    try set(name, ArchivedValue(object: object, typeName: typeName), details, expected)
  }

  /// Sets `name` to an array of objects in this transaction.
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    try set(
      name, ArchivedValue(object: objects, typeName: "[\(ArchivedValue.name(of: Object.self))]"), details, expected)
  }

  /// Sets `name` to a dictionary of objects in this transaction.
  public func set<Object: NSObject & NSSecureCoding>(
    _ name: String, to objects: [String: Object], _ details: Details = Details(), ifVersion expected: UInt64? = nil
  ) throws(VaultError) {
    let typeName = "[String: \(ArchivedValue.name(of: Object.self))]"
    try set(name, ArchivedValue(object: objects, typeName: typeName), details, expected)
  }

  private func set(
    _ name: String, _ value: ArchivedValue, _ details: Details, _ expected: UInt64?
  ) throws(VaultError) {
    set(name, to: try value.secret(), kind: .archive, typeName: value.typeName, details, ifVersion: expected)
  }
}
