/// A call of an access group that a program without a credential sends to `vaultd`.
///
/// A message is `u32 length ‖ fields ‖ value`: fields as in an item's attributes, then the bytes of the value. Neither
/// side copies the value out of guarded memory more often than the connection requires.
package struct ServiceCall: Sendable, Equatable {
  /// What the call does. Messages contain these numbers.
  package enum Operation: UInt8, Sendable {
    /// Asks which application the caller is.
    case hello = 1
    case open, item, history, list
    case set, change, remove, destroy, restore

    /// Whether it only reads.
    package var isReading: Bool { rawValue <= Operation.list.rawValue }
  }

  package internal(set) var operation: Operation
  /// The group's name; empty for `hello`.
  package var group = ""
  /// The item's name; for a list, the prefix of the names.
  package var name = ""
  package var version: UInt64?
  /// The version that must be the current one.
  package var expected: UInt64?
  package var kind = SecretKind.bytes
  package var typeName: String?
  package var details = Details()
  /// What the change is made for.
  package var request: ChangeID?
  /// Lists removed items instead of present ones.
  package var listsRemoved = false
  /// Has `hello` leave out the groups, for which the daemon would look at every group of the store.
  package var omitsGroups = false

  package init(
    _ operation: Operation, _ group: String = "", _ name: String = "", version: UInt64? = nil,
    ifVersion expected: UInt64? = nil
  ) {
    (self.operation, self.group, self.name, self.version, self.expected) = (operation, group, name, version, expected)
  }

  /// The size limit of a message, in bytes: a value, its name and its details.
  package static let byteLimit = 1 << 20 | 1 << 18
  /// The size limit of an answer, in bytes: a value with its details, or a list of items.
  package var answerLimit: Int { operation == .list || operation == .history ? 1 << 26 : Self.byteLimit + 1 << 10 }
}

package struct ServiceAnswer: Sendable {
  package var failure: VaultError?
  package var number: UInt64?
  package var items: [Item] = []
  package var secret: OpenedSecret?
  /// The answer to `hello`: who the caller is.
  package var caller: Caller?
  package var joined: [JoinedGroup] = []

  /// What `vaultd` knows about a caller.
  package struct Caller: Sendable, Equatable {
    package var application: String
    /// The 32 bytes of the key that identifies the store's owner.
    package var ownerKey: [UInt8]
    /// The groups that the application is a member of, sorted.
    package var groups: [String]

    package init(application: String, ownerKey: [UInt8], groups: [String]) {
      (self.application, self.ownerKey, self.groups) = (application, ownerKey, groups)
    }
  }

  package init(
    number: UInt64? = nil, items: [Item] = [], secret: OpenedSecret? = nil, caller: Caller? = nil,
    failure: VaultError? = nil
  ) {
    (self.number, self.items, self.secret, self.caller, self.failure) = (number, items, secret, caller, failure)
  }
}

// The bytes of a call and of its answer: fields with rising tags, each present only if it is not the default.

extension ServiceCall {
  private enum Tag: UInt8 {
    case operation = 1
    case group, name, version, expected, kind, typeName, label, attributes, expires, listsRemoved, request, omitsGroups
  }

  package func encoded() throws(VaultError) -> [UInt8] {
    var fields = FieldWriter()
    fields.write(Tag.operation.rawValue, [operation.rawValue])
    if !group.isEmpty { fields.write(Tag.group.rawValue, Array(group.utf8)) }
    if !name.isEmpty { fields.write(Tag.name.rawValue, Array(name.utf8)) }
    if let version { fields.write(Tag.version.rawValue, version) }
    if let expected { fields.write(Tag.expected.rawValue, expected) }
    if kind != .bytes { fields.write(Tag.kind.rawValue, [kind.rawValue]) }
    if let typeName { fields.write(Tag.typeName.rawValue, Array(typeName.utf8)) }
    // A change is one byte that says whether there is a new value, then that value.
    switch details.label {
    case .keep: break
    case .remove: fields.write(Tag.label.rawValue, [0])
    case .to(let text): fields.write(Tag.label.rawValue, [1] + Array(text.utf8))
    }
    if !details.attributes.isEmpty { fields.write(Tag.attributes.rawValue, try encodedAttributes()) }
    switch details.expires {
    case .keep: break
    case .remove: fields.write(Tag.expires.rawValue, [0])
    case .to(let time):
      var writer = ByteWriter()
      writer.write(UInt8(1))
      writer.write(time.milliseconds)
      fields.write(Tag.expires.rawValue, writer.bytes)
    }
    if listsRemoved { fields.write(Tag.listsRemoved.rawValue, [1]) }
    if let request { fields.write(Tag.request.rawValue, Array(request.description.utf8)) }
    if omitsGroups { fields.write(Tag.omitsGroups.rawValue, [1]) }
    guard fields.bytes.count <= 1 << 18 else { throw .overLimit("256 KiB of names and attributes in one call") }
    return fields.bytes
  }

