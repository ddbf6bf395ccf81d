/// A keyed archive as an immutable table of records. Its envelope is checked, each reference points to an object, and
/// each object's class is known by name. No object has been built.
package final class ArchiveTable: Sendable {
  /// What an entry of the table of objects is.
  package enum Record: Sendable {
    /// The entry at 0, which represents nil.
    case null
    /// A string, number or data.
    case value
    /// An object with fields; the position of its class in `classes`.
    case instance(Int)
    /// The description of a class; its position in `classes`.
    case classDescription(Int)
  }

  package let list: PropertyList
  package let keys: KeyTable
  package let inputBytes: Int
  package let archiver: String
  package let version: Int128
  /// For each object, its node.
  package let objects: ArraySlice<UInt32>
  package let records: [Record]
  package let classes: [ClassDescription]
  /// The node of `$top`.
  package let top: Int
  package let graph: ReferenceGraph

  /// Reads an archive. Throws if its bytes, its envelope or its table are invalid, or if it exceeds a limit.
  package convenience init(_ input: [UInt8], limits: ArchiveLimits) throws(ArchiveError) {
    try self.init(PropertyList(input, limits: limits), inputBytes: input.count, limits: limits)
  }

  /// Reads an archive from a list that was parsed from `inputBytes` bytes within `limits`.
  init(_ list: PropertyList, inputBytes: Int, limits: ArchiveLimits) throws(ArchiveError) {
    let keys = try KeyTable(list)
    let envelope = try Envelope(list)
    guard envelope.objects.count <= limits.objects else {
      throw .overLimit(.objects, allowed: limits.objects, at: ArchivePath())
    }
    try Self.checkReferences(list, objectCount: envelope.objects.count)
    var reader = RecordReader(list, objects: envelope.objects, keys: keys, limits: limits)
    try reader.read()
    self.list = list
    self.keys = keys
    self.inputBytes = inputBytes
    archiver = envelope.archiver
    version = envelope.version
    objects = envelope.objects
    top = envelope.top
    records = reader.records
    classes = reader.classes
    graph = try ReferenceGraph(list, keys: keys, objects: envelope.objects, records: reader.records, top: envelope.top)
  }

  /// Throws unless every reference in the list points into the table, whether or not it is used.
  private static func checkReferences(_ list: PropertyList, objectCount: Int) throws(ArchiveError) {
    for node in list.nodes where node.kind == .uid && node.payload >= UInt64(objectCount) {
      throw .brokenArchive(.referenceOutOfRange, at: ArchivePath())
    }
  }

  /// The position of the value under `key`, in its archived spelling, of the dictionary at `dictionary`.
  package func value(under key: String, in dictionary: Int) -> Int? {
    keys.number(of: key).flatMap { keys.value($0, at: dictionary, in: list) }
  }

  /// The node of the object with `number`.
  package func node(ofObject number: Int) -> Int { Int(objects[objects.startIndex + number]) }

  /// Throws unless the version is 100000. The archiver may have any name: each subclass of NSKeyedArchiver writes its own.
  package func checkEnvelope() throws(ArchiveError) {
    guard version == 100_000 else { throw .brokenArchive(.otherVersion, at: ArchivePath()) }
  }
}

/// The four entries of an archive's outermost dictionary.
private struct Envelope {
  let archiver: String
  let version: Int128
  let objects: ArraySlice<UInt32>
  let top: Int

  init(_ list: PropertyList) throws(ArchiveError) {
    func broken(_ defect: ArchiveDefect) -> ArchiveError { .brokenArchive(defect, at: ArchivePath()) }
    let outer = list.nodes[list.top]
    guard outer.kind == .dictionary else { throw broken(.topIsNotADictionary) }
    guard let archiver = list.value("$archiver", in: outer).flatMap({ list.text(list.nodes[$0]) }) else {
      throw broken(.noArchiver)
    }
    guard let version = list.value("$version", in: outer).flatMap({ list.integer(list.nodes[$0]) }) else {
      throw broken(.noVersion)
    }
    guard let objects = list.value("$objects", in: outer), list.nodes[objects].kind == .array else {
      throw broken(.noObjects)
    }
    guard let top = list.value("$top", in: outer), list.nodes[top].kind == .dictionary else { throw broken(.noTop) }
    self.archiver = archiver
    self.version = version
    self.objects = list.elements(list.nodes[objects])
    self.top = top
    guard let first = self.objects.first, list.isText(list.nodes[Int(first)], "$null") else { throw broken(.noNull) }
  }
}

