/// A keyed archive as an immutable tree, with nothing built: its envelope, classes, keys, values and references.
///
/// Any archive can be inspected, also one whose classes nobody has, and one whose objects lead back to themselves.
public struct ArchiveInspection: Sendable {
  let table: ArchiveTable
  let limits: ArchiveLimits
  private let tree: InspectedTree

  /// Reads any keyed archive, without building anything.
  ///
  /// Throws ``ArchiveError`` where `bytes` are not a keyed archive, contradict themselves or exceed a limit; another
  /// archiver's name, another version, cycles and unknown classes are no errors here.
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

  /// How much may be written about it.
  var outputLimit: OutputLimit { OutputLimit(limits, inputBytes: table.inputBytes) }

  /// The format that it was read from; binary for JSON.
  public var format: ArchiveFormat { table.list.format }
  /// Who wrote it, by its own words: `NSKeyedArchiver`.
  public var archiver: String { table.archiver }
  /// The version of the format, by its own words: 100000.
  public var version: Int128 { table.version }
  /// The values at the top, in their order; one under `root` where one object was archived.
  public var top: [InspectedField] { tree.fields(ofDictionary: table.top) }
  /// The number of entries in the table of objects.
  public var objectCount: Int { table.records.count }
  /// The classes that the archive describes, in the order of the table.
  public var classes: [InspectedClass] { table.classes.map(Self.describe) }
  /// How deep objects refer to each other; ways that lead back are not followed.
  public var depth: Int { table.graph.depth }
  /// The number of objects when every shared reference is followed anew; saturates.
  public var unfoldedCount: UInt64 { table.graph.unfoldedTotal }
  /// References that lead back to an object on the way to them: the numbers of the object that refers and the one
  /// referred to.
  public var backReferences: [(from: Int, to: Int)] { Array(table.graph.backReferences) }
  /// Numbers of objects that nothing at the top leads to.
  public var unreachable: [Int] {
    table.records.indices.filter { number in
      switch table.records[number] {
      case .value, .instance: !table.graph.isReachable(number)
      default: false
      }
    }
  }

  /// The number of objects of each class that the top leads to, by the class's name.
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

  /// A way from the top to the object with `number`, the shortest.
  public func path(toObject number: Int) -> ArchivePath {
    table.records.indices.contains(number) ? table.path(toObject: number) : ArchivePath([.object(number)])
  }

  private static func describe(_ description: ClassDescription) -> InspectedClass {
    InspectedClass(
      number: description.object, name: description.name, chain: description.chain, hints: description.hints)
  }
}
