import Foundation
import KeyedArchives

extension ValueClass {
  /// Dictionaries and sets. The work of filling them is charged to the budget before they are filled.
  static let hashedCollections = [
    ValueClass("NSDictionary", NSDictionary.self) { fields throws(ArchiveError) in
      let (keys, values) = try pairs(fields)
      return try checked(NSDictionary(objects: values, forKeys: keys), keys.count, fields)
    },
    ValueClass("NSMutableDictionary", NSMutableDictionary.self, variantOf: NSDictionary.self) {
      fields throws(ArchiveError) in
      let (keys, values) = try pairs(fields)
      return try checked(NSMutableDictionary(objects: values, forKeys: keys), keys.count, fields)
    },
    ValueClass("NSSet", NSSet.self) { fields throws(ArchiveError) in
      let members = try members(fields, .set)
      return try checked(NSSet(array: members), members.count, fields)
    },
    ValueClass("NSMutableSet", NSMutableSet.self, variantOf: NSSet.self) { fields throws(ArchiveError) in
      let members = try members(fields, .set)
      return try checked(NSMutableSet(array: members), members.count, fields)
    },
    ValueClass("NSOrderedSet", NSOrderedSet.self) { fields throws(ArchiveError) in
      let members = try members(fields, .orderedSet)
      return try checked(NSOrderedSet(array: members), members.count, fields)
    },
    ValueClass("NSMutableOrderedSet", NSMutableOrderedSet.self, variantOf: NSOrderedSet.self) {
      fields throws(ArchiveError) in
      let members = try members(fields, .mutableOrderedSet)
      return try checked(NSMutableOrderedSet(array: members), members.count, fields)
    },
    ValueClass("NSCountedSet", NSCountedSet.self) { fields throws(ArchiveError) in try countedMembers(fields) },
  ]

  private static func pairs(_ fields: Fields) throws(ArchiveError) -> (keys: [NSObject], values: [Any]) {
    let (keys, values) = try fields.pairs()
    return (try fields.coder.hashable(keys, in: .keys, fields), values.map(\.object))
  }

  private static func members(_ fields: Fields, _ kind: HashedKind) throws(ArchiveError) -> [NSObject] {
    try fields.coder.hashable(try fields.members(), in: kind, fields)
  }

  /// Refuses a container that lost elements because two were equal. On Linux, canonically equivalent strings are equal.
  private static func checked<T: NSObject>(_ filled: T, _ count: Int, _ fields: Fields) throws(ArchiveError) -> T {
    let present =
      switch filled {
      case let dictionary as NSDictionary: dictionary.count
      case let set as NSSet: set.count
      case let set as NSOrderedSet: set.count
      default: count
      }
    guard present == count else { throw fields.twice }
    return filled
  }

  private static func countedMembers(_ fields: Fields) throws(ArchiveError) -> NSCountedSet {
    let elements = try fields.numberedElements("NS.object")
    guard try fields.integer("NS.count") == elements.count else { throw fields.invalid("'NS.count' is not its count") }
    let set = NSCountedSet()
    let members = try fields.coder.hashable(elements, in: .set, fields)
    // The cost of a lookup, including elements with equal hashes.
    let price = (fields.coder.costs[fields.object]?.comparison ?? 0) / max(1, members.count)
    for (index, element) in members.enumerated() {
      let count = try fields.integer("NS.count\(index)")
      guard count > 0 else { throw fields.invalid("the count of an element is not positive") }
      guard count <= fields.coder.limits.elements else {
        throw .overLimit(.elements, allowed: fields.coder.limits.elements, at: fields.coder.here)
      }
      // Foundation on Linux adds each occurrence separately, at the cost of many comparisons each.
      let work = count.saturatingProduct(price.saturatingProduct(2).saturatingSum(32))
      try fields.coder.budget.take(comparisons: work, at: fields.coder.here)
      guard !set.contains(element) else { throw fields.twice }
      for _ in 0..<count { set.add(element) }
    }
    return set
  }
}
