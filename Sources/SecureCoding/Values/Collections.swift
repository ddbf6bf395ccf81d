import Foundation
import KeyedArchives

extension ValueClass {
  /// Arrays. Their elements may have any class that the site accepts.
  static let collections = [
    ValueClass("NSArray", NSArray.self) { fields throws(ArchiveError) in
      NSArray(array: try fields.members().map(\.object))
    },
    ValueClass("NSMutableArray", NSMutableArray.self, variantOf: NSArray.self) {
      fields throws(ArchiveError) in
      NSMutableArray(array: try fields.members().map(\.object))
    },
  ]
}

extension ValueWriter {
  /// Arrays, dictionaries and sets. Unordered elements are sorted.
  static let containers = [
    ValueWriter(NSArray.self, "NSArray") { array, fields throws(ArchiveError) in
      fields.objects("NS.objects", RawElements.of(array))
    },
    ValueWriter(NSMutableArray.self, "NSMutableArray", "NSArray") { array, fields throws(ArchiveError) in
      fields.objects("NS.objects", RawElements.of(array))
    },
    ValueWriter(NSDictionary.self, "NSDictionary") { dictionary, fields throws(ArchiveError) in
      try write(dictionary, fields)
    },
    ValueWriter(NSMutableDictionary.self, "NSMutableDictionary", "NSDictionary") {
      dictionary, fields throws(ArchiveError) in
      try write(dictionary, fields)
    },
    ValueWriter(NSSet.self, "NSSet") { set, fields throws(ArchiveError) in
      fields.objects("NS.objects", try CanonicalOrder.sorted(RawElements.of(set), fields))
    },
    ValueWriter(NSMutableSet.self, "NSMutableSet", "NSSet") { set, fields throws(ArchiveError) in
      fields.objects("NS.objects", try CanonicalOrder.sorted(RawElements.of(set), fields))
    },
    ValueWriter(NSCountedSet.self, "NSCountedSet", "NSMutableSet", "NSSet") { set, fields throws(ArchiveError) in
      let elements = try CanonicalOrder.sorted(RawElements.of(set), fields)
      fields.integer("NS.count", elements.count)
      for (index, element) in elements.enumerated() {
        fields.object("NS.object\(index)", element)
        fields.integer("NS.count\(index)", set.count(for: element))
      }
    },
    ValueWriter(NSOrderedSet.self, "NSOrderedSet") { set, fields throws(ArchiveError) in
      for (index, element) in RawElements.of(set).enumerated() { fields.object("NS.object.\(index)", element) }
    },
    ValueWriter(NSMutableOrderedSet.self, "NSMutableOrderedSet", "NSOrderedSet") { set, fields throws(ArchiveError) in
      for (index, element) in RawElements.of(set).enumerated() { fields.object("NS.object.\(index)", element) }
    },
  ]

  private static func write(_ dictionary: NSDictionary, _ fields: FieldsWriter) throws(ArchiveError) {
    let pairs = RawElements.of(dictionary)
    let values = Dictionary(pairs.map { (ObjectIdentifier($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
    let keys = try CanonicalOrder.sorted(pairs.map(\.key), fields) { values[ObjectIdentifier($0)] }
    // The reader always accepts short ASCII keys: Foundation hashes all of a short string, and ASCII has no canonically
    // equivalent variants.
    if !keys.allSatisfy({ ($0 as? NSString).map(isAlwaysAKey) ?? false }) {
      fields.archiver.needsRehearsal = true
    }
    fields.objects("NS.keys", keys)
    fields.objects("NS.objects", keys.compactMap { values[ObjectIdentifier($0)] })
  }

  private static func isAlwaysAKey(_ text: NSString) -> Bool {
    text.length <= 96 && String(describing: text).utf8.count == text.length
  }
}