  /// Above twice what an item may have, so that one call can replace them all.
  private static let attributeLimit = 256

  private func encodedAttributes() throws(VaultError) -> [UInt8] {
    guard details.attributes.count <= ServiceCall.attributeLimit else { throw .overLimit("64 attributes") }
    var writer = ByteWriter()
    for (key, value) in details.attributes {
      let bytes = [key, value ?? ""].map { Array($0.utf8) }
      guard bytes.allSatisfy({ $0.count <= 65_535 }) else { throw .overLimit("attributes of 64 KiB in all") }
      writer.writeCounted16(bytes[0])
      writer.write(UInt8(value == nil ? 0 : 1))
      writer.writeCounted16(bytes[1])
    }
    return writer.bytes
  }

  /// - Throws: ``VaultError/invalid(_:)`` for fields that ``encoded()`` does not produce.
  package init(decoding fields: [UInt8]) throws(VaultError) {
    do { try self.init(parsing: fields) } catch { throw .invalid("a call that does not follow the protocol") }
  }

  private init(parsing fields: [UInt8]) throws {
    let fields = try Fields<Tag>(fields, limit: 1 << 18, unknown: ByteReader.Failure())
    guard let operation = try fields.byte(.operation).flatMap(Operation.init(rawValue:)) else {
      throw ByteReader.Failure()
    }
    self.init(operation, try fields.text(.group) ?? "", try fields.text(.name) ?? "")
    version = try fields.number(.version)
    expected = try fields.number(.expected)
    if let kind = try fields.byte(.kind) { self.kind = SecretKind(rawValue: kind) }
    typeName = try fields.text(.typeName)
    details.label = try FieldReader.change(fields[.label]) { try FieldReader.text($0) }
    details.attributes = try ServiceCall.attributes(fields[.attributes] ?? [])
    details.expires = try FieldReader.change(fields[.expires]) { bytes in
      var reader = ByteReader(Array(bytes))
      let time = Timestamp(milliseconds: try reader.read(UInt64.self))
      try reader.finish()
      return time
    }
    listsRemoved = fields[.listsRemoved] != nil
    omitsGroups = fields[.omitsGroups] != nil
    request = try fields.text(.request).map { text in
      guard let request = ChangeID(text) else { throw ByteReader.Failure() }
      return request
    }
  }

  private static func attributes(_ field: ArraySlice<UInt8>) throws -> [String: String?] {
    var reader = ByteReader(Array(field))
    var attributes: [String: String?] = [:]
    while reader.remaining > 0 {
      let key = try FieldReader.text(reader.readCounted16()[...])
      let isSet = try reader.read(UInt8.self) == 1
      let value = try FieldReader.text(reader.readCounted16()[...])
      guard key.hasShortMarkRuns, attributes.updateValue(isSet ? value : nil, forKey: key) == nil,
        attributes.count <= attributeLimit
      else {
        throw ByteReader.Failure()
      }
    }
    return attributes
  }
}

extension FieldReader {
  static func text(_ field: ArraySlice<UInt8>) throws(ByteReader.Failure) -> String {
    guard let text = String(validating: field, as: UTF8.self) else { throw ByteReader.Failure() }
    return text
  }

  static func change<Value>(
    _ field: ArraySlice<UInt8>?, _ read: (ArraySlice<UInt8>) throws -> Value
  ) throws -> Change<Value> {
    guard let field else { return .keep }
    return switch field.first {
    case 0 where field.count == 1: .remove
    case 1: .to(try read(field.dropFirst()))
    default: throw ByteReader.Failure()
    }
  }
}
