import Foundation
import SecureCoding
import Vault

/// A value to be stored in an item: a keyed archive, and the name of its type.
struct ArchivedValue {
  let data: Data
  let typeName: String

  /// A Swift value.
  init<Value: Encodable>(encoding value: Value, named name: String?) throws(VaultError) {
    do {
      data = try SecureArchiver.archivedData(encoding: value, named: name)
      typeName = try SecureUnarchiver(reading: data, allowing: []).typeName ?? ""
    } catch {
      throw .archive(error)
    }
  }

  /// An object, or a container of objects.
  init(object: Any, typeName: String) throws(VaultError) {
    do { data = try SecureArchiver.archivedData(withRootObject: object) } catch { throw .archive(error) }
    self.typeName = typeName
  }

  /// The name under which objects of `type` are archived.
  static func name(of type: Any.Type) -> String {
    let name = _typeName(type, qualified: true)
    return name.hasPrefix("Foundation.") ? String(name.dropFirst("Foundation.".count)) : name
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

  /// The archive in the item.
  ///
  /// - Throws: ``VaultError/otherType(found:expected:)`` if the item has another type.
  func archive(_ name: String, _ version: UInt64?, expecting expected: String) throws(VaultError) -> Data {
    let opened = try open(name, version: version)
    guard opened.item.kind == .archive else {
      throw .otherType(found: opened.item.kind.name, expected: expected)
    }
    // The library records which containers it stored. For others, only the archive knows.
    if let found = opened.item.typeName, found.hasPrefix("["), expected != "archive", found != expected {
      throw .otherType(found: found, expected: expected)
    }
    return unsafe opened.secret.withUnsafeBytes { unsafe Data($0) }
  }
}
