import Foundation
import SecureCoding
import Vault

/// The value of an opened item, as one of Swift's types.
extension OpenedItem {
  /// A Swift value: a scalar, JSON, or an archive of the type with this name.
  func value<Value: Decodable>(as type: Value.Type, named typeName: String?) throws(VaultError) -> Value {
    if typeName == nil, let scalar = scalarType(for: type), let value = try self.scalar(as: scalar) as? Value {
      return value
    }
    if typeName == nil, item.kind == .json { return try json(as: type) }
    // Objects of a class that has both codings were archived by their `encode(with:)`.
    if typeName == nil, item.typeName?.hasPrefix("[") == true, let container = type as? any ObjectContainer.Type,
      let value = try container.read(self) as? Value
    {
      return value
    }
    let data = try archive(expecting: typeName ?? ClassNames.name(of: type))
    do { return try ArchivedValue.decoded(type, named: typeName, from: data) } catch {
      throw VaultError(refusing: error)
    }
  }

  /// An object of class `type`, or of an allowed class that inherits from it.
  func object<Object: NSObject & NSSecureCoding>(
    as type: Object.Type, _ allowed: [AnyClass], _ matching: ClassMatching
  ) throws(VaultError) -> Object {
    // A container was stored with the class of its elements, which may have had another name then.
    let data = try archive(expecting: ClassNames.name(of: type)) { stored in
      let isDictionary = stored.hasPrefix(ArchivedValue.dictionaryPrefix)
      return type == (isDictionary ? NSDictionary.self : NSArray.self)
    }
    return try ArchivedValue.found { () throws(ArchiveError) in
      let found = try SecureUnarchiver.unarchivedObject(ofClasses: [type] + allowed, from: data, matching: matching)
      return try Self.typed(found, as: type)
    }
  }

  /// The same with other names for the allowed classes, in any archive.
  func object<Object: NSObject & NSSecureCoding>(
    as type: Object.Type, _ allowed: AllowedClasses, _ matching: ClassMatching
  ) throws(VaultError) -> Object {
    let data = try archive(expecting: ClassNames.name(of: type)) { _ in true }
    return try ArchivedValue.found { () throws(ArchiveError) in
      let reader = try SecureUnarchiver(reading: data, allowing: allowed, matching: matching)
      return try Self.typed(try reader.decode([type] + allowed.classes, forKey: "root"), as: type)
    }
  }

  /// What was found in an archive. An allowed class may also be at the top if it is an `Object`: a subclass, or the
  /// elements of a container.
  private static func typed<Object: NSObject>(_ found: Any?, as type: Object.Type) throws(ArchiveError) -> Object? {
    guard let found else { return nil }
    guard let object = found as? Object else {
      throw .otherType(found: ClassNames.name(of: Swift.type(of: found)), expected: ClassNames.name(of: type))
    }
    return object
  }

