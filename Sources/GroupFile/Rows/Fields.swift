package import Sealing

/// Writes tagged fields: `u8 tag, rising ‖ length ‖ bytes` (format article, "Attributes").
///
/// A length is one byte, or 255 and then four bytes for 255 and more. Rows are many and their fields short.
package struct FieldWriter {
  private var writer = ByteWriter(reservingCapacity: 96)

  package init() {}

  package var bytes: [UInt8] { writer.bytes }

  /// Appends `field` under `tag`.
  package mutating func write(_ tag: UInt8, _ field: [UInt8]) {
    writer.write(tag)
    if field.count < FieldWriter.longMark {
      writer.write(UInt8(field.count))
    } else {
      writer.write(UInt8(FieldWriter.longMark))
      writer.write(UInt32(field.count))
    }
    writer.write(field)
  }

  /// Appends a number under `tag`, big-endian and without leading zeros: 0 has no bytes.
  package mutating func write(_ tag: UInt8, _ number: UInt64) {
    let count = (UInt64.bitWidth - number.leadingZeroBitCount + 7) / 8
    writer.write(tag)
    writer.write(UInt8(count))
    for shift in (0..<count).reversed() { writer.write(UInt8(truncatingIfNeeded: number >> (UInt64(shift) * 8))) }
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

  /// Stands for a length of four bytes that follows.
  fileprivate static let longMark = 255
}

/// Reads tagged fields; tags must rise, and a length has one form only.
package struct FieldReader {
  private var reader: ByteReader
  private let limit: Int
  private var last: UInt8 = 0

  /// Reads `bytes[range]`.
  ///
  /// - Parameter limit: the largest field, in bytes.
  package init(_ bytes: [UInt8], in range: Range<Int>, limit: Int) {
    reader = ByteReader(bytes, in: range)
    self.limit = limit
  }

  /// The next field, as a part of the bytes that are read; `nil` after the last.
  package mutating func next() throws(ByteReader.Failure) -> (tag: UInt8, field: ArraySlice<UInt8>)? {
    guard reader.remaining > 0 else { return nil }
    let tag = try reader.read(UInt8.self)
    guard tag > last else { throw .unexpected(offset: reader.offset - 1) }
    last = tag
    let start = reader.offset
    var count = Int(try reader.read(UInt8.self))
    if count == FieldWriter.longMark {
      count = Int(try reader.read(UInt32.self))
      guard count >= FieldWriter.longMark, count <= limit else { throw .unexpected(offset: start) }
    }
    return (tag, try reader.read(count: count))
  }

  /// The number below 2^53 that a field holds.
  package static func number(_ field: ArraySlice<UInt8>) throws(ByteReader.Failure) -> UInt64 {
    guard field.count < 8, field.first != 0 else { throw .unexpected(offset: 0) }
    var number: UInt64 = 0
    for byte in field { number = number << 8 | UInt64(byte) }
    guard number < ByteReader.counterLimit else { throw .unexpected(offset: 0) }
    return number
  }
}
