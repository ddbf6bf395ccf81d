public import Foundation
public import SecureCoding
public import Vault

extension AccessGroup {
  /// The text, data, number, boolean, date, URL or UUID in the item `name`.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - type: the required type.
  ///   - version: a kept version; `nil` for the current one.
  /// - Throws: ``VaultError/otherType(found:expected:)`` if the item has another type; otherwise the errors of
  ///   ``AccessGroup/get(_:version:)``.
  public func get<Value: SecretScalar>(
    _ name: String, as type: Value.Type, version: UInt64? = nil
  ) throws(VaultError) -> Value {
    try open(name, version: version).scalar(as: type)
  }

  /// The Swift value in the item `name`.
  ///
  /// What was written as an optional is read as the type in it, and in reverse. An item of kind ``SecretKind/json`` is
  /// decoded with a `JSONDecoder` without any settings.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - type: its type, which is the only one allowed in the archive.
  ///   - typeName: the name under which the type was archived, if it differs from the type's own. With a name, only
  ///     an archive is read.
  ///   - version: a kept version; `nil` for the current one.
  /// - Throws: ``VaultError/otherType(found:expected:)``, ``VaultError/archive(_:)``.
  public func get<Value: Decodable>(
    _ name: String, as type: Value.Type, named typeName: String? = nil, version: UInt64? = nil
  ) throws(VaultError) -> Value {
    try open(name, version: version).value(as: type, named: typeName)
  }

  /// The object in the item `name`.
  ///
  /// - Parameters:
  ///   - name: the item's name.
  ///   - type: the object's class.
  ///   - allowed: other classes that its archive may contain. No other class is built.
  ///   - matching: how each decoding call compares classes. ``ClassMatching/asOnApple`` suits initializers that call
  ///     `decodeObject(forKey:)` without naming a class.
  ///   - version: a kept version; `nil` for the current one.
  /// - Throws: ``VaultError/otherType(found:expected:)``, ``VaultError/archive(_:)``.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: Object.Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> Object {
    try open(name, version: version).object(as: type, allowed, matching)
  }

  /// The object in the item `name`, for a class that supports both codings: its `init(coder:)` is used.
  public func get<Object: NSObject & NSSecureCoding & Decodable>(
    _ name: String, as type: Object.Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> Object {
    try open(name, version: version).object(as: type, allowed, matching)
  }

  /// The object in the item `name`, with other names for its classes, for archives that other programs made or that were
  /// made before a class was renamed. If it is an array or another container, all allowed classes may be in it.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: Object.Type, allowing allowed: AllowedClasses, matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> Object {
    try open(name, version: version).object(as: type, allowed, matching)
  }

  /// The array of objects in the item `name`: of class `Object`, or of a class in `allowed` that inherits from it.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [Object].Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> [Object] {
    try open(name, version: version).objects(of: Object.self, allowed, matching)
  }

  /// The array of objects in the item `name`, with other names for their classes, such as those from before they were
  /// renamed.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [Object].Type, allowing allowed: AllowedClasses, matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> [Object] {
    try open(name, version: version).objects(of: Object.self, allowed, matching)
  }

  /// The dictionary of objects in the item `name`: of class `Object`, or of a class in `allowed` that inherits from it.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [String: Object].Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> [String: Object] {
    try open(name, version: version).objectsByName(of: Object.self, allowed, matching)
  }

  /// The dictionary of objects in the item `name`, with other names for their classes, such as those from before they were
  /// renamed.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [String: Object].Type, allowing allowed: AllowedClasses, matching: ClassMatching = .exact,
    version: UInt64? = nil
  ) throws(VaultError) -> [String: Object] {
    try open(name, version: version).objectsByName(of: Object.self, allowed, matching)
  }

  /// The content of the item `name`, with objects of `classes` at any depth.
  ///
  /// - Throws: ``VaultError/otherType(found:expected:)``, ``VaultError/archive(_:)``.
  public func get(
    _ name: String, ofClasses classes: [AnyClass], matching: ClassMatching = .exact, version: UInt64? = nil
  ) throws(VaultError) -> Any {
    let data = try open(name, version: version).archive(expecting: "archive") { _ in true }
    return try ArchivedValue.found { () throws(ArchiveError) in
      try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: data, matching: matching)
    }
  }
}

extension Edit {
  /// The text, data, number, boolean, date, URL or UUID in the item `name`, as of this point in the transaction.
  ///
  /// - Throws: as ``AccessGroup/get(_:as:version:)``, and the error of an earlier change that failed.
  public func get<Value: SecretScalar>(_ name: String, as type: Value.Type) throws(VaultError) -> Value {
    try open(name).scalar(as: type)
  }

  /// The Swift value in the item `name`, as of this point in the transaction.
  ///
  /// - Throws: as ``AccessGroup/get(_:as:named:version:)``, and the error of an earlier change that failed.
  public func get<Value: Decodable>(
    _ name: String, as type: Value.Type, named typeName: String? = nil
  ) throws(VaultError) -> Value {
    try open(name).value(as: type, named: typeName)
  }

  /// The object in the item `name`, as of this point in the transaction.
  ///
  /// - Throws: as the same call of ``AccessGroup``, and the error of an earlier change that failed.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: Object.Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact
  ) throws(VaultError) -> Object {
    try open(name).object(as: type, allowed, matching)
  }

  /// The object in the item `name`, for a class that supports both codings: its `init(coder:)` is used.
  public func get<Object: NSObject & NSSecureCoding & Decodable>(
    _ name: String, as type: Object.Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact
  ) throws(VaultError) -> Object {
    try open(name).object(as: type, allowed, matching)
  }

  /// The array of objects in the item `name`, as of this point in the transaction.
  ///
  /// - Throws: as the same call of ``AccessGroup``, and the error of an earlier change that failed.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [Object].Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact
  ) throws(VaultError) -> [Object] {
    try open(name).objects(of: Object.self, allowed, matching)
  }

  /// The dictionary of objects in the item `name`, as of this point in the transaction.
  ///
  /// - Throws: as the same call of ``AccessGroup``, and the error of an earlier change that failed.
  public func get<Object: NSObject & NSSecureCoding>(
    _ name: String, as type: [String: Object].Type, allowing allowed: [AnyClass] = [], matching: ClassMatching = .exact
  ) throws(VaultError) -> [String: Object] {
    try open(name).objectsByName(of: Object.self, allowed, matching)
  }
}
