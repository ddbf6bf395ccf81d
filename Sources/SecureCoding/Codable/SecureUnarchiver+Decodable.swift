public import Foundation
public import KeyedArchives

extension SecureUnarchiver {
  /// Decodes a Swift value that was archived under `key` as property-list objects; nil if the key is absent or holds
  /// nil. Only property-list classes are allowed there.
  ///
  /// - Throws: ``ArchiveError``, which names the position in the archive and never a value.
  public func decodeDecodable<Value: Decodable>(_ type: Value.Type, forKey key: String) throws(ArchiveError) -> Value? {
    let value = attempt(nil) { () throws(ArchiveError) -> Value? in
      guard let objects = try decode(key, of: ClassSite.propertyList) else { return nil }
      return try EncodedValue.value(type, from: objects as AnyObject, at: here.appending(.key(key)))
    }
    try finish()
    return value
  }

  /// Decodes the Swift value archived under `root` in `data`.
  ///
  /// - Parameters:
  ///   - type: the value's type.
  ///   - name: the name of the type in the archive, if it differs from the type's own. An archive that names no type,
  ///     such as one from another program, is decoded as `type`.
  ///   - data: a keyed archive, or the bytes that the StructArchiver library saved.
  ///   - limits: how much the archive may demand.
  /// - Throws: ``ArchiveError``; ``ArchiveError/otherType(found:expected:)`` if the archive names another type.
  public static func decoded<Value: Decodable>(
    _ type: Value.Type, named name: String? = nil, from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> Value {
    let unarchiver: SecureUnarchiver
    do throws(ArchiveError) {
      unarchiver = try SecureUnarchiver(reading: data, allowing: [], limits: limits)
    } catch {
      // Archives of the StructArchiver library have no header to recognize them by.
      guard error == .notAPropertyList, let old = try? StructArchive([UInt8](data), limits: limits) else { throw error }
      return try old.decoded(type, named: name)
    }
    if let found = unarchiver.typeName {
      let expected = name ?? TypeNames.stable(type) ?? TypeNames.shown(type)
      guard found == expected else { throw .otherType(found: found, expected: expected) }
    }
    if let secure = type as? any (NSObject & NSSecureCoding).Type {
      // Such a class was archived by its `encode(with:)`.
      let reader = try SecureUnarchiver(reading: data, allowing: [secure], limits: limits)
      guard let object = try reader.decode([secure], forKey: "root") as? Value else {
        throw .missingValue(at: ArchivePath([.key("root")]))
      }
      return object
    }
    guard let value = try unarchiver.decodeDecodable(type, forKey: "root") else {
      throw .missingValue(at: ArchivePath([.key("root")]))
    }
    return value
  }

  /// The name of the Swift type that was archived at the top; nil if the archive names none.
  public var typeName: String? {
    guard let number = table.keys.number(of: TypeNames.key),
      let node = table.keys.value(number, at: table.top, in: table.list)
    else { return nil }
    return table.list.text(table.list.nodes[node])
  }
}
