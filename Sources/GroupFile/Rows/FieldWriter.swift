import Sealing

/// Writes tagged fields: `u8 tag, rising ‖ u32 length ‖ bytes`.
struct FieldWriter {
  private var writer = ByteWriter(reservingCapacity: 96)

  var bytes: [UInt8] { writer.bytes }

  /// Appends `field` under `tag`.
  mutating func write(_ tag: UInt8, _ field: [UInt8]) {
    writer.write(tag)
    writer.writeCounted32(field)
  }

  /// Appends an eight-byte number under `tag`.
  mutating func write(_ tag: UInt8, _ number: UInt64) {
    writer.write(tag)
    writer.write(UInt32(8))
    writer.write(number)
  }

  /// Appends `text` under `tag`.
  ///
  /// - Throws: `overLimit`, naming `subject`, beyond `limit` bytes.
  mutating func write(_ tag: UInt8, text: String, limit: Int, _ subject: String) throws(GroupFileError) {
    let utf8 = Array(text.utf8)
    guard utf8.count <= limit else { throw .overLimit("\(subject) of \(limit) bytes") }
    write(tag, utf8)
  }
}
