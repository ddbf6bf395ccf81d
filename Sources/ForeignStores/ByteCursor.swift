internal import Exchange
internal import Ground

/// Reads numbers and bytes from the front of a binary file. All numbers are little-endian.
struct ByteCursor {
  private let bytes: [UInt8]
  private(set) var position: Int

  init(_ bytes: [UInt8], at position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  var rest: Int { bytes.count - position }

  mutating func take(_ count: Int) throws(ImportFault) -> [UInt8] {
    guard count >= 0, count <= rest else { throw ImportFault("it is cut short", .damaged) }
    defer { position += count }
    return Array(bytes[position..<(position + count)])
  }

  mutating func number<Number: FixedWidthInteger>(_: Number.Type = Number.self) throws(ImportFault) -> Number {
    try take(Number.bitWidth / 8).reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  /// A length of 32 bits. It throws if the bytes end first.
  mutating func field() throws(ImportFault) -> [UInt8] { try take(Int(number(UInt32.self))) }
}

extension FixedWidthInteger {
  /// The bytes of the number in little-endian order.
  var littleEndianBytes: [UInt8] {
    (0..<(Self.bitWidth / 8)).map { UInt8(truncatingIfNeeded: self >> (8 * Self($0))) }
  }
}

extension [UInt8] {
  /// The number with these little-endian bytes; nil if their count is wrong.
  func littleEndian<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number? {
    guard count == Number.bitWidth / 8 else { return nil }
    return reversed().reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) }
  }

  /// The bytes of hexadecimal digits; nil for anything else.
  init?(hexadecimal text: some Collection<UInt8>) {
    guard text.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    var high: UInt8?
    for digit in text {
      guard digit < 0x80, let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
      if let first = high {
        bytes.append(first << 4 | UInt8(value))
        high = nil
      } else {
        high = UInt8(value)
      }
    }
    self = bytes
  }
}
