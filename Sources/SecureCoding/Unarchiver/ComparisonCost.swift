import Foundation
import KeyedArchives

/// The cost of comparing, hashing and converting objects, in steps of a few tenths of a microsecond.
///
/// Foundation on Linux hashes a container by its count alone, and long strings and data by some of their bytes. It also
/// converts a container to a Swift value on every access, which hashes all elements of a set again. So each level of
/// nested sets doubles the cost, and comparing a small archive of them could take years. The cost of each object is
/// therefore computed before the object is used.
extension SecureUnarchiver {
  /// The cost of one object.
  struct Cost {
    /// The cost of converting it to a Swift value.
    var conversion: Int
    /// The cost of comparing it with another object.
    var comparison: Int

    static func + (one: Cost, other: Cost) -> Cost {
      Cost(
        conversion: one.conversion.saturatingSum(other.conversion),
        comparison: one.comparison.saturatingSum(other.comparison))
    }
  }

  /// Records the cost of a Foundation object that has no recorded cost yet: a comparison converts each part once more.
  func noteParts(of fields: Fields) throws(ArchiveError) {
    guard costs[fields.object] == nil else { return }
    let parts = partCosts(of: fields.object)
    try note(Cost(conversion: parts.conversion, comparison: parts.comparison.saturatingSum(parts.conversion)), fields)
  }

  /// Checks the elements of a set, or the keys of a dictionary, before Foundation hashes or compares any of them, and
  /// charges the cost of filling the container. Equal elements are refused.
  func hashable(
    _ elements: [Fields.Element], in kind: HashedKind, _ fields: Fields
  ) throws(ArchiveError) -> [NSObject] {
    var objects: [NSObject] = []
    var texts: Set<String> = []
    objects.reserveCapacity(elements.count)
    for element in elements {
      guard let object = element.object as? NSObject else { throw fields.invalid("an element has no hash") }
      if let defect = kind.defect(of: object) {
        throw .invalidValue(ofClass: ClassNames.name(of: type(of: object)), reason: defect, at: here)
      }
      // Canonically equivalent strings are equal but have different hashes, so Foundation would not find all
      // duplicates.
      if let text = object as? NSString, !isASCII(element) {
        let text = String(describing: text)
        // Hashing a text by canonical equivalence takes time in proportion to it.
        try budget.take(comparisons: text.utf8.count / 16, at: here)
        guard texts.insert(text).inserted else { throw fields.twice }
      }
      objects.append(object)
    }
    let costs = elements.map(cost(of:))
    // Each is compared with itself.
    for (object, (element, cost)) in zip(objects, zip(elements, costs)) where !isPlain(object) && !isOfUser(element) {
      try budget.take(comparisons: cost.comparison.saturatingSum(cost.conversion), at: here)
    }
    let collisions = try takeFilling(objects, costs, fields)
    try noteHashed(costs, collisions: collisions, kind, fields)
    return objects
  }

  /// Elements with the same hash are compared with each other. So are all elements of classes whose equal objects may
  /// have different hashes.
  ///
  /// - Returns: the cost of comparing elements with the same hash: as objects, and as Swift values while they are
  ///   converted. Converted strings do not collide, because Swift hashes all of a string.
  private func takeFilling(_ objects: [NSObject], _ costs: [Cost], _ fields: Fields) throws(ArchiveError) -> Cost {
    var groups: [Int: (count: Int, cost: Int, isText: Bool)] = [:]
    var unsound: [NSObject] = []
    var unsoundCost = 0
    for (object, cost) in zip(objects, costs) {
      let price = isPlain(object) ? cost.comparison : cost.comparison.saturatingSum(cost.conversion)
      guard HashedKind.isSound(object) else {
        unsound.append(object)
        unsoundCost = unsoundCost.saturatingSum(price.saturatingProduct(2))
        continue
      }
      let group = groups[object.hash] ?? (0, 0, true)
      groups[object.hash] = (
        group.count + 1, group.cost.saturatingSum(price), group.isText && object is NSString
      )
    }
    let pairs = unsoundCost.saturatingProduct(max(0, unsound.count - 1))
    var collisions = Cost(conversion: pairs, comparison: pairs)
    for group in groups.values where group.count > 1 {
      let price = group.cost.saturatingProduct(group.count - 1)
      collisions = collisions + Cost(conversion: group.isText ? 0 : price, comparison: price)
    }
    let total = collisions.comparison
    // Doubled because each is also compared with itself, and an ordered set looks each up again.
    try budget.take(comparisons: total.saturatingSum(unsoundCost).saturatingProduct(2), at: here)
    // An ordered set would lose an element that is not equal to itself, such as NaN.
    for object in objects where !isPlain(object) && !object.isEqual(object) {
      throw fields.invalid("an element or key is not equal to itself")
    }
    for (index, object) in unsound.enumerated() {
      for other in unsound[..<index] where HashedKind.areEqual(object, other) { throw fields.twice }
    }
    return collisions
  }

  /// Records the cost of a set or dictionary: converting it hashes and compares its elements.
  private func noteHashed(
    _ costs: [Cost], collisions: Cost, _ kind: HashedKind, _ fields: Fields
  ) throws(ArchiveError) {
    let elements = costs.reduce(Cost(conversion: 1, comparison: 1), +)
    let once = elements.comparison.saturatingSum(elements.conversion).saturatingSum(collisions.conversion)
    switch kind {
    case .orderedSet, .mutableOrderedSet:
      try note(Cost(conversion: 1, comparison: once.saturatingSum(collisions.comparison)), fields)
    case .set:
      let comparison = once.saturatingSum(collisions.comparison).saturatingProduct(2)
      try note(Cost(conversion: once, comparison: comparison), fields)
    case .keys:
      let all = partCosts(of: fields.object)
      let whole = all.comparison.saturatingSum(all.conversion).saturatingSum(once)
        .saturatingSum(collisions.comparison)
      try note(
        Cost(conversion: once.saturatingSum(all.conversion), comparison: whole.saturatingSum(all.conversion)), fields)
    }
  }

