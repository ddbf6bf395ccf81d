internal import GroupFile
internal import Sealing

/// The bytes of a record (format article, "The record").
extension AuditRecord {
  private enum Tag: UInt8 {
    case time = 1
    case who, uid, pid, unit, exe, address, action, group, item, version, outcome, subject, detail
  }

  /// The maximum length of a text, in bytes; a longer one is cut.
  static let textByteCount = 4_096
  /// The maximum size of a record, in bytes.
  static let byteCount = 65_536

  /// The record's fields. No record is refused: a text that is too long is cut, and a number that is too large is
  /// replaced by the largest that fits.
  func serialized() -> [UInt8] {
    var fields = FieldWriter()
    func write(_ tag: Tag, _ number: UInt64) { fields.write(tag.rawValue, min(number, ByteReader.counterLimit - 1)) }
    func write(_ tag: Tag, _ text: String?) {
      if let text { fields.write(tag.rawValue, AuditRecord.bounded(text)) }
    }
    write(.time, time.milliseconds)
    switch caller.who {
    case .nobody: fields.write(Tag.who.rawValue, [0])
    case .owner: fields.write(Tag.who.rawValue, [1])
    case .application(let id): fields.write(Tag.who.rawValue, [2] + AuditRecord.bounded(id))
    }
    if let uid = caller.uid { write(.uid, UInt64(uid)) }
    if let pid = caller.pid, pid >= 0 { write(.pid, UInt64(pid)) }
    write(.unit, caller.unit)
    write(.exe, caller.exe)
    write(.address, caller.address)
    fields.write(Tag.action.rawValue, [action.rawValue])
    write(.group, group)
    write(.item, item)
    if let version { write(.version, version) }
    fields.write(Tag.outcome.rawValue, [outcome.rawValue])
    write(.subject, subject)
    write(.detail, detail)
    return fields.bytes
  }

  /// The text's bytes; a text that is too long is cut and ends with "…".
  private static func bounded(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count > textByteCount else { return bytes }
    var kept = bytes.prefix(textByteCount - 3)
    // Do not cut inside a character.
    while let last = kept.last, last & 0xC0 == 0x80 { kept.removeLast() }
    if let last = kept.last, last & 0x80 != 0 { kept.removeLast() }
    return kept + Array("…".utf8)
  }

  /// - Throws: any error for bytes that do not follow the format.
  init(parsing bytes: [UInt8], in range: Range<Int>) throws {
    var reader = FieldReader(bytes, in: range, limit: AuditRecord.textByteCount + 1)
    var time: UInt64?
    var who: Who?
    var action: UInt8?
    var outcome: UInt8?
    var record = AuditRecord(time: Timestamp(milliseconds: 0), caller: Caller(.nobody), action: .read)
    while let (number, field) = try reader.next() {
      // A record of a newer version may have more fields; the known ones can still be shown.
      guard let tag = Tag(rawValue: number) else { continue }
      switch tag {
      case .time: time = try FieldReader.number(field)
      case .who: who = try Who(parsing: field)
      case .uid: record.caller.uid = UInt32(exactly: try FieldReader.number(field))
      case .pid: record.caller.pid = Int32(exactly: try FieldReader.number(field))
      case .unit: record.caller.unit = try FieldReader.text(field)
      case .exe: record.caller.exe = try FieldReader.text(field)
      case .address: record.caller.address = try FieldReader.text(field)
      case .action: action = field.count == 1 ? field.first : nil
      case .group: record.group = try FieldReader.text(field)
      case .item: record.item = try FieldReader.text(field)
      case .version: record.version = try FieldReader.number(field)
      case .outcome: outcome = field.count == 1 ? field.first : nil
      case .subject: record.subject = try FieldReader.text(field)
      case .detail: record.detail = try FieldReader.text(field)
      }
    }
    guard let time, let who, let action, let outcome else { throw ByteReader.Failure() }
    record.time = Timestamp(milliseconds: time)
    record.caller.who = who
    record.action = Action(rawValue: action)
    record.outcome = Outcome(rawValue: outcome)
    self = record
  }
}

extension AuditRecord.Who {
  fileprivate init(parsing field: ArraySlice<UInt8>) throws {
    switch field.first {
    case 0 where field.count == 1: self = .nobody
    case 1 where field.count == 1: self = .owner
    case 2: self = .application(try FieldReader.text(field.dropFirst()))
    default: throw ByteReader.Failure()
    }
  }
}
