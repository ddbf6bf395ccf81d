import Foundation
import KeyedArchives

/// An NSValue that holds C numbers: its type under `$0`, its number or array of numbers under `$1`.
///
/// Structures, pointers, objects and everything else are refused, because their bytes would be copied into memory
/// unchecked.
struct RawValue {
  private let fields: Fields

  init(_ fields: Fields) { self.fields = fields }

  func build() throws(ArchiveError) -> NSValue {
    let type = try fields.text("$0")
    guard let (code, count) = Self.parse(type) else { throw fields.invalid("its type is not a C number") }
    var bytes: [UInt8] = []
    if let count {
      bytes = try arrayBytes(code, count)
    } else {
      guard let position = fields.coder.node(forRawKey: "$1") else { throw fields.missing("1") }
      try append(fields.coder.table.list.nodes[position], code, to: &bytes)
    }
    return unsafe type.withCString { encoding in
      unsafe bytes.withUnsafeBytes { buffer in
        // The buffer is never empty: `parse` refuses a count of zero, and each number has at least one byte.
        unsafe buffer.baseAddress.map { unsafe NSValue(bytes: $0, objCType: encoding) } ?? NSValue()
      }
    }
  }

  /// Parses a type such as `i` or `[3i]`.
  static func parse(_ type: String) -> (code: Character, count: Int?)? {
    if type.count == 1, let code = type.first, Self.sizes[code] != nil { return (code, nil) }
    guard type.utf8.count <= 16, type.hasPrefix("["), type.hasSuffix("]"), let code = type.dropLast().last,
      Self.sizes[code] != nil, type.dropFirst().dropLast(2).allSatisfy({ $0.isASCII && $0.isNumber }),
      let count = Int(type.dropFirst().dropLast(2)), count > 0
    else { return nil }
    return (code, count)
  }

  private func arrayBytes(_ code: Character, _ count: Int) throws(ArchiveError) -> [UInt8] {
    let table = fields.coder.table
    guard let position = fields.coder.node(forRawKey: "$1"), table.list.nodes[position].kind == .uid,
      case .instance(let type) = table.records[Int(table.list.nodes[position].payload)],
      table.classes[type].name == FoundationClasses.rawArray
    else { throw fields.invalid("its numbers are not an array") }
    let dictionary = table.node(ofObject: Int(table.list.nodes[position].payload))
    guard let length = table.value(under: "NS.count", in: dictionary),
      table.list.integer(table.list.nodes[length]) == Int128(count)
    else { throw fields.invalid("its count contradicts its type") }
    var bytes: [UInt8] = []
    for index in 0..<count {
      guard let element = table.value(under: "$\(index)", in: dictionary) else { throw fields.missing("1") }
      try append(table.list.nodes[element], code, to: &bytes)
    }
    return bytes
  }

  private func append(_ node: Node, _ code: Character, to bytes: inout [UInt8]) throws(ArchiveError) {
    func take<T: FixedWidthInteger & BitwiseCopyable>(_ value: T) {
      for index in 0..<(T.bitWidth / 8) { bytes.append(UInt8(truncatingIfNeeded: value >> T(8 * index))) }
    }
    switch code {
    case "c": take(try fields.coder.number(node, .key("1"), Numbers.integer) as Int8)
    case "C": take(try fields.coder.number(node, .key("1"), Numbers.integer) as UInt8)
    case "s": take(try fields.coder.number(node, .key("1"), Numbers.integer) as Int16)
    case "S": take(try fields.coder.number(node, .key("1"), Numbers.integer) as UInt16)
    case "i": take(try fields.coder.number(node, .key("1"), Numbers.integer) as Int32)
    case "I": take(try fields.coder.number(node, .key("1"), Numbers.integer) as UInt32)
    case "q": take(try fields.coder.number(node, .key("1"), Numbers.integer) as Int64)
    case "Q": take(try fields.coder.number(node, .key("1"), Numbers.integer) as UInt64)
    case "f": take(try fields.coder.number(node, .key("1"), Numbers.float).bitPattern)
    default: take(try fields.coder.number(node, .key("1"), Numbers.double).bitPattern)
    }
  }

  /// The supported types and their sizes.
  static let sizes: [Character: Int] = [
    "c": 1, "C": 1, "s": 2, "S": 2, "i": 4, "I": 4, "q": 8, "Q": 8, "f": 4, "d": 8,
  ]
}