extension ArchiveTable {
  /// The shortest path from `$top` to the object with `number`, for an error.
  package func path(toObject number: Int) -> ArchivePath {
    var from = [Int](repeating: -1, count: records.count)
    var queue: [Int] = []
    for root in graph.roots where from[Int(root)] == -1 {
      from[Int(root)] = -2
      queue.append(Int(root))
    }
    var next = 0
    while next < queue.count, from[number] == -1 {
      for reference in graph.references(of: queue[next]) where from[Int(reference)] == -1 {
        from[Int(reference)] = queue[next]
        queue.append(Int(reference))
      }
      next += 1
    }
    guard from[number] != -1 else { return ArchivePath([.object(number)]) }
    var parts: [[ArchivePath.Step]] = []
    var object = number
    while true {
      let parent = from[object]
      let dictionary = parent == -2 ? top : node(ofObject: parent)
      parts.append(steps(toObject: object, inDictionary: dictionary))
      if parent == -2 { return ArchivePath(parts.reversed().flatMap { $0 }) }
      object = parent
    }
  }

  /// The key under which a dictionary refers to an object, and the position if the key holds an array.
  private func steps(toObject number: Int, inDictionary dictionary: Int) -> [ArchivePath.Step] {
    let node = list.nodes[dictionary]
    for (key, value) in zip(list.keys(node), list.values(node)) {
      let found = list.nodes[Int(value)]
      let step = ArchivePath.Step.key(fieldName(key))
      if found.kind == .uid, found.payload == UInt64(number) { return [step] }
      guard found.kind == .array else { continue }
      let position = list.elements(found).enumerated().first {
        list.nodes[Int($0.element)].kind == .uid && list.nodes[Int($0.element)].payload == UInt64(number)
      }
      if let position { return [step, .index(position.offset)] }
    }
    return [.object(number)]
  }

  /// A key as the program named it, or one of the archive's own keys.
  package func fieldName(_ key: UInt32) -> String { keys.programsName(key) ?? keys.name(key) }

  /// The keys that a program gave in a dictionary, as the program named them, without the archive's own such as `$0`.
  package func programsKeys(ofDictionary position: Int) -> [String] {
    list.keys(list.nodes[position]).compactMap { keys.programsName($0) }
  }
}

/// What an archive says about a class. These are only names and grant no permission.
package struct ClassDescription: Sendable {
  /// The number of its object.
  package let object: Int
  package let name: String
  /// The class and its superclasses, if the archive lists them.
  package let chain: [String]
  /// Classes that may be used instead of it.
  package let hints: [String]
}

/// Names of Foundation's classes in archives, for code that does not build objects.
package enum FoundationClasses {
  /// Classes that an archive may hold without being on the list of allowed classes: plain containers, strings, numbers
  /// and data, and what consists of one of these. They hold no class that the decoding call does not allow.
  package static let alwaysKnown: Set<String> = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSSet", "NSMutableSet", "NSOrderedSet",
    "NSMutableOrderedSet", "NSString", "NSMutableString", "NSData", "NSMutableData", "NSNumber", "NSDecimalNumber",
    "NSDecimalNumberPlaceholder", "NSDate", "NSNull", "NSURL", "NSUUID",
  ]

  /// Other classes that appear in the archived form of a class. Allowing the class allows them too.
  package static func parts(of name: String) -> [String] {
    switch name {
    case "NSTimeZone": ["NSLocalTimeZone"]
    case "NSLocale": ["NSAutoLocale"]
    case "NSCalendar": ["_NSAutoCalendar"] + zoneAndLocale
    case "NSDateComponents": ["NSCalendar", "_NSAutoCalendar"] + zoneAndLocale
    case "NSMeasurement": dimensions + ["NSUnitConverterLinear", "NSUnit"]
    case "NSValue": [rawArray]
    case "NSPersonNameComponents": [personName]
    case _ where checkingResults.contains(name): ["NSRegularExpression", "NSValue"]
    case _ where dimensions.contains(name): ["NSUnitConverterLinear"]
    default: []
    }
  }

  private static let zoneAndLocale = ["NSTimeZone", "NSLocalTimeZone", "NSLocale", "NSAutoLocale"]

  /// The class of the array in which `NSValue` archives C arrays.
  package static let rawArray = "_NSKeyedCoderOldStyleArray"

  /// The class in which Apple's systems archive the parts of a person's name.
  package static let personName = "_NSPersonNameComponentsData"

  /// The classes in which results of regular expressions are archived.
  package static let checkingResults = [
    "NSTextCheckingResult", "NSSimpleRegularExpressionCheckingResult", "NSExtendedRegularExpressionCheckingResult",
    "NSComplexRegularExpressionCheckingResult",
  ]

  private static let dimensions = [
    "Acceleration", "Angle", "Area", "ConcentrationMass", "Dispersion", "Duration", "ElectricCharge",
    "ElectricCurrent", "ElectricPotentialDifference", "ElectricResistance", "Energy", "Frequency", "Illuminance",
    "InformationStorage", "Length", "Mass", "Power", "Pressure", "Speed", "Temperature", "Volume",
  ].map { "NSUnit" + $0 }
}

