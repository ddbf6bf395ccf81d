import Foundation
import KeyedArchives

/// A dictionary on its way from a Swift value into an archive. Foundation's own takes two spellings of one text for the same
/// key, and keeps no order.
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

/// An array on its way from a Swift value into an archive.
final class CodedArray: NSObject {
  var elements: [AnyObject] = []
}

/// A place for the value that an encoder is asked for, and may make later.
final class CodedPlace: NSObject {
  var value: AnyObject?
}

extension ValueWriter {
  /// Swift values, in the order of their keys' bytes; and the numbers that an NSValue may hold.
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
