import Foundation
import KeyedArchives

extension ValueClass {
  /// Dictionaries and sets. How much work filling them takes is known, and taken from the budget, before they are filled.
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
      let members = try members(fields)
      return try checked(NSSet(array: members), members.count, fields)
    },
    ValueClass("NSMutableSet", NSMutableSet.self, variantOf: NSSet.self) { fields throws(ArchiveError) in
      let members = try members(fields)
      return try checked(NSMutableSet(array: members), members.count, fields)
    },
    ValueClass("NSOrderedSet", NSOrderedSet.self) { fields throws(ArchiveError) in
      let members = try members(fields)
      return try checked(NSOrderedSet(array: members), members.count, fields)
    },
    ValueClass("NSMutableOrderedSet", NSMutableOrderedSet.self, variantOf: NSOrderedSet.self) {
      fields throws(ArchiveError) in
      let members = try members(fields)
      return try checked(NSMutableOrderedSet(array: members), members.count, fields)
    },
    ValueClass("NSCountedSet", NSCountedSet.self) { fields throws(ArchiveError) in try countedMembers(fields) },
  ]

  private static func pairs(_ fields: Fields) throws(ArchiveError) -> (keys: [NSObject], values: [Any]) {
    let isListed = fields.has("NS.keys") || fields.has("NS.objects")
    let keys = isListed ? try fields.elements("NS.keys") : try fields.numberedElements("NS.key.")
    let values = isListed ? try fields.elements("NS.objects") : try fields.numberedElements("NS.object.")
    guard keys.count == values.count else { throw fields.invalid("it has \(keys.count) keys, \(values.count) values") }
    return (try hashableElements(keys, fields, refusing: unusableAsKeys), values)
  }

  private static func members(_ fields: Fields) throws(ArchiveError) -> [NSObject] {
    let elements =
      fields.has("NS.objects")
      ? try fields.elements("NS.objects") : try fields.numberedElements("NS.object.")
    return try hashableElements(elements, fields, refusing: unusableInSets)
  }

  /// Foundation on Linux ends the process when sets with such elements are compared: it casts their Swift counterparts,
  /// which have no hash.
  private static let unusableInSets: [AnyClass] = [NSArray.self, NSDictionary.self]
  /// The same for the keys of dictionaries; the last one is never found again.
  private static let unusableAsKeys: [AnyClass] =
    unusableInSets + [NSCountedSet.self, NSDateInterval.self, NSPersonNameComponents.self]

  /// Refuses a container that lost elements, because two were equal: on Linux, two spellings of one text are.
  private static func checked<T: NSObject>(_ filled: T, _ count: Int, _ fields: Fields) throws(ArchiveError) -> T {
    let present =
      switch filled {
      case let dictionary as NSDictionary: dictionary.count
      case let set as NSSet: set.count
      case let set as NSOrderedSet: set.count
      default: count
      }
    guard present == count else { throw fields.invalid("two of its elements or keys are equal") }
    return filled
  }

  private static func countedMembers(_ fields: Fields) throws(ArchiveError) -> NSCountedSet {
    let elements = try fields.numberedElements("NS.object")
    guard try fields.integer("NS.count") == elements.count else { throw fields.invalid("'NS.count' is not its count") }
    let set = NSCountedSet()
    for (index, element) in try hashableElements(elements, fields, refusing: unusableInSets).enumerated() {
      let count = try fields.integer("NS.count\(index)")
      guard count > 0 else { throw fields.invalid("an element counts \(count) times") }
      guard count <= fields.coder.limits.elements else {
        throw .overLimit(.elements, allowed: fields.coder.limits.elements, at: fields.coder.here)
      }
      // Foundation on Linux counts one by one, at the price of many comparisons each.
      try fields.coder.budget.take(comparisons: count * 32, at: fields.coder.here)
      guard !set.contains(element) else { throw fields.invalid("two of its elements are equal") }
      for _ in 0..<count { set.add(element) }
    }
    return set
  }

  /// The elements as objects with a hash. Where hashes are equal, elements are compared with each other: what that may
  /// cost is taken from the budget first, so that hostile elements cannot make it explode.
  private static func hashableElements(
    _ elements: [Any], _ fields: Fields, refusing unusable: [AnyClass]
  ) throws(ArchiveError) -> [NSObject] {
    var objects: [NSObject] = []
    objects.reserveCapacity(elements.count)
    for element in elements {
      guard let object = element as? NSObject else { throw fields.invalid("an element has no hash") }
      objects.append(object)
    }
    try fields.coder.takeComparisons(objects, ofObject: fields.object)
    for object in objects where unusable.contains(where: { ClassNames.descends(Swift.type(of: object), from: $0) }) {
      throw fields.invalid("Foundation on Linux cannot compare an element or key of its")
    }
    return objects
  }
}
