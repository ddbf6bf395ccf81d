/// The content that is sealed in addition to a value: its name and everything that a listing shows.
package struct Attributes: Sendable, Equatable {
  /// The item's name in NFC.
  package var name: String
  package var label: String?
  /// Keys and values as the user gave them; at most 64 pairs.
  package var pairs: [String: String]
  /// Milliseconds since 1970-01-01 UTC, by the writer's clock.
  package var created: UInt64
  /// When this version was written, in milliseconds since 1970-01-01 UTC.
  package var changed: UInt64
  /// When the value should no longer be used, in milliseconds since 1970-01-01 UTC.
  package var expires: UInt64?
  /// The number of the value's kind, which the module above defines.
  package var valueKind: UInt8
  /// The name of an archived value's type.
  package var typeName: String?
  /// The epoch in which this value was written; rotations and changes of attributes keep it.
  package var valueEpoch: UInt64
  package var writer: Writer

  package init(
    name: String, label: String? = nil, pairs: [String: String] = [:], created: UInt64, changed: UInt64,
    expires: UInt64? = nil, valueKind: UInt8, typeName: String? = nil, valueEpoch: UInt64 = 0,
    writer: Writer = .owner
  ) {
    (self.name, self.label, self.pairs) = (name, label, pairs)
    (self.created, self.changed, self.expires) = (created, changed, expires)
    (self.valueKind, self.typeName, self.valueEpoch, self.writer) = (valueKind, typeName, valueEpoch, writer)
  }

  fileprivate enum Tag: UInt8 {
    case name = 1
    case label, pairs, created, changed, expires, valueKind, typeName, valueEpoch, writer
  }

  /// The encoding: one field for each value that is present. Defaults have no field: a creation at the time of the
  /// change, and the owner as writer.
  ///
  /// - Throws: `overLimit` beyond 64 KiB or 64 pairs, or for a text or number that is too large for its field.
  package func encoded() throws(VaultError) -> [UInt8] {
    guard max(created, changed, expires ?? 0, valueEpoch) < ByteReader.counterLimit else {
      throw .overLimit("2^53 milliseconds or states")
    }
    var fields = FieldWriter()
    try fields.write(Tag.name.rawValue, text: name, limit: GroupLimits.nameByteCount, "the name")
    if let label { try fields.write(Tag.label.rawValue, text: label, limit: 65_535, "the label") }
    if !pairs.isEmpty { fields.write(Tag.pairs.rawValue, try encodedPairs()) }
    if created != changed { fields.write(Tag.created.rawValue, created) }
    fields.write(Tag.changed.rawValue, changed)
    if let expires { fields.write(Tag.expires.rawValue, expires) }
    fields.write(Tag.valueKind.rawValue, [valueKind])
    if let typeName { try fields.write(Tag.typeName.rawValue, text: typeName, limit: 65_535, "the type's name") }
    fields.write(Tag.valueEpoch.rawValue, valueEpoch)
    if writer != .owner {
      var writerField = ByteWriter()
      writerField.write(writer.kind.rawValue)
      writerField.write(writer.issue)
      writerField.writeCounted16(Array(writer.application.utf8))
      fields.write(Tag.writer.rawValue, writerField.bytes)
    }
    guard fields.bytes.count <= GroupLimits.attributesByteCount else { throw .overLimit("attributes of 64 KiB in all") }
    return fields.bytes
  }

  private func encodedPairs() throws(VaultError) -> [UInt8] {
    guard pairs.count <= GroupLimits.attributeCount else { throw .overLimit("64 attributes") }
    var writer = ByteWriter()
    let inOrder = pairs.map { (Array($0.key.utf8), Array($0.value.utf8)) }.sorted {
      $0.0.lexicographicallyPrecedes($1.0)
    }
    for (key, value) in inOrder {
      guard key.count <= 65_535, value.count <= 65_535 else { throw .overLimit("attributes of 64 KiB in all") }
      writer.writeCounted16(key)
      writer.writeCounted16(value)
    }
    return writer.bytes
  }

  /// Reads an encoding; throws `damaged` at the first violation of the format.
  package init(decoding bytes: [UInt8]) throws(VaultError) {
    self.init(try AttributeFields(of: bytes, in: bytes.indices), of: bytes)
  }

  /// Makes the texts of `fields`, which were read from `bytes`.
  package init(_ fields: AttributeFields, of bytes: [UInt8]) {
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    self.init(
      name: text(fields.name), label: fields.label.map(text), pairs: fields.pairs, created: fields.created,
      changed: fields.changed, expires: fields.expires, valueKind: fields.valueKind,
      typeName: fields.typeName.map(text), valueEpoch: fields.valueEpoch, writer: fields.writer)
  }
}

