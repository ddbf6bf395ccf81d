import Foundation
import KeyedArchives

extension ValueClass {
  /// Arrays. Their elements may have any class that the site accepts.
  static let collections = [
    ValueClass("NSArray", NSArray.self) { fields throws(ArchiveError) in
      NSArray(array: try arrayElements(fields))
    },
    ValueClass("NSMutableArray", NSMutableArray.self, variantOf: NSArray.self) {
      fields throws(ArchiveError) in
      NSMutableArray(array: try arrayElements(fields))
    },
  ]

  private static func arrayElements(_ fields: Fields) throws(ArchiveError) -> [Any] {
    let elements =
      fields.has("NS.objects")
      ? try fields.elements("NS.objects") : try fields.numberedElements("NS.object.")
    return elements.map(\.object)
  }
}
