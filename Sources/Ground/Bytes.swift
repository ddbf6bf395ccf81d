/// Reads the format's layouts from untrusted bytes. It throws on any mismatch and never reads past the end.
package struct ByteReader: Sendable {
  private let bytes: [UInt8]
  private let end: Int

  package private(set) var offset: Int

  package init(_ bytes: [UInt8], in range: Range<Int>? = nil) {
    self.bytes = bytes
    offset = range?.lowerBound ?? 0
    end = range?.upperBound ?? bytes.count
  }

  package struct Failure: Error {
    package init() {}
  }

  package var remaining: Int { end - offset }

  package mutating func read(count: Int) throws(Failure) -> ArraySlice<UInt8> {
    guard count >= 0, count <= remaining else { throw Failure() }
    defer { offset += count }
    return bytes[offset..<offset + count]
  }

  // Integers are big-endian. Overloads for each width instead of one generic method, which other modules would call
  // unspecialized.
  package mutating func read(_: UInt8.Type) throws(Failure) -> UInt8 { UInt8(truncatingIfNeeded: try readInteger(1)) }
  package mutating func read(_: UInt16.Type) throws(Failure) -> UInt16 { .init(truncatingIfNeeded: try readInteger(2)) }
  package mutating func read(_: UInt32.Type) throws(Failure) -> UInt32 { .init(truncatingIfNeeded: try readInteger(4)) }
  package mutating func read(_: UInt64.Type) throws(Failure) -> UInt64 { try readInteger(8) }

  private mutating func readInteger(_ count: Int) throws(Failure) -> UInt64 {
    guard count <= remaining else { throw Failure() }
    var value: UInt64 = 0
    for index in offset..<offset + count { value = value << 8 | UInt64(bytes[index]) }
    offset += count
    return value
  }

  /// Reads a number below 2^53, the format's limit for counters.
  package mutating func readCounter() throws(Failure) -> UInt64 {
    let value = try read(UInt64.self)
    guard value < ByteReader.counterLimit else { throw Failure() }
    return value
  }

  package mutating func readBytes32() throws(Failure) -> Bytes32 { Bytes32(try read(count: 32))! }

  package mutating func expectZeros(_ count: Int) throws(Failure) {
    guard try read(count: count).allSatisfy({ $0 == 0 }) else { throw Failure() }
  }

  package mutating func readCounted16() throws(Failure) -> [UInt8] {
    let count = try read(UInt16.self)
    return Array(try read(count: Int(count)))
  }

  package mutating func readCounted32(limit: Int) throws(Failure) -> [UInt8] {
    let count = try read(UInt32.self)
    guard count <= limit else { throw Failure() }
    return Array(try read(count: Int(count)))
  }

  package func finish() throws(Failure) { guard remaining == 0 else { throw Failure() } }

  /// Counters (revisions, generations, epochs, versions, counts) stay below this.
  package static let counterLimit: UInt64 = 1 << 53
}

// Not one property of all sequences: a process that reads one item would search the conformances of their types.

