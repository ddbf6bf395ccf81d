extension ServiceAnswer {
  private enum Tag: UInt8 {
    case failure = 1
    case number, items, application, ownerKey, groups, joined
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
    if !joined.isEmpty {
      var writer = ByteWriter()
      for group in joined {
        writer.write(group.epoch)
        writer.writeCounted16(Array(group.name.utf8))
      }
      fields.write(Tag.joined.rawValue, writer.bytes)
    }
    return fields.bytes
  }

  /// - Throws: ``VaultError/unexpected(_:)`` for fields that ``encoded()`` does not produce.
  package init(decoding fields: [UInt8]) throws(VaultError) {
    do { try self.init(parsing: fields) } catch { throw ServiceClient.misunderstood }
  }

  private init(parsing fields: [UInt8]) throws {
    let fields = try Fields<Tag>(fields, limit: .max, unknown: ByteReader.Failure())
    self.init(number: try fields.number(.number), failure: try fields[.failure].map(VaultError.init(serviceBytes:)))
    var reader = ByteReader(Array(fields[.items] ?? []))
    while reader.remaining > 0 { items.append(try Item(fromService: &reader)) }
    reader = ByteReader(Array(fields[.joined] ?? []))
    while reader.remaining > 0 {
      let epoch = try reader.readCounter()
      let name = try AccessGroup.Name(FieldReader.text(reader.readCounted16()[...]))
      joined.append(JoinedGroup(name: name.description, epoch: epoch))
    }
    guard let application = try fields.text(.application), !application.isEmpty else { return }
    var caller = Caller(application: application, ownerKey: Array(fields[.ownerKey] ?? []), groups: [])
    reader = ByteReader(Array(fields[.groups] ?? []))
    while reader.remaining > 0 { caller.groups.append(try FieldReader.text(reader.readCounted16()[...])) }
    self.caller = caller
  }
}

extension VaultError {
  /// The errors that a caller of `vaultd` distinguishes, with their numbers in messages.
  private enum ServiceCode: UInt8 {
    case other, noItem, noVersion, noGroup, conflict, notAMember, readOnly, ownerOnly, invalid, overLimit, busy
    case presentItem, overtaken, unreachable, outcomeUnknown, refused, shut
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
    case .unordered(_, .refused): code = .refused
    case .unordered(_, .shut(let reason)): (code, text) = (.shut, reason)
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
    let text = try FieldReader.text(reader.read(count: reader.remaining))
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
      case .refused: .unordered(.refused)
      case .shut: .unordered(group: "", .shut(text))
      }
  }
}