/// The fields of an encoding, checked, with the places of the texts: a long list shows few of them.
package struct AttributeFields {
  /// The place of the whole encoding.
  let range: Range<Int>
  package let name: Range<Int>
  package private(set) var label: Range<Int>?
  private(set) var typeName: Range<Int>?
  private(set) var pairs: [String: String] = [:]
  let created: UInt64
  package let changed: UInt64
  package private(set) var expires: UInt64?
  let valueKind: UInt8
  let valueEpoch: UInt64
  private(set) var writer = Writer.owner

  /// Reads `bytes[range]`; throws `damaged` at the first violation of the format.
  init(of bytes: [UInt8], in range: Range<Int>) throws(VaultError) {
    // The padded size leaves room for a few bytes more than the format allows.
    guard range.count <= GroupLimits.attributesByteCount else { throw .damaged(.row, "attributes") }
    var reader = FieldReader(bytes, in: range, limit: GroupLimits.attributesByteCount)
    var name: Range<Int>?
    var created: UInt64?
    var changed: UInt64?
    var epoch: UInt64?
    var kind: UInt8?
    do {
      while let (number, field) = try reader.nextRange() {
        // A format with more tags has a higher read version, so its rows are never read here.
        guard let tag = Attributes.Tag(rawValue: number) else { throw VaultError.damaged(.row, "an unknown attribute") }
        switch tag {
        case .name:
          guard field.count <= GroupLimits.nameByteCount else { throw VaultError.damaged(.row, "name") }
          name = try AttributeFields.text(field, bytes)
        case .label: label = try AttributeFields.text(field, bytes)
        case .pairs: pairs = try AttributeFields.decodePairs(bytes[field])
        case .created: created = try FieldReader.number(bytes[field])
        case .changed: changed = try FieldReader.number(bytes[field])
        case .expires: expires = try FieldReader.number(bytes[field])
        case .valueKind:
          guard field.count == 1 else { throw VaultError.damaged(.row, "kind of value") }
          kind = bytes[field.lowerBound]
        case .typeName: typeName = try AttributeFields.text(field, bytes)
        case .valueEpoch: epoch = try FieldReader.number(bytes[field])
        case .writer: writer = try AttributeFields.decodeWriter(bytes[field])
        }
      }
    } catch {
      throw error as? VaultError ?? .damaged(.row, "attributes")
    }
    guard let name, let changed, let kind, let epoch else { throw .damaged(.row, "missing attributes") }
    guard created != changed else { throw .damaged(.row, "time of creation") }
    (self.range, self.name, self.created, self.changed) = (range, name, created ?? changed, changed)
    (valueKind, valueEpoch) = (kind, epoch)
  }

  private static func text(_ range: Range<Int>, _ bytes: [UInt8]) throws(VaultError) -> Range<Int> {
    guard unsafe bytes.span.withUnsafeBytes({ unsafe UnsafeRawBufferPointer(rebasing: $0[range]).isUTF8 }) else {
      throw .damaged(.row, "text")
    }
    return range
  }

  private static func decodePairs(_ field: ArraySlice<UInt8>) throws -> [String: String] {
    var reader = ByteReader(Array(field))
    var pairs: [String: String] = [:]
    var last: [UInt8]?
    // An empty list must have no field, so that each content has exactly one encoding.
    guard !field.isEmpty else { throw VaultError.damaged(.row, "number of attributes") }
    while reader.remaining > 0 {
      let key = try reader.readCounted16()
      if let last, !last.lexicographicallyPrecedes(key) { throw VaultError.damaged(.row, "order of attributes") }
      last = key
      guard pairs.count < GroupLimits.attributeCount else { throw VaultError.damaged(.row, "number of attributes") }
      // Two keys may differ in bytes and yet be equal as strings (NFC and NFD); neither may be lost.
      let (name, value) = (try String(key, at: .row), try String(reader.readCounted16(), at: .row))
      guard name.hasShortMarkRuns, value.hasShortMarkRuns else { throw VaultError.damaged(.row, "text") }
      let isNew = pairs.updateValue(value, forKey: name) == nil
      guard isNew else { throw VaultError.damaged(.row, "repeated attribute") }
    }
    return pairs
  }

  private static func decodeWriter(_ field: ArraySlice<UInt8>) throws -> Writer {
    var reader = ByteReader(Array(field))
    guard let kind = Member.Kind(rawValue: try reader.read(UInt8.self)) else {
      throw VaultError.damaged(.row, "kind of writer")
    }
    let issue = try reader.read(UInt32.self)
    let application = try String(reader.readCounted16(), at: .row)
    try reader.finish()
    guard application.hasShortMarkRuns else { throw VaultError.damaged(.row, "text") }
    let writer = Writer(kind: kind, issue: issue, application: application)
    guard writer != .owner else { throw VaultError.damaged(.row, "writer") }
    return writer
  }
}

