internal import GroupFile
internal import Sealing

// The bytes of a call and of its answer: fields with rising tags, each present only if it is not the default.

extension ServiceCall {
  private enum Tag: UInt8 {
    case operation = 1
    case group, name, version, expected, kind, typeName, label, attributes, expires, listsRemoved, request
  }

  /// The fields of the message.
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
    guard fields.bytes.count <= 1 << 18 else { throw .overLimit("256 KiB of names and attributes in one call") }
    return fields.bytes
  }

  private func encodedAttributes() throws(VaultError) -> [UInt8] {
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

  /// Reads the fields of a message.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for fields that ``encoded()`` does not produce.
  package init(decoding fields: [UInt8]) throws(VaultError) {
    do { try self.init(parsing: fields) } catch { throw .invalid("a call that does not follow the protocol") }
  }

  private init(parsing fields: [UInt8]) throws {
    var reader = FieldReader(fields, in: fields.indices, limit: 1 << 18)
    var operation: Operation?
    var parsed = ServiceCall(.hello)
    while let (number, field) = try reader.next() {
      switch Tag(rawValue: number) {
      case .operation: operation = field.count == 1 ? field.first.flatMap(Operation.init(rawValue:)) : nil
      case .group: parsed.group = try ServiceText.text(field)
      case .name: parsed.name = try ServiceText.text(field)
      case .version: parsed.version = try FieldReader.number(field)
      case .expected: parsed.expected = try FieldReader.number(field)
      case .kind:
        guard field.count == 1, let kind = field.first else { throw ServiceText.Malformed() }
        parsed.kind = SecretKind(rawValue: kind)
      case .typeName: parsed.typeName = try ServiceText.text(field)
      case .label: parsed.details.label = try ServiceText.change(field) { try ServiceText.text($0) }
      case .attributes: parsed.details.attributes = try ServiceCall.attributes(field)
      case .expires:
        parsed.details.expires = try ServiceText.change(field) { bytes in
          var reader = ByteReader(Array(bytes))
          let time = Timestamp(milliseconds: try reader.read(UInt64.self))
          try reader.finish()
          return time
        }
      case .listsRemoved: parsed.listsRemoved = true
      case .request:
        guard let request = ChangeID(try ServiceText.text(field)) else { throw ServiceText.Malformed() }
        parsed.request = request
      case nil: throw ServiceText.Malformed()
      }
    }
    guard let operation else { throw ServiceText.Malformed() }
    self.init(operation, parsed.group, parsed.name)
    (version, expected, kind, typeName) = (parsed.version, parsed.expected, parsed.kind, parsed.typeName)
    (details, listsRemoved, request) = (parsed.details, parsed.listsRemoved, parsed.request)
  }

  private static func attributes(_ field: ArraySlice<UInt8>) throws -> [String: String?] {
    var reader = ByteReader(Array(field))
    var attributes: [String: String?] = [:]
    while reader.remaining > 0 {
      let key = try ServiceText.text(reader.readCounted16()[...])
      let isSet = try reader.read(UInt8.self) == 1
      let value = try ServiceText.text(reader.readCounted16()[...])
      guard attributes.updateValue(isSet ? value : nil, forKey: key) == nil, attributes.count <= 256 else {
        throw ServiceText.Malformed()
      }
    }
    return attributes
  }
}

/// The encoding of parts that calls and answers share.
private enum ServiceText {
  struct Malformed: Error {}

  static func text(_ field: ArraySlice<UInt8>) throws -> String {
    guard let text = String(validating: field, as: UTF8.self) else { throw Malformed() }
    return text
  }

  static func change<Value>(
    _ field: ArraySlice<UInt8>, _ read: (ArraySlice<UInt8>) throws -> Value
  ) throws -> Change<Value> {
    switch field.first {
    case 0 where field.count == 1: .remove
    case 1: .to(try read(field.dropFirst()))
    default: throw Malformed()
    }
  }
}

extension ServiceAnswer {
  private enum Tag: UInt8 {
    case failure = 1
    case number, items, application, ownerKey, groups
  }

  /// The fields of the message; the secret follows them.
  package func encoded() -> [UInt8] {
    var fields = FieldWriter()
    if let failure { fields.write(Tag.failure.rawValue, failure.serviceBytes) }
    if let number { fields.write(Tag.number.rawValue, number) }
    if !items.isEmpty {
      var writer = ByteWriter()
      for item in items { item.writeToService(&writer) }
      fields.write(Tag.items.rawValue, writer.bytes)
    }
    if let caller {
      fields.write(Tag.application.rawValue, Array(caller.application.utf8))
      fields.write(Tag.ownerKey.rawValue, caller.ownerKey)
      var writer = ByteWriter()
      for group in caller.groups { writer.writeCounted16(Array(group.utf8)) }
      fields.write(Tag.groups.rawValue, writer.bytes)
    }
    return fields.bytes
  }

