internal import Ground
internal import Synchronization

extension ArchiveInspection {
  /// The archive as indented lines for a person: a summary, then keys and values. Objects that are referred to more
  /// than once are marked with `#` and their number, and written in full once. Long text is cut, and control characters
  /// are escaped.
  ///
  /// The text is UTF-8. Throws if it would be longer than ``ArchiveLimits/output`` allows.
  public func outline() throws(ArchiveError) -> [UInt8] {
    var outline = Outline(self)
    return try outline.write()
  }
}

/// Walks the table itself, so that nothing is created for values that are not shown.
private struct Outline {
  private let archive: ArchiveInspection
  private let table: ArchiveTable
  private let list: PropertyList
  private let deepest: Int
  private let limit: OutputLimit
  private var text: [UInt8] = []
  /// For each object, whether more than one reference leads to it, and whether it has been written.
  private var isShared: [Bool]
  private var isWritten: [Bool]
  /// A cache of strings as they are shown, each at its node's position modulo the cache size.
  private var shownStrings: [(position: Int, bytes: [UInt8])]
  private static let remembered = 512

  init(_ archive: ArchiveInspection) {
    self.archive = archive
    table = archive.table
    list = archive.table.list
    deepest = 2 * archive.limits.effectiveDepth
    limit = archive.outputLimit
    shownStrings = Array(repeating: (-1, []), count: Self.remembered)
    isWritten = Array(repeating: false, count: table.records.count)
    isShared = isWritten
    var isUsed = isWritten
    for references in [table.graph.roots[...]] + table.records.indices.map(table.graph.references) {
      for reference in references {
        if isUsed[Int(reference)] { isShared[Int(reference)] = true }
        isUsed[Int(reference)] = true
      }
    }
  }

  mutating func write() throws(ArchiveError) -> [UInt8] {
    let cycles = table.graph.hasCycles ? ", refers back to itself" : ""
    add("\(Printable.name(archive.archiver)) \(archive.version), \(archive.format.rawValue) property list, ")
    add("\(archive.objectCount) objects, \(archive.depth) deep\(cycles)\n")
    try fields(table.top, 0)
    return text
  }

  private mutating func add(_ part: String) { text += part.utf8 }

  private mutating func field(_ label: String, _ position: UInt32, _ depth: Int) throws(ArchiveError) {
    try limit.check(text.count)
    text += repeatElement(UInt8(ascii: " "), count: 2 * depth)
    add(label + ": ")
    try value(Int(position), depth)
  }

  /// Writes the fields of a dictionary; for an object, without its class.
  private mutating func fields(_ position: Int, _ depth: Int, ofInstance: Bool = false) throws(ArchiveError) {
    let node = list.nodes[position]
    for (key, value) in zip(list.keys(node), list.values(node)) {
      if ofInstance, table.keys.name(key) == "$class" { continue }
      try field(Printable.name(table.fieldName(key)), value, depth)
    }
  }

  private mutating func value(_ position: Int, _ depth: Int) throws(ArchiveError) {
    let node = list.nodes[position]
    switch node.kind {
    case .bool: add(node.payload == 0 ? "false\n" : "true\n")
    case .integer, .unsigned, .wide: add("\(list.integer(node) ?? 0)\n")
    case .real: add("\(Double(bitPattern: node.payload))\n")
    case .ascii, .utf8, .utf16: string(position, node)
    case .data: add("\(node.size) bytes\n")
    case .date: add("\(UTCDate.text(secondsSince2001: Double(bitPattern: node.payload)))\n")
    case .array: try elements(node, depth)
    case .dictionary:
      add("\(node.size) fields\n")
      guard depth < deepest else { return more(depth) }
      try fields(position, depth + 1)
    case .uid: try object(Int(node.payload), depth)
    }
  }

  /// Writes a string's beginning. It is cached, because an archive can refer to one string any number of times.
  private mutating func string(_ position: Int, _ node: Node) {
    if shownStrings[position % Self.remembered].position != position {
      shownStrings[position % Self.remembered] = (position, Array("\"\(Printable.name(list.beginning(node)))\"\n".utf8))
    }
    text += shownStrings[position % Self.remembered].bytes
  }

  private mutating func elements(_ node: Node, _ depth: Int) throws(ArchiveError) {
    add(node.size == 1 ? "1 element\n" : "\(node.size) elements\n")
    guard depth < deepest else { return more(depth) }
    for (index, element) in list.elements(node).enumerated() { try field("[\(index)]", element, depth + 1) }
  }