/// Writes tagged fields: `u8 tag, rising ‖ length ‖ bytes` (format article, "Attributes").
///
/// A length below 255 is one byte; otherwise 255 and then four bytes. There are many rows, and most fields are short.
package struct FieldWriter {
  private var writer = ByteWriter(reservingCapacity: 96)

  package init() {}

  package var bytes: [UInt8] { writer.bytes }

  package mutating func write(_ tag: UInt8, _ field: [UInt8]) {
    unsafe field.span.withUnsafeBytes { unsafe write(tag, $0) }
  }

  private mutating func write(_ tag: UInt8, _ field: UnsafeRawBufferPointer) {
    writer.write(tag)
    if field.count < FieldWriter.longMark {
      writer.write(UInt8(field.count))
    } else {
      writer.write(UInt8(FieldWriter.longMark))
      writer.write(UInt32(field.count))
    }
    unsafe writer.write(field)
  }

  /// Appends a number under `tag`, big-endian and without leading zeros: 0 has no bytes.
  package mutating func write(_ tag: UInt8, _ number: UInt64) {
    let count = (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
    writer.write(tag)
    writer.write(UInt8(count))
    for shift in (0..<count).reversed() { writer.write(UInt8(truncatingIfNeeded: number >> (UInt64(shift) * 8))) }
  }

  /// Appends `text` under `tag`; throws `overLimit`, naming `subject`, if it is longer than `limit` bytes.
  package mutating func write(_ tag: UInt8, text: String, limit: Int, _ subject: String) throws(VaultError) {
    guard text.utf8.count <= limit else { throw .overLimit("\(limit) bytes in \(subject)") }
    unsafe text.utf8Span.span.withUnsafeBytes { unsafe write(tag, $0) }
  }

  /// The first byte of a length with four more bytes.
  fileprivate static let longMark = 255
}

/// Reads tagged fields; tags must rise, and each length has exactly one valid form.
package struct FieldReader {
  private let bytes: [UInt8]
  private let limit: Int
  private var offset: Int
  private let end: Int
  private var last: UInt8 = 0

  /// Reads `bytes[range]`, in which no field is longer than `limit` bytes.
  package init(_ bytes: [UInt8], in range: Range<Int>, limit: Int) {
    (self.bytes, self.limit, offset, end) = (bytes, limit, range.lowerBound, range.upperBound)
  }

  package mutating func next() throws(ByteReader.Failure) -> (tag: UInt8, field: ArraySlice<UInt8>)? {
    try nextRange().map { ($0.tag, bytes[$0.field]) }
  }

  mutating func nextRange() throws(ByteReader.Failure) -> (tag: UInt8, field: Range<Int>)? {
    guard offset < end else { return nil }
    let tag = bytes[offset]
    guard tag > last, offset + 1 < end else { throw ByteReader.Failure() }
    last = tag
    var count = Int(bytes[offset + 1])
    var start = offset + 2
    if count == FieldWriter.longMark {
      guard end - start >= 4 else { throw ByteReader.Failure() }
      count = Int(bytes.word(at: start))
      guard count >= FieldWriter.longMark, count <= limit else { throw ByteReader.Failure() }
      start += 4
    }
    guard count <= end - start else { throw ByteReader.Failure() }
    offset = start + count
    return (tag, start..<offset)
  }

  /// The number below 2^53 in a field.
  package static func number(_ field: ArraySlice<UInt8>) throws(ByteReader.Failure) -> UInt64 {
    guard field.count < 8, field.first != 0 else { throw ByteReader.Failure() }
    var number: UInt64 = 0
    for byte in field { number = number << 8 | UInt64(byte) }
    guard number < ByteReader.counterLimit else { throw ByteReader.Failure() }
    return number
  }
}

/// The member that wrote a version, as they stated it: another writer of the group can misstate it.
public enum Writer: Sendable, Hashable {
  case owner
  /// An application, by its id, and the issue number of the seed it wrote with.
  case application(String, issue: UInt32)

  package init(kind: Member.Kind, issue: UInt32, application: String) {
    self = kind == .owner ? .owner : .application(application, issue: issue)
  }

  package var kind: Member.Kind { if case .owner = self { .owner } else { .application } }
  /// 0 for the owner.
  package var issue: UInt32 { if case .application(_, let issue) = self { issue } else { 0 } }
  /// Empty for the owner.
  package var application: String { if case .application(let id, _) = self { id } else { "" } }
}

/// A time in milliseconds since 1970-01-01 00:00 UTC.
public struct Timestamp: Sendable, Hashable, Comparable {
  public let milliseconds: UInt64

  public init(milliseconds: UInt64) { self.milliseconds = milliseconds }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }
}