/// Classifies each object of an archive and reads the descriptions of classes.
private struct RecordReader {
  private let list: PropertyList
  private let objects: ArraySlice<UInt32>
  private let keys: KeyTable
  private let limits: ArchiveLimits
  /// The class descriptions, strings and arrays of strings already read, by node, so that shared ones are read once.
  private var described: [UInt32: Int] = [:]
  private var texts: [UInt32: String] = [:]
  private var lists: [Int: [String]] = [:]
  private(set) var records: [ArchiveTable.Record] = []
  private(set) var classes: [ClassDescription] = []

  init(_ list: PropertyList, objects: ArraySlice<UInt32>, keys: KeyTable, limits: ArchiveLimits) {
    self.list = list
    self.limits = limits
    self.objects = objects
    self.keys = keys
  }

  mutating func read() throws(ArchiveError) {
    let className = keys.number(of: "$classname")
    records.reserveCapacity(objects.count)
    for (number, node) in objects.enumerated() {
      switch list.nodes[Int(node)].kind {
      case _ where number == 0: records.append(.null)
      case .dictionary:
        if let className, let name = keys.value(className, at: Int(node), in: list) {
          let position = described[node] ?? classes.count
          records.append(.classDescription(position))
          guard position == classes.count else { continue }
          described[node] = position
          classes.append(try describe(Int(node), name: name, number: number))
        } else {
          records.append(.instance(0))
        }
      case .array: throw broken(.containerInTable, number)
      case .uid: throw broken(.containerInTable, number)
      default: records.append(.value)
      }
    }
    try resolveClasses()
  }

  /// Finds the class of each instance, now that all descriptions are known.
  private mutating func resolveClasses() throws(ArchiveError) {
    let classKey = keys.number(of: "$class")
    for (number, node) in objects.enumerated() {
      guard case .instance = records[number] else { continue }
      guard let classKey, let reference = keys.value(classKey, at: Int(node), in: list) else {
        throw broken(.noClass, number)
      }
      guard list.nodes[reference].kind == .uid else { throw broken(.classIsNotAReference, number) }
      switch records[Int(list.nodes[reference].payload)] {
      case .classDescription(let position): records[number] = .instance(position)
      case .instance: throw broken(.noClassName, Int(list.nodes[reference].payload))
      default: throw broken(.classIsNotAClass, number)
      }
    }
  }

  private mutating func describe(_ node: Int, name: Int, number: Int) throws(ArchiveError) -> ClassDescription {
    guard list.nodes[name].size <= limits.classNameBytes else {
      throw .overLimit(.classNameBytes, allowed: limits.classNameBytes, at: ArchivePath([.object(number)]))
    }
    guard let text = text(UInt32(name)) else { throw broken(.classNameNotAString, number) }
    return ClassDescription(
      object: number, name: text,
      chain: try strings("$classes", of: node, orThrow: .classesNotStrings, number),
      hints: try strings("$classhints", of: node, orThrow: .hintsNotStrings, number))
  }

  private mutating func text(_ node: UInt32) -> String? {
    if let text = texts[node] { return text }
    let text = list.text(list.nodes[Int(node)])
    texts[node] = text
    return text
  }

  private mutating func strings(
    _ key: String, of node: Int, orThrow defect: ArchiveDefect, _ number: Int
  ) throws(ArchiveError) -> [String] {
    guard let key = keys.number(of: key), let value = keys.value(key, at: node, in: list) else { return [] }
    guard list.nodes[value].kind == .array else { throw broken(defect, number) }
    if let names = lists[value] { return names }
    var names: [String] = []
    for element in list.elements(list.nodes[value]) {
      guard let name = text(element) else { throw broken(defect, number) }
      names.append(name)
    }
    lists[value] = names
    return names
  }

  private func broken(_ defect: ArchiveDefect, _ number: Int) -> ArchiveError {
    .brokenArchive(defect, at: ArchivePath([.object(number)]))
  }
}
