import Foundation
import KeyedArchives

/// The fields of an archived Foundation object, read with their types checked.
///
/// An absent or nil field differs from a wrong one: methods that return an optional return nil for the former and throw
/// for the latter.
struct Fields {
  let coder: SecureUnarchiver
  let object: Int
  let className: String
  /// The classes that the decoding call accepts, for the elements of containers.
  let site: ClassSite

  private var list: PropertyList { coder.table.list }

  /// - Parameter reason: a static string, so that it cannot quote a value of the archive.
  func invalid(_ reason: StaticString) -> ArchiveError {
    .invalidValue(ofClass: className, reason: "\(reason)", at: coder.here)
  }

  /// The error for the value under `key`, with `problem` behind the key.
  func invalid(_ key: String, _ problem: StaticString) -> ArchiveError {
    .invalidValue(ofClass: className, reason: "'\(key)' \(problem)", at: coder.here)
  }

  /// The error for equal elements or keys. On Linux, canonically equivalent strings are equal too.
  var twice: ArchiveError { invalid("two of its elements or keys are equal") }

  func missing(_ key: String) -> ArchiveError { .missingValue(at: coder.here.appending(.key(key))) }

  /// The node under `key`; nil if it is absent or nil.
  private func position(_ key: String) -> Int? {
    guard let node = coder.node(forRawKey: key) else { return nil }
    let value = list.nodes[node]
    return value.kind == .uid && value.payload == 0 ? nil : node
  }

  func has(_ key: String) -> Bool { position(key) != nil }

  /// The string, number or data under `key`, inline or as an object; nil if it is absent.
  private func scalar(_ key: String, _ expected: String) throws(ArchiveError) -> Node? {
    guard let position = position(key) else { return nil }
    let node = list.nodes[position]
    guard node.kind == .uid else { return node }
    guard case .value = coder.table.records[Int(node.payload)] else {
      throw .wrongType(expected: expected, found: "another object", at: coder.here.appending(.key(key)))
    }
    return list.nodes[coder.table.node(ofObject: Int(node.payload))]
  }

  /// A string, inline, as an object, or as a mutable string.
  func textIfPresent(_ key: String) throws(ArchiveError) -> String? {
    guard let position = position(key) else { return nil }
    let node = list.nodes[position]
    if node.kind == .uid, case .instance = coder.table.records[Int(node.payload)] {
      guard let text = try objectIfPresent(key, of: [NSString.self]).map({ String(describing: $0) }) else { return nil }
      try coder.budget.take(bytes: text.utf8.count, at: coder.here)
      return text
    }
    guard let scalar = try scalar(key, "a string") else { return nil }
    return try within(key) { () throws(ArchiveError) in try coder.text(scalar) }
  }

  func text(_ key: String) throws(ArchiveError) -> String {
    guard let text = try textIfPresent(key) else { throw missing(key) }
    return text
  }

  /// Data, inline, as an object, or as mutable data.
  func dataIfPresent(_ key: String) throws(ArchiveError) -> Data? {
    guard let position = position(key) else { return nil }
    let node = list.nodes[position]
    if node.kind == .uid, case .instance = coder.table.records[Int(node.payload)] {
      guard let data = try objectIfPresent(key, of: [NSData.self]) as? NSData else { return nil }
      try coder.budget.take(bytes: data.length, at: coder.here)
      return Data(referencing: data)
    }
    guard let scalar = try scalar(key, "data") else { return nil }
    return try within(key) { () throws(ArchiveError) in try coder.data(scalar) }
  }

  func data(_ key: String) throws(ArchiveError) -> Data {
    guard let data = try dataIfPresent(key) else { throw missing(key) }
    return data
  }

  func integerIfPresent(_ key: String) throws(ArchiveError) -> Int? {
    guard let node = try scalar(key, "an integer") else { return nil }
    return try coder.number(node, .key(key), Numbers.integer)
  }

  func integer(_ key: String) throws(ArchiveError) -> Int {
    guard let value = try integerIfPresent(key) else { throw missing(key) }
    return value
  }

  func realIfPresent(_ key: String) throws(ArchiveError) -> Double? {
    guard let node = try scalar(key, "a real number") else { return nil }
    return try coder.number(node, .key(key), Numbers.double)
  }

  func real(_ key: String) throws(ArchiveError) -> Double {
    guard let value = try realIfPresent(key) else { throw missing(key) }
    return value
  }

  /// A boolean; false if it is absent.
  func flag(_ key: String) throws(ArchiveError) -> Bool {
    guard let node = try scalar(key, "a boolean") else { return false }
    return try coder.number(node, .key(key), Numbers.bool)
  }