  /// Records a cost, and refuses an object that would take too long to compare or print.
  func note(_ cost: Cost, _ fields: Fields) throws(ArchiveError) {
    guard readsSwiftValue || cost.comparison <= limits.comparisons else {
      throw .overLimit(.comparisons, allowed: limits.comparisons, at: here)
    }
    costs[fields.object] = cost
  }

  /// The cost of an object: the recorded one, otherwise the cost of its bytes, otherwise that of the objects it expands
  /// to.
  func cost(ofObject number: Int) -> Cost {
    if let cost = costs[number] { return cost }
    guard case .value = table.records[number] else {
      let unfolded = Int(clamping: table.graph.unfolded[number])
      return Cost(conversion: unfolded, comparison: unfolded.saturatingProduct(4))
    }
    return cost(of: table.list.nodes[table.node(ofObject: number)])
  }

  private func cost(of node: Node) -> Cost {
    switch node.kind {
    case .ascii, .utf8, .utf16: Cost(conversion: 1, comparison: 1 + node.size / 512)
    // Foundation on Linux compares data byte by byte.
    case .data: Cost(conversion: 1, comparison: 1 + node.size / 2)
    default: Cost(conversion: 1, comparison: 1)
    }
  }

  /// Strings and data are compared without being converted.
  private func isPlain(_ object: NSObject) -> Bool { object is NSString || object is NSData }

  /// Whether an element is of one of the caller's classes, which compare as they please.
  private func isOfUser(_ element: Fields.Element) -> Bool {
    let node = table.list.nodes[element.node]
    guard node.kind == .uid, case .instance(let position) = table.records[Int(node.payload)],
      case .user = entries[position]
    else { return false }
    return true
  }

  /// Whether an element is an ASCII string, which has no canonically equivalent variant.
  private func isASCII(_ element: Fields.Element) -> Bool {
    let node = table.list.nodes[element.node]
    return (node.kind == .uid ? table.list.nodes[table.node(ofObject: Int(node.payload))] : node).kind == .ascii
  }

  /// The cost of an element of a container.
  func cost(of element: Fields.Element) -> Cost {
    let node = table.list.nodes[element.node]
    return node.kind == .uid ? cost(ofObject: Int(node.payload)) : cost(of: node)
  }

  /// The total cost of everything that an object refers to or holds inline. A nested container is converted several
  /// times during a comparison.
  private func partCosts(of number: Int) -> Cost {
    var sum = Cost(conversion: 1, comparison: 1)
    for reference in table.graph.references(of: number) {
      let cost = cost(ofObject: Int(reference))
      sum = sum + cost
      if cost.conversion > 1 { sum.comparison = sum.comparison.saturatingSum(cost.conversion.saturatingProduct(8)) }
    }
    for node in table.list.values(table.list.nodes[table.node(ofObject: number)]) {
      let value = table.list.nodes[Int(node)]
      if value.isString || value.kind == .data { sum = sum + cost(of: value) }
    }
    return sum
  }
}

/// The kinds of containers that hash their elements.
enum HashedKind {
  case set, orderedSet, mutableOrderedSet, keys

  /// Why Foundation on Linux cannot hold `object` in such a container; nil if it can.
  func defect(of object: NSObject) -> String? {
    switch object {
    case _ where !Self.hasHash(object): "it has no hash"
    // Its Swift counterpart may resolve differently, and then a lookup does not find it.
    case let url as NSURL where !((url as URL) as NSURL).isEqual(url): "its Swift counterpart is a different URL"
    // Comparing sets with such elements, or copying a mutable ordered set, converts them to Swift values that have no
    // hash.
    case is NSArray, is NSDictionary:
      self == .orderedSet ? nil : "Foundation on Linux cannot compare it as an element or key"
    // Its Swift counterpart has no counts, so a container that holds one is not equal to itself.
    case is NSCountedSet: "Foundation on Linux cannot compare it as an element or key"
    // A lookup never finds these.
    case is NSDateInterval, is NSPersonNameComponents:
      self == .keys ? "Foundation on Linux cannot compare it as an element or key" : nil
    default: nil
    }
  }

  /// Whether the hash of `value` as an object can be asked for: otherwise that ends the process.
  static func hasHash(_ value: Any) -> Bool {
    switch value as AnyObject {
    case is NSDecimalNumber, is NSError: false
    case let measurement as NSMeasurement: Int(exactly: measurement.doubleValue.rounded(.towardZero)) != nil
    default: true
    }
  }

  /// Whether equal objects of this class have equal hashes, also after conversion to Swift values. The caller's own
  /// classes are trusted.
  static func isSound(_ object: NSObject) -> Bool {
    switch object {
    case is NSString, is NSNumber, is NSData, is NSDate, is NSURL, is NSUUID, is NSLocale, is NSTimeZone,
      is NSIndexPath,
      is NSIndexSet, is NSCharacterSet, is NSArray, is NSDictionary, is NSValue:
      true
    default: !ClassNames.isFoundation(type(of: object))
    }
  }

  /// Whether two objects are equal, either as objects or as Swift values.
  static func areEqual(_ one: NSObject, _ other: NSObject) -> Bool {
    if one.isEqual(other) { return true }
    let values = NSArray(array: [one, other])
    guard let one = values[0] as? AnyHashable, let other = values[1] as? AnyHashable else { return false }
    return one == other
  }
}
