/// A keyed archive as an immutable tree of its envelope, classes, keys, values and references. No object is built.
///
/// Any archive can be inspected, even one whose classes are unknown or whose objects form cycles.
public struct ArchiveInspection: Sendable {
  let table: ArchiveTable
  let limits: ArchiveLimits
  private let tree: InspectedTree

  /// Reads any keyed archive, without building anything.
  ///
  /// Throws ``ArchiveError`` if `bytes` are not a keyed archive, contradict themselves or exceed a limit. Another
  /// archiver's name, another version, cycles and unknown classes are not errors here.
  public init(_ bytes: [UInt8], limits: ArchiveLimits = .standard) throws(ArchiveError) {
    self.init(try ArchiveTable(bytes, limits: limits), limits)
  }

  /// Reads a keyed archive from its JSON, as ``rawJSON()`` writes it.
  ///
  /// Throws ``ArchiveError`` as for an archive's own bytes.
  public init(json: [UInt8], limits: ArchiveLimits = .standard) throws(ArchiveError) {
    let list = try PropertyList(json: json, limits: limits)
    self.init(try ArchiveTable(list, inputBytes: json.count, limits: limits), limits)
  }

  private init(_ table: ArchiveTable, _ limits: ArchiveLimits) {
    self.table = table
    self.limits = limits
    tree = InspectedTree(table)
  }

  /// The limit on output about this archive.
  var outputLimit: OutputLimit { OutputLimit(limits, inputBytes: table.inputBytes) }

  /// The format that it was read from; binary if it was read from JSON.
  public var format: ArchiveFormat { table.list.format }
  /// The archiver that the archive names: `NSKeyedArchiver`.
  public var archiver: String { table.archiver }
  /// The format version that the archive names: 100000.
  public var version: Int128 { table.version }
  /// The values at the top, in their order. If one object was archived, there is one, under `root`.
  public var top: [InspectedField] { tree.fields(ofDictionary: table.top) }
  /// The number of entries in the table of objects.
  public var objectCount: Int { table.records.count }
  /// The classes that the archive describes, in the order of the table.
  public var classes: [InspectedClass] { table.classes.map(Self.describe) }
  /// How deep objects refer to each other. References that close a cycle are not followed.
  public var depth: Int { table.graph.depth }
  /// The number of objects when every use of a shared object counts; saturates.
  public var unfoldedCount: UInt64 { table.graph.unfoldedTotal }
  /// References that close a cycle: each leads back to an object on its own path from the top. The values are the
  /// numbers of the object that refers and of the one referred to.
  public var backReferences: [(from: Int, to: Int)] { Array(table.graph.backReferences) }
  /// The numbers of objects that the top does not reach.
  public var unreachable: [Int] {
    table.records.indices.filter { number in
      switch table.records[number] {
      case .value, .instance: !table.graph.isReachable(number)
      default: false
      }
    }
  }

  /// The number of objects of each class that the top reaches, by the class's name.
  public var instanceCounts: [String: Int] {
    var byClass = [Int](repeating: 0, count: table.classes.count)
    for (number, record) in table.records.enumerated() where table.graph.isReachable(number) {
      if case .instance(let position) = record { byClass[position] += 1 }
    }
    var counts: [String: Int] = [:]
    for (type, count) in zip(table.classes, byClass) where count > 0 { counts[type.name, default: 0] += count }
    return counts
  }

  /// The object with `number`, which is below ``objectCount``; null for any other number.
  public func object(_ number: Int) -> InspectedObject {
    guard table.records.indices.contains(number) else { return .null }
    switch table.records[number] {
    case .null: return .null
    case .value: return .value(tree.value(table.node(ofObject: number)))
    case .instance(let position):
      return .instance(
        of: Self.describe(table.classes[position]), fields: tree.fields(ofInstance: table.node(ofObject: number)))
    case .classDescription(let position): return .classDescription(Self.describe(table.classes[position]))
    }
  }

  /// The shortest path from the top to the object with `number`.
  public func path(toObject number: Int) -> ArchivePath {
    table.records.indices.contains(number) ? table.path(toObject: number) : ArchivePath([.object(number)])
  }

  private static func describe(_ description: ClassDescription) -> InspectedClass {
    InspectedClass(
      number: description.object, name: description.name, chain: description.chain, hints: description.hints)
  }
}

