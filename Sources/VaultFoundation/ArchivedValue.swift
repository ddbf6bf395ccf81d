import Foundation
import SecureCoding
import Vault

/// A value to be stored in an item: a keyed archive, and the name of its type.
struct ArchivedValue {
  let data: Data
  private(set) var typeName: String

  /// A Swift value.
  init<Value: Encodable>(encoding value: Value, named name: String?) throws(VaultError) {
    do {
      data = try SecureArchiver.archivedData(encoding: value, named: name)
      typeName = try SecureUnarchiver(reading: data, allowing: []).typeName ?? ""
    } catch {
      throw .archive(error)
    }
  }

  /// An object, with the name of the class that it is archived as.
  init(object: NSObject) throws(VaultError) {
    try self.init(object: object, typeName: ClassNames.name(of: type(of: object)))
    if ClassNames.isFoundation(type(of: object)) { return }
    // A class may name another one for archives, or put another object, or none, in an object's place.
    typeName = try Self.found { () throws(ArchiveError) in
      try SecureUnarchiver(reading: data, allowing: []).rootClassName
    }
  }

  init<Object: NSObject>(objects: [Object]) throws(VaultError) {
    try self.init(object: objects, typeName: Self.arrayName(of: Object.self))
  }

  init<Object: NSObject>(objects: [String: Object]) throws(VaultError) {
    try self.init(object: objects, typeName: Self.dictionaryName(of: Object.self))
  }

  /// An object, or a container of objects.
  init(object: Any, typeName: String) throws(VaultError) {
    do { data = try SecureArchiver.archivedData(withRootObject: object) } catch { throw .archive(error) }
    self.typeName = typeName
  }

  /// The names of the types of containers of objects of class `type`.
  static func arrayName(of type: AnyClass) -> String { "[\(ClassNames.name(of: type))]" }
  static func dictionaryName(of type: AnyClass) -> String { "\(dictionaryPrefix)\(ClassNames.name(of: type))]" }
  static let dictionaryPrefix = "[String: "

  /// The Swift value in an archive. An optional is archived like the value in it, so each is read as the other.
  static func decoded<Value: Decodable>(
    _ type: Value.Type, named name: String? = nil, from data: Data
  ) throws(ArchiveError) -> Value {
    do throws(ArchiveError) { return try SecureUnarchiver.decoded(type, named: name, from: data) } catch {
      guard name == nil, case .otherType(let found, let expected) = error,
        found == "Swift.Optional<\(expected)>" || expected == "Swift.Optional<\(found)>",
        let value = try? SecureUnarchiver.decoded(type, named: found, from: data)
      else { throw error }
      return value
    }
  }

  /// What `read` finds at the root of an archive, which must not be nil.
  static func found<Value>(_ read: () throws(ArchiveError) -> Value?) throws(VaultError) -> Value {
    let value: Value?
    do { value = try read() } catch { throw VaultError(refusing: error) }
    guard let value else { throw .archive(.missingValue(at: ArchivePath([.key("root")]))) }
    return value
  }

  /// The archive in guarded memory.
  func secret() throws(VaultError) -> Secret { try Secret(data) }
}

extension AccessGroup {
  func set(
    _ name: String, _ value: ArchivedValue, _ details: Details, _ expected: UInt64?
  ) throws(VaultError) -> UInt64 {
    try set(
      name, to: value.secret(), kind: .archive, typeName: value.typeName, details, ifVersion: expected)
  }
}

extension VaultError {
  /// Translates a stored archive's error for a caller who requested a type.
  init(refusing error: ArchiveError) {
    if case .otherType(let found, let expected) = error {
      self = .otherType(found: found, expected: expected)
    } else {
      self = .archive(error)
    }
  }
}