  /// An object of one of `classes`, or of the site's classes if nil.
  func objectIfPresent(_ key: String, of classes: [AnyClass]? = nil) throws(ArchiveError) -> Any? {
    guard let position = position(key) else { return nil }
    let expected = classes.map { ClassSite(classes: $0, matching: site.matching) } ?? site
    return try within(key) { () throws(ArchiveError) in try coder.value(position, at: expected) }
  }

  func object<T>(_ key: String, of type: T.Type) throws(ArchiveError) -> T where T: NSObject {
    guard let object = try objectIfPresent(key, of: [type]) else { throw missing(key) }
    guard let typed = object as? T else {
      throw .wrongType(
        expected: ClassNames.name(of: type), found: "another object", at: coder.here.appending(.key(key)))
    }
    return typed
  }

  func objectIfPresent<T>(_ key: String, of type: T.Type) throws(ArchiveError) -> T? where T: NSObject {
    has(key) ? try object(key, of: type) : nil
  }

  /// The cost of converting the object under `key`, which is built, to a Swift value.
  func conversion(of key: String) -> Int { number(key).map { coder.cost(ofObject: $0).conversion } ?? 1 }

  /// The cost of converting each object that the object under `key` refers to.
  func conversions(in key: String) -> [ObjectIdentifier: Int] {
    guard let number = number(key) else { return [:] }
    var costs: [ObjectIdentifier: Int] = [:]
    for reference in coder.table.graph.references(of: number) {
      guard let object = coder.built[Int(reference)] else { continue }
      costs[ObjectIdentifier(object as AnyObject)] = coder.cost(ofObject: Int(reference)).conversion
    }
    return costs
  }

  /// The number of the object that `key` refers to.
  private func number(_ key: String) -> Int? {
    guard let position = position(key), list.nodes[position].kind == .uid else { return nil }
    return Int(list.nodes[position].payload)
  }

  /// The nodes of an array of references under `key`; nil if it is absent.
  func references(_ key: String) throws(ArchiveError) -> ArraySlice<UInt32>? {
    guard let position = position(key) else { return nil }
    let node = list.nodes[position]
    guard node.kind == .array else {
      throw .wrongType(expected: "an array", found: node.words, at: coder.here.appending(.key(key)))
    }
    return list.elements(node)
  }

  /// An element of a container, and the node that it was built from.
  struct Element {
    let object: Any
    let node: Int
  }

  /// The objects of an array of references, each of the site's classes. Nil elements are refused, because leaving them
  /// out would shift the others.
  func elements(_ key: String, at site: ClassSite? = nil) throws(ArchiveError) -> [Element] {
    guard let references = try references(key) else { return [] }
    var objects: [Element] = []
    objects.reserveCapacity(references.count)
    coder.path.append(.key(key))
    for (index, node) in references.enumerated() {
      coder.path.append(.index(index))
      guard let object = try coder.value(Int(node), at: site ?? self.site) else {
        throw ArchiveError.missingValue(at: coder.here)
      }
      objects.append(Element(object: object, node: Int(node)))
      coder.path.removeLast()
    }
    coder.path.removeLast()
    return objects
  }

  /// The elements of an array or set, which are in a list or numbered.
  func members() throws(ArchiveError) -> [Element] {
    has("NS.objects") ? try elements("NS.objects") : try numberedElements("NS.object.")
  }

  /// The keys and values of a dictionary, which are in lists or numbered.
  ///
  /// - Parameter keySite: what the keys may be, if not the same as the values.
  func pairs(keysAt keySite: ClassSite? = nil) throws(ArchiveError) -> (keys: [Element], values: [Element]) {
    let isListed = has("NS.keys") || has("NS.objects")
    let keys = isListed ? try elements("NS.keys", at: keySite) : try numberedElements("NS.key.", at: keySite)
    let values = isListed ? try elements("NS.objects") : try numberedElements("NS.object.")
    guard keys.count == values.count else { throw invalid("it has more or fewer keys than values") }
    return (keys, values)
  }

  /// The objects under `prefix` followed by 0, 1, 2 and so on, up to the first absent one.
  func numberedElements(_ prefix: String, at site: ClassSite? = nil) throws(ArchiveError) -> [Element] {
    var objects: [Element] = []
    while let position = coder.node(forRawKey: "\(prefix)\(objects.count)") {
      let key = "\(prefix)\(objects.count)"
      let object = try within(key) { () throws(ArchiveError) in try coder.value(position, at: site ?? self.site) }
      guard let object else { throw missing(key) }
      objects.append(Element(object: object, node: position))
    }
    return objects
  }

  private func within<T>(_ key: String, _ body: () throws(ArchiveError) -> T) throws(ArchiveError) -> T {
    coder.path.append(.key(key))
    let result = try body()
    coder.path.removeLast()
    return result
  }
}
