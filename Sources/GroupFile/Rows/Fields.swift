package import Sealing

/// Writes tagged fields: `u8 tag, rising ‖ u32 length ‖ bytes`.
package struct FieldWriter {
  private var writer = ByteWriter(reservingCapacity: 96)

  package init() {}

  package var bytes: [UInt8] { writer.bytes }

  /// Appends `field` under `tag`.
  package mutating func write(_ tag: UInt8, _ field: [UInt8]) {
    writer.write(tag)
    writer.writeCounted32(field)
  }

  /// Appends an eight-byte number under `tag`.
  package mutating func write(_ tag: UInt8, _ number: UInt64) {
    writer.write(tag)
    writer.write(UInt32(8))
    writer.write(number)
  }

  /// Appends `text` under `tag`.
  ///
  /// - Throws: `overLimit`, naming `subject`, beyond `limit` bytes.
  package mutating func write(
    _ tag: UInt8, text: String, limit: Int, _ subject: String
  ) throws(GroupFileError) {
    let utf8 = Array(text.utf8)
    guard utf8.count <= limit else { throw .overLimit("\(limit) bytes in \(subject)") }
    write(tag, utf8)
  }
}

/// Reads tagged fields; tags must rise.
package struct FieldReader {
  private var reader: ByteReader
  private let limit: Int
  private var last: UInt8 = 0

  /// - Parameter limit: the largest field, in bytes.
  package init(_ bytes: [UInt8], limit: Int) {
    reader = ByteReader(bytes)
    self.limit = limit
  }

  /// The next field; `nil` after the last.
  package mutating func next() throws(ByteReader.Failure) -> (tag: UInt8, field: [UInt8])? {
    guard reader.remaining > 0 else { return nil }
    let tag = try reader.read(UInt8.self)
    guard tag > last else { throw .unexpected(offset: reader.offset - 1) }
    last = tag
    return (tag, try reader.readCounted32(limit: limit))
  }
}