extension [UInt8] {
  package func word(at offset: Int) -> UInt32 { self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

  package var hexadecimal: String { self[...].hexadecimal }
}

extension ArraySlice<UInt8> {
  /// Two lower-case hexadecimal digits for each byte.
  package var hexadecimal: String {
    unsafe String(unsafeUninitializedCapacity: 2 * count) { text in
      for (position, byte) in enumerated() {
        unsafe text[2 * position] = ArraySlice.digit(byte >> 4)
        unsafe text[2 * position + 1] = ArraySlice.digit(byte & 15)
      }
      return 2 * count
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

/// Thirty-two bytes held in place: a digest, a public key, a group id or a commitment.
///
/// Compares in byte order. Not for secrets: values are copied freely, and comparison stops at the first difference.
package struct Bytes32: Hashable, Sendable, Comparable {
  // Big-endian words, so that comparing the words compares the bytes.
  @usableFromInline var words: (UInt64, UInt64, UInt64, UInt64)

  package static let zero = Bytes32(words: (0, 0, 0, 0))

  package static let byteCount = 32

  private init(words: (UInt64, UInt64, UInt64, UInt64)) { self.words = words }

  // Overloads for each kind of bytes instead of one generic initializer, which other modules would call unspecialized.

  package init?(_ bytes: [UInt8]) { self.init(bytes[...]) }

  package init?(_ bytes: ArraySlice<UInt8>) {
    guard let value = unsafe bytes.span.withUnsafeBytes({ unsafe Bytes32($0) }) else { return nil }
    self = value
  }

  /// Makes a value from exactly 32 bytes; `nil` for any other count.
  package init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == 32 else { return nil }
    func word(_ index: Int) -> UInt64 {
      UInt64(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
    words = (word(0), word(1), word(2), word(3))
  }

  /// Reads 64 lower-case hexadecimal digits; `nil` for anything else.
  package init?(hexadecimal text: Substring) {
    guard text.utf8.count == 64, text.utf8.allSatisfy({ "0123456789abcdef".utf8.contains($0) }) else { return nil }
    let digits = Array(text)
    let words = (0..<4).compactMap { UInt64(String(digits[16 * $0..<16 * ($0 + 1)]), radix: 16) }
    self.init(words: (words[0], words[1], words[2], words[3]))
  }

  package init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    unsafe withUnsafeMutableBytes(of: &words) { buffer in
      unsafe fill(buffer.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }
    self.init(words: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian))
  }

  package var hexadecimal: String { bytes.hexadecimal }

  @inlinable
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let inOrder = (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)
    return unsafe Swift.withUnsafeBytes(of: inOrder) { unsafe body($0) }
  }

  package var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  /// Whether this is the code `other`, compared in constant time.
  package func isCode(_ other: Bytes32) -> Bool {
    (words.0 ^ other.words.0) | (words.1 ^ other.words.1) | (words.2 ^ other.words.2) | (words.3 ^ other.words.3) == 0
  }

  package static func == (left: Bytes32, right: Bytes32) -> Bool { left.words == right.words }

  package static func < (left: Bytes32, right: Bytes32) -> Bool { left.words < right.words }

  /// The first eight bytes, big-endian: enough to index a table of digests, which then compares them in full.
  package var word: UInt64 { words.0 }

  package func hash(into hasher: inout Hasher) {
    // Digests are uniform, so one word is enough for a hash. Values with equal hashes are still compared in full.
    hasher.combine(words.0)
  }
}

// Checks of bytes that may be text, without copying them.

extension UnsafeRawBufferPointer {
  package var isUTF8: Bool { unsafe (try? UTF8Span(validating: Span(_unsafeBytes: self))) != nil }

  /// Whether the bytes are printable ASCII, as nearly every text in a table is.
  package var isPrintableASCII: Bool {
    var start = 0
    // Eight bytes at a time. Without a byte from 0x80 on, no carry leaves a byte; without one below 0x20, no borrow.
    let ones: UInt64 = 0x0101_0101_0101_0101
    while start + 8 <= count {
      let word = unsafe loadUnaligned(fromByteOffset: start, as: UInt64.self)
      guard (word | (word &- 0x20 * ones) | (word &+ ones)) & (0x80 * ones) == 0 else { return false }
      start += 8
    }
    for index in start..<count { guard unsafe (0x20..<0x7F).contains(self[index]) else { return false } }
    return true
  }
}

extension String {
  package var isPrintableASCII: Bool { unsafe utf8Span.span.withUnsafeBytes { unsafe $0.isPrintableASCII } }
}

package struct ByteWriter: Sendable {
  package private(set) var bytes: [UInt8] = []

  package init(reservingCapacity capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  // Overloads for each type instead of generic methods, which other modules would call unspecialized.

  package mutating func write(_ value: UInt8) { bytes.append(value) }

  package mutating func write(_ value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    bytes.append(UInt8(truncatingIfNeeded: value))
  }

  package mutating func write(_ value: UInt32) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  package mutating func write(_ value: UInt64) {
    unsafe withUnsafeBytes(of: value.bigEndian) { unsafe bytes.append(contentsOf: $0) }
  }

  package mutating func write(_ raw: [UInt8]) { bytes.append(contentsOf: raw) }

  package mutating func write(_ raw: UnsafeRawBufferPointer) { unsafe bytes.append(contentsOf: raw) }

  package mutating func write(_ value: Bytes32) { unsafe value.withUnsafeBytes { unsafe write($0) } }

  package mutating func writeZeros(_ count: Int) { bytes.append(contentsOf: repeatElement(0, count: count)) }

  package mutating func writeCounted16(_ text: [UInt8]) {
    precondition(text.count <= 65_535)
    write(UInt16(text.count))
    bytes.append(contentsOf: text)
  }

  package mutating func writeCounted32(_ data: [UInt8]) {
    write(UInt32(data.count))
    bytes.append(contentsOf: data)
  }
}

extension UInt8 {
  package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
  package var isLetter: Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self | 0x20) }
  package var isHexadecimal: Bool { isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self | 0x20) }
  /// Letters, digits and `_`, as in the name of a variable.
  package var isWord: Bool { isLetter || isDigit || self == UInt8(ascii: "_") }
}

extension FixedWidthInteger {
  /// Reads decimal digits; `nil` for anything else, also for a sign.
  package init?(digits: some StringProtocol) {
    guard digits.utf8.allSatisfy(\.isDigit) else { return nil }
    self.init(digits)
  }
}
