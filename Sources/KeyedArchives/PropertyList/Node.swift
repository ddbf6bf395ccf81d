/// One value of a property list, in 16 bytes: its kind, and where its contents are in the list's tables.
package struct Node: Sendable {
  package enum Kind: UInt8, Sendable {
    case bool
    /// `payload` is the two's complement of a 64-bit number.
    case integer
    /// `payload` is a number above `Int64.max`.
    case unsigned
    /// `payload` is the position, in the list's table of wide integers, of a number that needs 128 bits.
    case wide
    /// `payload` holds the bits of a `Double`; `count` is 4 if the archive holds a single-precision number.
    case real
    /// `payload` holds the bits of a `Double`: seconds since 2001.
    case date
    /// `payload` and `count` are a range of the list's bytes.
    case data
    /// As for data; each byte is below 0x80.
    case ascii
    /// As for data; UTF-8.
    case utf8
    /// As for data; `count` UTF-16 code units in big-endian order, possibly with lone surrogates.
    case utf16
    /// `payload` is the number of an object.
    case uid
    /// `payload` is the index of the first of `count` children.
    case array
    /// `payload` is the index of the first of `count` keys, which are followed by `count` values.
    case dictionary
  }

  package var kind: Kind
  package var count: UInt32
  package var payload: UInt64

  package init(_ kind: Kind, count: Int = 0, payload: UInt64 = 0) {
    self.kind = kind
    self.count = UInt32(truncatingIfNeeded: count)
    self.payload = payload
  }

  package static func integer(_ value: Int64) -> Node { Node(.integer, payload: UInt64(bitPattern: value)) }
  package static func real(_ value: Double, single: Bool = false) -> Node {
    Node(.real, count: single ? 4 : 8, payload: value.bitPattern)
  }

  /// The index of its first byte or child.
  package var start: Int { Int(truncatingIfNeeded: payload) }
  /// The number of its bytes, code units, children or pairs.
  package var size: Int { Int(count) }
  package var isString: Bool { kind == .ascii || kind == .utf8 || kind == .utf16 }
  package var isContainer: Bool { kind == .array || kind == .dictionary }

  /// Its kind in words, for errors.
  package var words: String {
    switch kind {
    case .bool: "a boolean"
    case .integer, .unsigned, .wide: "an integer"
    case .real: "a real number"
    case .date: "a date"
    case .data: "data"
    case .ascii, .utf8, .utf16: "a string"
    case .uid: "a reference"
    case .array: "an array"
    case .dictionary: "a dictionary"
    }
  }
}