  private mutating func object(_ number: Int, _ depth: Int) throws(ArchiveError) {
    switch table.records[number] {
    case .null: add("nil\n")
    case .value: try value(table.node(ofObject: number), depth)
    case .classDescription(let type): add("class \(Printable.name(table.classes[type].name))\n")
    case .instance(let type):
      let name = Printable.name(table.classes[type].name) + (isShared[number] ? " #\(number)" : "")
      guard !isWritten[number] else { return add("→ \(name)\n") }
      isWritten[number] = true
      add(name + "\n")
      guard depth < deepest else { return more(depth) }
      try fields(table.node(ofObject: number), depth + 1, ofInstance: true)
    }
  }

  private mutating func more(_ depth: Int) {
    text += repeatElement(UInt8(ascii: " "), count: 2 * (depth + 1))
    add("…\n")
  }
}

/// The values of an archive's property list, each created once. Values that the list shares are shared here too, so
/// they never take more memory than a fixed multiple of the archive.
final class InspectedTree: Sendable {
  private let table: ArchiveTable
  /// The value of each node that is neither a number nor a reference; empty until a value is first requested.
  private let made = Mutex<[InspectedValue?]>([])

  init(_ table: ArchiveTable) { self.table = table }

  /// The value at a node.
  func value(_ position: Int) -> InspectedValue {
    made.withLock { made in
      if made.isEmpty { made = Array(repeating: nil, count: table.list.nodes.count) }
      return value(position, &made)
    }
  }

  /// The fields of a dictionary.
  func fields(ofDictionary position: Int) -> [InspectedField] {
    guard case .dictionary(let fields) = value(position) else { return [] }
    return fields
  }

  /// The fields of an object, without its class.
  func fields(ofInstance position: Int) -> [InspectedField] {
    let keys = table.list.keys(table.list.nodes[position])
    return zip(keys, fields(ofDictionary: position)).filter { table.keys.name($0.0) != "$class" }.map(\.1)
  }

  /// Recursion is safe here: the nesting limit bounds it.
  private func value(_ position: Int, _ made: inout [InspectedValue?]) -> InspectedValue {
    if let value = made[position] { return value }
    let list = table.list
    let node = list.nodes[position]
    let value: InspectedValue
    switch node.kind {
    case .bool: return .boolean(node.payload != 0)
    case .integer, .unsigned, .wide: return .integer(list.integer(node) ?? 0)
    case .real: return .real(Double(bitPattern: node.payload))
    case .date: return .date(Double(bitPattern: node.payload))
    case .uid: return node.payload == 0 ? .null : .reference(Int(node.payload))
    case .data: value = .data(Array(list.rawBytes(node)))
    case .ascii, .utf8, .utf16: value = .string(list.name(node) ?? "", isDamaged: list.text(node) == nil)
    case .array: value = .array(list.elements(node).map { self.value(Int($0), &made) })
    case .dictionary:
      value = .dictionary(
        zip(list.keys(node), list.values(node)).map {
          InspectedField(key: table.fieldName($0), value: self.value(Int($1), &made))
        })
    }
    made[position] = value
    return value
  }
}

/// The current position of a walk through a JSON text, and the positions it has marked. Marks share the steps that lead
/// to them, so memory grows with the number of steps and not with the length of whole paths.
struct PlaceStack {
  enum Step {
    case key(String)
    case index(Int)
  }

  private var open: [(step: Step, mark: Int?)] = []
  private var marks: [(parent: Int, step: Step)] = []

  var count: Int { open.count }

  mutating func push(_ step: Step) { open.append((step, nil)) }
  mutating func pop() { open.removeLast() }

  /// Remembers this position; -1 is the top.
  mutating func mark() -> Int {
    var first = open.count
    while first > 0, open[first - 1].mark == nil { first -= 1 }
    var parent = first == 0 ? -1 : open[first - 1].mark ?? -1
    for index in first..<open.count {
      marks.append((parent, open[index].step))
      parent = marks.count - 1
      open[index].mark = parent
    }
    return parent
  }

  /// The JSON pointer (RFC 6901) to a marked position, as a URI fragment.
  func pointer(to mark: Int) -> String {
    var steps: [Step] = []
    var mark = mark
    while mark >= 0 {
      steps.append(marks[mark].step)
      mark = marks[mark].parent
    }
    var text = Array("#".utf8)
    for step in steps.reversed() {
      text.append(UInt8(ascii: "/"))
      switch step {
      case .index(let index): text += String(index).utf8
      case .key(let key):
        for byte in key.utf8 {
          switch byte {
          case UInt8(ascii: "~"): text += "~0".utf8
          case UInt8(ascii: "/"): text += "~1".utf8
          default: text.append(byte)
          }
        }
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