extension ArchiveInspection {
  /// Throws if the archive could not be built, for a reason that shows without building it: an unknown version, a class
  /// not in `names`, a cycle, or a limit.
  ///
  /// `names` are class names as the archive spells them. Arrays, dictionaries, sets, ordered sets, strings, numbers,
  /// decimal numbers, data, dates, `NSURL`, `NSUUID` and `NSNull` need not be named.
  public func check(allowing names: [String] = []) throws(ArchiveError) {
    try table.checkEnvelope()
    guard table.graph.unfoldedTotal <= UInt64(clamping: limits.references) else {
      throw .overLimit(.references, allowed: limits.references, at: ArchivePath())
    }
    var known = Set(names)
    for name in names { known.formUnion(FoundationClasses.parts(of: name)) }
    for (number, record) in table.records.enumerated() where table.graph.isReachable(number) {
      guard case .instance(let position) = record else { continue }
      let name = table.classes[position].name
      guard !known.contains(name), !FoundationClasses.alwaysKnown.contains(name) else { continue }
      throw .classRefused(name: name, allowed: names, at: table.path(toObject: number))
    }
    if let back = table.graph.backReferences.first { throw .cycle(at: table.path(toObject: back.to)) }
    guard table.graph.depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: ArchivePath())
    }
  }
}

extension ArchiveInspection {
  /// The archive in a format, with every object, key and value, including objects that nothing refers to.
  ///
  /// - Returns: always the same bytes for the same archive. Single-precision numbers become double precision in XML.
  /// - Throws: ``ArchiveError/notInXML(_:)``, and `overLimit` if the result would be longer than
  ///   ``ArchiveLimits/output`` allows.
  public func archived(as format: ArchiveFormat) throws(ArchiveError) -> [UInt8] {
    try table.list.bytes(format, within: outputLimit)
  }

  /// The type of the value archived under `root`: the name of the Swift type if one is recorded, otherwise the object's
  /// class.
  public var rootTypeName: String? {
    if let recorded = topNode("vault.type"), recorded.size <= limits.classNameBytes,
      let name = table.list.name(recorded)
    {
      return name
    }
    guard let root = topNode("root"), root.kind == .uid else { return nil }
    let number = Int(root.payload)
    switch table.records[number] {
    case .instance(let position): return table.classes[position].name
    case .value:
      let node = table.list.nodes[table.node(ofObject: number)]
      return node.isString ? "NSString" : node.kind == .data ? "NSData" : "NSNumber"
    case .null, .classDescription: return nil
    }
  }

  private func topNode(_ key: String) -> Node? {
    table.value(under: key, in: table.top).map { table.list.nodes[$0] }
  }
}

/// A value as the archive holds it; no object has been built from it.
public enum InspectedValue: Sendable, Equatable {
  case null
  case boolean(Bool)
  /// An integer of up to 128 bits.
  case integer(Int128)
  case real(Double)
  /// Text. `isDamaged` if the archive's text holds a lone surrogate, which is replaced by U+FFFD here.
  case string(String, isDamaged: Bool)
  case data([UInt8])
  /// A time, in seconds since the beginning of 2001, UTC. Keyed archives hold times as objects instead.
  case date(Double)
  /// An inline array of values.
  case array([InspectedValue])
  /// Inline values under keys.
  case dictionary([InspectedField])
  /// An object, by its number.
  case reference(Int)
}

/// A value under a key.
public struct InspectedField: Sendable, Equatable {
  public let key: String
  public let value: InspectedValue
}

/// An entry of an archive's table of objects.
public enum InspectedObject: Sendable, Equatable {
  /// The entry at 0, which represents nil.
  case null
  /// A string, number or data.
  case value(InspectedValue)
  /// An object with fields; `$class` is not among them.
  case instance(of: InspectedClass, fields: [InspectedField])
  /// The description of a class.
  case classDescription(InspectedClass)
}

/// What an archive says about a class.
public struct InspectedClass: Sendable, Equatable {
  /// The number of its description in the table of objects.
  public let number: Int
  public let name: String
  /// The class and its superclasses, if the archive lists them.
  public let chain: [String]
  /// Classes that may be used instead of it, if the archive names any.
  public let hints: [String]
}
