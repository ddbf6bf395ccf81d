/// Classifies each object of an archive and reads the descriptions of classes.
struct RecordReader {
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