  /// An array of objects of class `type`, or of allowed classes that inherit from it.
  func objects<Object: NSObject & NSSecureCoding>(
    of type: Object.Type, _ allowed: [AnyClass], _ matching: ClassMatching
  ) throws(VaultError) -> [Object] {
    let names = ([type] + allowed.filter { $0 is Object.Type }).map(ArchivedValue.arrayName)
    let data = try archive(expecting: names[0], names.contains)
    return try ArchivedValue.found { () throws(ArchiveError) in
      try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: type, allowing: allowed, from: data, matching: matching)
    }
  }

  /// The same with other names for the allowed classes, in any archive.
  func objects<Object: NSObject & NSSecureCoding>(
    of type: Object.Type, _ allowed: AllowedClasses, _ matching: ClassMatching
  ) throws(VaultError) -> [Object] {
    let data = try archive(expecting: ArchivedValue.arrayName(of: type)) { _ in true }
    return try ArchivedValue.found { () throws(ArchiveError) in
      let reader = try SecureUnarchiver(reading: data, allowing: allowed, matching: matching)
      return try reader.rootArray(of: type, [type] + allowed.classes)
    }
  }

  /// A dictionary of objects of class `type`, or of allowed classes that inherit from it.
  func objectsByName<Object: NSObject & NSSecureCoding>(
    of type: Object.Type, _ allowed: [AnyClass], _ matching: ClassMatching
  ) throws(VaultError) -> [String: Object] {
    let names = ([type] + allowed.filter { $0 is Object.Type }).map(ArchivedValue.dictionaryName)
    let data = try archive(expecting: names[0], names.contains)
    return try Self.namedByStrings { () throws(ArchiveError) in
      try SecureUnarchiver.unarchivedDictionary(
        ofKeyClass: NSString.self, objectClass: type, allowing: allowed, from: data, matching: matching)
    }
  }

  /// The same with other names for the allowed classes, in any archive.
  func objectsByName<Object: NSObject & NSSecureCoding>(
    of type: Object.Type, _ allowed: AllowedClasses, _ matching: ClassMatching
  ) throws(VaultError) -> [String: Object] {
    let data = try archive(expecting: ArchivedValue.dictionaryName(of: type)) { _ in true }
    return try Self.namedByStrings { () throws(ArchiveError) in
      let reader = try SecureUnarchiver(reading: data, allowing: allowed, matching: matching)
      return try reader.rootDictionary(of: NSString.self, type, [type] + allowed.classes)
    }
  }

  private static func namedByStrings<Object>(
    _ read: () throws(ArchiveError) -> [NSString: Object]?
  ) throws(VaultError) -> [String: Object] {
    let objects = try ArchivedValue.found(read)
    return Dictionary(
      objects.map { (String(describing: $0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }

  /// The type of scalar to read a value of `type` from; nil if it is not read from a scalar.
  private func scalarType(for type: Any.Type) -> (any SecretScalar.Type)? {
    if let scalar = type as? any SecretScalar.Type { return scalar }
    // A set of an optional writes the scalar in it; only nil is an archive.
    return item.kind == .archive ? nil : (type as? any OptionalType.Type)?.scalarType
  }

  /// - Throws: ``VaultError/otherType(found:expected:)`` if the item has another type.
  func scalar<Value: SecretScalar>(as type: Value.Type) throws(VaultError) -> Value {
    // A scalar may also have been archived: by another program, or by an earlier build.
    if item.kind == .archive, let value = try? ArchivedValue.decoded(type, from: data) { return value }
    guard item.kind == Value.secretKind else {
      throw .otherType(found: item.typeName ?? item.kind.name, expected: Value.secretKind.name)
    }
    let value = unsafe secret.withUnsafeBytes { unsafe Value(secretBytes: $0) }
    if let value { return value }
    // A number may be too large for the type.
    if [.int, .double].contains(item.kind), let text = secret.exportInsecurelyAsString(),
      (try? ValueText.canonical(text, item.kind)) != nil
    {
      throw .otherType(found: item.kind.name, expected: ClassNames.name(of: type))
    }
    throw .otherType(found: "bytes", expected: Value.secretKind.name)
  }

  /// - Parameters:
  ///   - expected: the name of the wanted type.
  ///   - accepts: whether a container that was stored with this type is as good.
  /// - Throws: ``VaultError/otherType(found:expected:)`` if the item has another type.
  func archive(
    expecting expected: String, _ accepts: (String) -> Bool = { _ in false }
  ) throws(VaultError) -> Data {
    guard item.kind == .archive else { throw .otherType(found: item.kind.name, expected: expected) }
    // The library records which containers it stored. For others, only the archive knows.
    if let found = item.typeName, found.hasPrefix("["), found != expected, !accepts(found) {
      throw .otherType(found: found, expected: expected)
    }
    return data
  }

  /// - Throws: ``VaultError/otherType(found:expected:)`` if the JSON text does not decode.
  private func json<Value: Decodable>(as type: Value.Type) throws(VaultError) -> Value {
    // The decoder's own error may contain values.
    do { return try JSONDecoder().decode(CheckedValue<Value>.self, from: data).value } catch {
      throw .otherType(found: item.kind.name, expected: ClassNames.name(of: type))
    }
  }

  /// The value's bytes in ordinary memory.
  private var data: Data { unsafe secret.withUnsafeBytes { unsafe Data($0) } }
}

/// An optional whose type is known only at run time.
private protocol OptionalType {
  /// The scalar inside, at any depth.
  static var scalarType: (any SecretScalar.Type)? { get }
}

extension Optional: OptionalType {
  fileprivate static var scalarType: (any SecretScalar.Type)? {
    Wrapped.self as? any SecretScalar.Type ?? (Wrapped.self as? any OptionalType.Type)?.scalarType
  }
}

/// A container of objects whose class is known only at run time.
private protocol ObjectContainer {
  static func read(_ item: borrowing OpenedItem) throws(VaultError) -> Self
}

extension Array: ObjectContainer where Element: NSObject & NSSecureCoding {
  fileprivate static func read(_ item: borrowing OpenedItem) throws(VaultError) -> [Element] {
    try item.objects(of: Element.self, [], .exact)
  }
}

extension Dictionary: ObjectContainer where Key == String, Value: NSObject & NSSecureCoding {
  fileprivate static func read(_ item: borrowing OpenedItem) throws(VaultError) -> [String: Value] {
    try item.objectsByName(of: Value.self, [], .exact)
  }
}
