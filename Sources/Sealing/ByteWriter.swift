/// Builds the format's layouts: big-endian integers, fixed bytes, counted bytes.
package struct ByteWriter: Sendable {
  /// The bytes written so far.
  package private(set) var bytes: [UInt8] = []

  package init(reservingCapacity capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  // Overloads for each type instead of generic methods, which other modules would call unspecialized.

  /// Appends one byte.
  package mutating func write(_ value: UInt8) { bytes.append(value) }

  /// Appends two bytes, big-endian.
  package mutating func write(_ value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
  }

  /// Appends four bytes, big-endian.
  package mutating func write(_ value: UInt32) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends eight bytes, big-endian.
  package mutating func write(_ value: UInt64) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends `raw` as it is.
  package mutating func write(_ raw: [UInt8]) { bytes.append(contentsOf: raw) }

  /// Appends `raw` as it is.
  package mutating func write(_ raw: ArraySlice<UInt8>) { bytes.append(contentsOf: raw) }

  /// Appends `raw` as it is.
  package mutating func write(_ raw: UnsafeRawBufferPointer) { unsafe bytes.append(contentsOf: raw) }

  /// Appends `count` zeros.
  package mutating func writeZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

  /// Appends the 32 bytes of `value`.
  package mutating func write(_ value: Bytes32) { unsafe value.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) } }

  /// Appends the 16 bytes of `label`.
  package mutating func write(_ label: Label) {
    unsafe label.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
  }

  /// Appends a two-byte count and then `text`, at most 65,535 bytes.
  package mutating func writeCounted16(_ text: [UInt8]) {
    precondition(text.count <= 65_535)
    write(UInt16(text.count))
    bytes.append(contentsOf: text)
  }

  /// Appends a four-byte count and then `data`.
  package mutating func writeCounted32(_ data: [UInt8]) {
    write(UInt32(data.count))
    bytes.append(contentsOf: data)
  }
}
