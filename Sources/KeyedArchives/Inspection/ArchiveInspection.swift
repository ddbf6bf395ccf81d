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
