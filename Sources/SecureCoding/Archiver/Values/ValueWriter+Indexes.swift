import Foundation
import KeyedArchives

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
