public import Foundation
public import KeyedArchives

/// A dictionary that was encoded from a Swift value and is yet to be archived. Foundation's own would merge keys that
/// are canonically equivalent, and keeps no order.
final class CodedDictionary: NSObject {
  private(set) var pairs: [(key: String, value: AnyObject)] = []
  private var positions: [KeyTable.Key: Int] = [:]

  func set(_ key: String, _ value: AnyObject) {
    if let position = positions[KeyTable.Key(text: key)] {
      pairs[position].value = value
    } else {
      positions[KeyTable.Key(text: key)] = pairs.count
      pairs.append((key, value))
    }
  }

  /// The container under `key`; `new`, which is put there, if there is none of this kind yet.
  func container<Container: NSObject>(_ key: String, orNew new: @autoclosure () -> Container) -> Container {
    if let present = positions[KeyTable.Key(text: key)].flatMap({ pairs[$0].value as? Container }) { return present }
    let new = new()
    set(key, new)
    return new
  }
}

/// An array that was encoded from a Swift value and is yet to be archived.
final class CodedArray: NSObject {
  var elements: [AnyObject] = []
}

/// Holds the value of a nested encoder, which may be set later.
final class CodedPlace: NSObject {
  var value: AnyObject?
}

extension ValueWriter {
  /// Writers for encoded Swift values, with keys in byte order, and for the C arrays in an NSValue.
  static let own = [
    ValueWriter(CodedDictionary.self, "NSDictionary") { dictionary, fields throws(ArchiveError) in
      let pairs = dictionary.pairs.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      fields.objects("NS.keys", pairs.map { NSString(string: $0.key) })
      fields.objects("NS.objects", pairs.map(\.value))
    },
    ValueWriter(CodedArray.self, "NSArray") { array, fields throws(ArchiveError) in
      fields.objects("NS.objects", array.elements)
    },
    ValueWriter(OldStyleArray.self, FoundationClasses.rawArray) { array, fields throws(ArchiveError) in
      array.write(fields)
    },
  ]
}

extension SecureArchiver {
  /// Archives a Swift value under `key` as property-list objects, as Apple's `encodeEncodable(_:forKey:)` does.
  ///
  /// - Throws: ``ArchiveError``. The archive cannot be finished after that.
  public func encodeEncodable(_ value: some Encodable, forKey key: String) throws(ArchiveError) {
    field(key) { () throws(ArchiveError) in
      try self.reference(to: EncodedValue.objects(of: value, at: self.here, depth: self.limits.effectiveDepth))
    }
    if let failure { throw failure }
  }

  /// Archives a Swift value under `root`, and the name of its type under `vault.type`.
  ///
  /// A class that also adopts `NSSecureCoding` is archived by its `encode(with:)`.
  ///
  /// - Parameters:
  ///   - value: a structure, enumeration, class, or a single number or string.
  ///   - name: the name of the type in the archive. Required for private, local and generic types, which have no stable
  ///     name of their own.
  ///   - format: binary, or XML.
  /// - Returns: the archive's bytes. They are the same for the same value if its `encode(to:)` keeps an order; the
  ///   elements of a `Set` have none.
  /// - Throws: ``ArchiveError/noStableName(type:)``, ``ArchiveError/notArchivable(type:reason:at:)``.
  public static func archivedData<Value: Encodable>(
    encoding value: Value, named name: String? = nil, format: ArchiveFormat = .binary
  ) throws(ArchiveError) -> Data {
    guard let name = name ?? TypeNames.stable(Value.self) else {
      throw .noStableName(type: TypeNames.shown(Value.self))
    }
    let archiver = SecureArchiver()
    archiver.holdsSwiftValue = !(value is any NSSecureCoding)
    if let object = value as? any NSSecureCoding, !ClassNames.isFoundation(type(of: object as AnyObject)) {
      archiver.encode(object, forKey: "root")
    } else {
      try archiver.encodeEncodable(value, forKey: "root")
    }
    archiver.set(TypeNames.key) { archiver.builder.add(text: name) }
    return try archiver.finishEncoding(format)
  }
}

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
    if let found = unarchiver.typeName.map(TypeNames.canonical) {
      let expected = name ?? TypeNames.stable(type) ?? TypeNames.shown(type)
      guard found == TypeNames.canonical(expected) else { throw .otherType(found: found, expected: expected) }
    }
    if let secure = type as? any (NSObject & NSSecureCoding).Type {
      // Such a class was archived by its `encode(with:)`.
      let reader = try SecureUnarchiver(reading: data, allowing: [secure], limits: limits)
      guard let object = try reader.decode([secure], forKey: "root") as? Value else {
        throw .missingValue(at: ArchivePath([.key("root")]))
      }
      return object
    }
    unarchiver.readsSwiftValue = true
    guard let value = try unarchiver.decodeDecodable(type, forKey: "root") else {
      throw .missingValue(at: ArchivePath([.key("root")]))
    }
    return value
  }

  /// The name of the Swift type that was archived at the top; nil if the archive names none.
  public var typeName: String? {
    table.value(under: TypeNames.key, in: table.top).flatMap { table.list.text(table.list.nodes[$0]) }
  }
}

extension StructArchive {
  /// Decodes the value that this archive of the StructArchiver library represents.
  ///
  /// - Parameter name: the name that the library gave the type, which has no module.
  /// - Throws: ``ArchiveError/otherType(found:expected:)`` if the archive holds a structure of another name, and any
  ///   other ``ArchiveError`` if its contents do not match the type.
  func decoded<Value: Decodable>(_ type: Value.Type, named name: String?) throws(ArchiveError) -> Value {
    if case .record(let found, _) = self, !found.hasPrefix("Dictionary<") {
      let expected = name ?? String(TypeNames.shown(type).split(separator: ".").last ?? "")
      guard found == expected else { throw .otherType(found: found, expected: expected) }
    }
    return try EncodedValue.value(type, from: objects as AnyObject, at: ArchivePath())
  }

  /// The values as property-list objects. Recursion is safe here: the reader enforced the nesting limit.
  private var objects: Any {
    switch self {
    case .integer(let value): NSNumber(value: value)
    case .unsigned(let value): NSNumber(value: value)
    case .single(let value): NSNumber(value: value)
    case .real(let value): NSNumber(value: value)
    case .string(let text): text
    case .array(_, let elements): elements.map(\.objects)
    case .record(_, let fields):
      Dictionary(fields.map { ($0.key, $0.value.objects) }, uniquingKeysWith: { first, _ in first })
    }
  }
}
