/// The tagged fields of a record that is read as a whole. Each field is checked when it is taken.
struct Fields<Tag: RawRepresentable<UInt8>> {
  private var fields: [(tag: UInt8, bytes: ArraySlice<UInt8>)] = []

  /// - Parameters:
  ///   - range: the place of the record in `bytes`; by default all of them.
  ///   - unknown: the error for a field that `Tag` does not name; without it, such a field is passed over.
  /// - Throws: `unknown`; `ByteReader.Failure` for bytes that are not fields with rising tags.
  init(_ bytes: [UInt8], in range: Range<Int>? = nil, limit: Int, unknown: (any Error)?) throws {
    var reader = FieldReader(bytes, in: range ?? bytes.indices, limit: limit)
    while let field = try reader.next() {
      if let unknown, Tag(rawValue: field.tag) == nil { throw unknown }
      fields.append((field.tag, field.field))
    }
  }

  subscript(tag: Tag) -> ArraySlice<UInt8>? { fields.first { $0.tag == tag.rawValue }?.bytes }

  func text(_ tag: Tag) throws(ByteReader.Failure) -> String? { try self[tag].map(FieldReader.text) }

  /// A number below 2^53.
  func number(_ tag: Tag) throws(ByteReader.Failure) -> UInt64? { try self[tag].map(FieldReader.number) }

  func byte(_ tag: Tag) throws(ByteReader.Failure) -> UInt8? {
    guard let field = self[tag] else { return nil }
    guard field.count == 1 else { throw ByteReader.Failure() }
    return field.first
  }
}
