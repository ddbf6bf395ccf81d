import Foundation
import KeyedArchives

extension ValueClass {
  /// Index sets and index paths, whose numbers are packed seven bits to a byte.
  static let indexes = [
    ValueClass("NSIndexSet", NSIndexSet.self) { fields throws(ArchiveError) in
      NSIndexSet(indexSet: try indexSet(fields) as IndexSet)
    },
    ValueClass("NSMutableIndexSet", NSMutableIndexSet.self, variantOf: NSIndexSet.self) { fields throws(ArchiveError) in
      try indexSet(fields)
    },
    ValueClass("NSIndexPath", NSIndexPath.self) { fields throws(ArchiveError) in
      var indexes = try pathIndexes(fields)
      return unsafe NSIndexPath(indexes: &indexes, length: indexes.count)
    },
  ]

  private static func indexSet(_ fields: Fields) throws(ArchiveError) -> NSMutableIndexSet {
    let count = try fields.integer("NSRangeCount")
    let set = NSMutableIndexSet()
    var numbers: [Int] = []
    switch count {
    case 0: break
    case 1: numbers = [try fields.integer("NSLocation"), try fields.integer("NSLength")]
    default: numbers = try packed("NSRangeData", count: count.saturatingProduct(2), fields)
    }
    var end = 0
    for pair in stride(from: 0, to: numbers.count, by: 2) {
      let range = try range(numbers[pair], numbers[pair + 1], fields)
      guard range.length > 0, range.location >= end, range.location + range.length <= NSNotFound else {
        throw fields.invalid("its ranges are not in order")
      }
      end = range.location + range.length
      set.add(in: range)
    }
    return set
  }

  private static func pathIndexes(_ fields: Fields) throws(ArchiveError) -> [Int] {
    let count = try fields.integer("NSIndexPathLength")
    switch count {
    case 0: return []
    case 1: return [try fields.integer("NSIndexPathValue")]
    default: return try packed("NSIndexPathData", count: count, fields)
    }
  }

  /// Unpacks `count` numbers, seven bits to a byte, lowest bits first. The eighth bit means that more bytes follow.
  static func packed(_ key: String, count: Int? = nil, _ fields: Fields) throws(ArchiveError) -> [Int] {
    let bytes = try fields.data(key)
    guard count ?? 0 >= 0, count ?? 0 <= bytes.count else { throw fields.invalid("its count exceeds its numbers") }
    var numbers: [Int] = []
    var value = 0
    var shift = 0
    for byte in bytes {
      let bits = Int(byte & 0x7F)
      guard shift < 63, (bits << shift) >> shift == bits, bits << shift >= 0 else {
        throw fields.invalid("a number is too large")
      }
      value |= bits << shift
      shift += 7
      if byte & 0x80 == 0 {
        numbers.append(value)
        (value, shift) = (0, 0)
      }
    }
    guard shift == 0 else { throw fields.invalid(key, "ends within a number") }
    guard count == nil || numbers.count == count else { throw fields.invalid("its count does not match its numbers") }
    // The bytes are already charged. Each number takes eight.
    try fields.coder.budget.take(bytes: 8 * numbers.count - bytes.count, at: fields.coder.here)
    return numbers
  }
}

extension ValueWriter {
  /// Index sets, index paths and character sets.
  static let indexes = [
    ValueWriter(NSIndexSet.self, "NSIndexSet") { set, fields throws(ArchiveError) in write(set, fields) },
    ValueWriter(NSMutableIndexSet.self, "NSMutableIndexSet", "NSIndexSet") { set, fields throws(ArchiveError) in
      write(set, fields)
    },
    ValueWriter(NSIndexPath.self, "NSIndexPath") { path, fields throws(ArchiveError) in
      fields.integer("NSIndexPathLength", path.length)
      let numbers = (0..<path.length).map { path.index(atPosition: $0) }
      switch numbers.count {
      case 0: break
      case 1: fields.integer("NSIndexPathValue", numbers[0])
      default: fields.object("NSIndexPathData", packed(numbers))
      }
    },
    ValueWriter(NSCharacterSet.self, "NSCharacterSet") { set, fields throws(ArchiveError) in
      fields.data("NSBitmap", set.bitmapRepresentation)
    },
    ValueWriter(NSMutableCharacterSet.self, "NSMutableCharacterSet", "NSCharacterSet") {
      set, fields throws(ArchiveError) in
      fields.data("NSBitmap", set.bitmapRepresentation)
    },
  ]

  private static func write(_ set: NSIndexSet, _ fields: FieldsWriter) {
    var numbers: [Int] = []
    for range in (set as IndexSet).rangeView { numbers += [range.lowerBound, range.count] }
    fields.integer("NSRangeCount", numbers.count / 2)
    switch numbers.count {
    case 0: break
    case 2:
      fields.integer("NSLocation", numbers[0])
      fields.integer("NSLength", numbers[1])
    default: fields.object("NSRangeData", packed(numbers))
    }
  }

  /// Packs numbers seven bits to a byte, lowest bits first. The eighth bit means that more bytes follow.
  static func packed(_ numbers: [Int]) -> Data {
    var bytes: [UInt8] = []
    for number in numbers {
      var rest = UInt(bitPattern: number)
      while rest > 0x7F {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }
    return Data(bytes)
  }
}
