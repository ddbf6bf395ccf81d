import Foundation
import KeyedArchives

/// A dictionary that was encoded from a Swift value and is yet to be archived. Foundation's own would merge keys that
/// are canonically equivalent, and keeps no order.
final class CodedDictionary: NSObject {
  private(set) var pairs: [(key: String, value: AnyObject)] = []
  private var positions: [KeyTable.Key: Int] = [:]

  func set(_ key: String, _ value: AnyObject) {
    if let position = positions[KeyTable.Key(text: key)] {
      pairs[position].value = value
    } else {
      positions[KeyTable.Key(text: key)] = pairs.count
      pairs.append((key, value))
    }
  }
}

/// An array that was encoded from a Swift value and is yet to be archived.
final class CodedArray: NSObject {
  var elements: [AnyObject] = []
}

/// Holds the value of a nested encoder, which may be set later.
final class CodedPlace: NSObject {
  var value: AnyObject?
}

extension ValueWriter {
  /// Writers for encoded Swift values, with keys in byte order, and for the C arrays in an NSValue.
  static let own = [
    ValueWriter(CodedDictionary.self, "NSDictionary") { dictionary, fields throws(ArchiveError) in
      let pairs = dictionary.pairs.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      fields.objects("NS.keys", pairs.map { NSString(string: $0.key) })
      fields.objects("NS.objects", pairs.map(\.value))
    },
    ValueWriter(CodedArray.self, "NSArray") { array, fields throws(ArchiveError) in
      fields.objects("NS.objects", array.elements)
    },
    ValueWriter(OldStyleArray.self, FoundationClasses.rawArray) { array, fields throws(ArchiveError) in
      array.write(fields)
    },
  ]
}