  /// Reads the fields of a message.
  ///
  /// - Throws: ``VaultError/unexpected(_:)`` for fields that ``encoded()`` does not produce.
  package init(decoding fields: [UInt8]) throws(VaultError) {
    do { try self.init(parsing: fields) } catch { throw .unexpected("vaultd sent an answer that is not understood") }
  }

  private init(parsing fields: [UInt8]) throws {
    self.init()
    var reader = FieldReader(fields, in: fields.indices, limit: .max)
    var caller = Caller(application: "", ownerKey: [], groups: [])
    while let (tag, field) = try reader.next() {
      switch Tag(rawValue: tag) {
      case .failure: failure = try VaultError(serviceBytes: field)
      case .number: number = try FieldReader.number(field)
      case .items:
        var reader = ByteReader(Array(field))
        while reader.remaining > 0 { items.append(try Item(fromService: &reader)) }
      case .application: caller.application = try ServiceText.text(field)
      case .ownerKey: caller.ownerKey = Array(field)
      case .groups:
        var reader = ByteReader(Array(field))
        while reader.remaining > 0 { caller.groups.append(try ServiceText.text(reader.readCounted16()[...])) }
      case nil: throw ServiceText.Malformed()
      }
    }
    if !caller.application.isEmpty { self.caller = caller }
  }
}

extension VaultError {
  /// The errors that a caller of `vaultd` distinguishes, with their numbers in messages.
  private enum ServiceCode: UInt8 {
    case other, noItem, noVersion, noGroup, conflict, notAMember, readOnly, ownerOnly, invalid, overLimit, busy
    case presentItem, overtaken, unreachable, outcomeUnknown
  }

  /// `u8 code ‖ u8 status ‖ u64 ‖ u64 ‖ text`. An error without its own code keeps its status and its message.
  fileprivate var serviceBytes: [UInt8] {
    var code = ServiceCode.other
    var numbers: (UInt64, UInt64) = (0, 0)
    var text = message
    switch self {
    case .notFound(.item): code = .noItem
    case .notFound(.version(let version)): (code, numbers.0) = (.noVersion, version)
    case .notFound(.group): code = .noGroup
    case .conflict(let expected, let present): (code, numbers) = (.conflict, (expected, present))
    case .denied(.notAMember): code = .notAMember
    case .denied(.readOnly): code = .readOnly
    case .denied(.ownerOnly): code = .ownerOnly
    case .invalid(let what): (code, text) = (.invalid, what)
    case .overLimit(let limit): (code, text) = (.overLimit, limit)
    case .busy(let group): (code, text) = (.busy, group ?? "")
    case .contradiction(.presentItem): code = .presentItem
    case .unordered(let group, .overtaken): (code, text) = (.overtaken, group)
    case .unordered(_, .unreachable(let reason)): (code, text) = (.unreachable, reason)
    case .unordered(let group, .outcomeUnknown): (code, text) = (.outcomeUnknown, group)
    default: break
    }
    var writer = ByteWriter()
    writer.write(code.rawValue)
    writer.write(UInt8(truncatingIfNeeded: status))
    writer.write(numbers.0)
    writer.write(numbers.1)
    writer.write(Array(text.utf8))
    return writer.bytes
  }

  fileprivate init(serviceBytes bytes: ArraySlice<UInt8>) throws {
    var reader = ByteReader(Array(bytes))
    let code = ServiceCode(rawValue: try reader.read(UInt8.self)) ?? .other
    let status = ExitStatus(rawValue: Int32(try reader.read(UInt8.self))) ?? .unexpected
    let numbers = (try reader.read(UInt64.self), try reader.read(UInt64.self))
    let text = try ServiceText.text(reader.read(count: reader.remaining))
    self =
      switch code {
      case .other: .service(status, text)
      case .noItem: .notFound(.item)
      case .noVersion: .notFound(.version(numbers.0))
      case .noGroup: .notFound(.group)
      case .conflict: .conflict(expected: numbers.0, present: numbers.1)
      case .notAMember: .denied(.notAMember)
      case .readOnly: .denied(.readOnly)
      case .ownerOnly: .denied(.ownerOnly)
      case .invalid: .invalid(text)
      case .overLimit: .overLimit(text)
      case .busy: .busy(group: text.isEmpty ? nil : text)
      case .presentItem: .contradiction(.presentItem)
      case .overtaken: .unordered(group: text, .overtaken)
      case .unreachable: .unordered(group: "", .unreachable(text))
      case .outcomeUnknown: .unordered(group: text, .outcomeUnknown(nil))
      }
  }
}
