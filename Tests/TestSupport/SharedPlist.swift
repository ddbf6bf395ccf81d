/// A binary property list whose containers may hold any of its values any number of times. No ordinary writer makes
/// such lists.
package struct SharedPlist {
  private var values: [[UInt8]] = []
  /// The size of a reference in the list, in bytes.
  private static let referenceSize = 3

  package init() {}

  package mutating func text(_ text: String) -> Int { add(head(0x50, text.utf8.count) + text.utf8) }
  package mutating func utf16(_ text: String) -> Int {
    add(head(0x60, text.utf16.count) + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
  }
  package mutating func data(_ count: Int) -> Int { add(head(0x40, count) + [UInt8](repeating: 0, count: count)) }
  package mutating func integer(_ value: Int) -> Int { add([0x12] + Self.number(value, 4)) }
  package mutating func uid(_ value: Int) -> Int { add([0x83] + Self.number(value, 4)) }
  package mutating func date() -> Int { add([0x33] + Self.number(0, 8)) }
  package mutating func array(_ elements: [Int]) -> Int {
    add(head(0xA0, elements.count) + elements.flatMap { Self.number($0, Self.referenceSize) })
  }
  package mutating func dictionary(_ pairs: [(Int, Int)]) -> Int {
    let members = pairs.map(\.0) + pairs.map(\.1)
    return add(head(0xD0, pairs.count) + members.flatMap { Self.number($0, Self.referenceSize) })
  }

  /// The description of a class.
  package mutating func type(_ name: String) -> Int { dictionary([(text("$classname"), text(name))]) }

  /// The bytes of the list, with `top` as its outermost value.
  package func bytes(top: Int) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for value in values {
      offsets.append(bytes.count)
      bytes += value
    }
    let table = bytes.count
    bytes += offsets.flatMap { Self.number($0, 4) } + [0, 0, 0, 0, 0, 0, 4, UInt8(Self.referenceSize)]
    return bytes + [values.count, top, table].flatMap { Self.number($0, 8) }
  }

  /// The offset of a value in `bytes(top:)`.
  package func offset(of value: Int) -> Int { values[..<value].reduce(8) { $0 + $1.count } }

  /// A keyed archive of `objects`, numbered from 1, with the dictionary `top`.
  package mutating func archive(_ objects: [Int], top: Int) -> [UInt8] {
    let table = array([text("$null")] + objects)
    let envelope = dictionary([
      (text("$version"), integer(100_000)), (text("$archiver"), text("NSKeyedArchiver")), (text("$top"), top),
      (text("$objects"), table),
    ])
    return bytes(top: envelope)
  }

  /// A keyed archive of one object of class `T` that holds `value` under `key`. Further objects begin at number 3.
  package mutating func archive(holding value: Int, under key: Int? = nil, and objects: [Int] = []) -> [UInt8] {
    let object = dictionary([(key ?? text("a"), value), (text("$class"), uid(2))])
    return archive([object, type("T")] + objects, top: dictionary([(text("root"), uid(1))]))
  }

  private mutating func add(_ bytes: [UInt8]) -> Int {
    values.append(bytes)
    return values.count - 1
  }

  private func head(_ marker: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [marker | UInt8(count)] : [marker | 15, 0x12] + Self.number(count, 4)
  }

  private static func number(_ value: Int, _ size: Int) -> [UInt8] {
    (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}

/// Archives of about a given size that would expand to far more.
package enum HostileArchive: String, CaseIterable, Sendable {
  case sharedText, sharedControls, sharedData, sharedArray, sharedDictionary, sharedKey, longPointers, longClassNames
  case sharedChain, sharedObject, backReferences, longPath, equalKeys, deepNesting

  package func bytes(_ size: Int) -> [UInt8] {
    var list = SharedPlist()
    let half = size / 2
    switch self {
    case .sharedText: return list.uses(of: list.text(String(repeating: "&", count: half)), half)
    case .sharedControls: return list.uses(of: list.text(String(repeating: "\u{1}", count: half)), half)
    case .sharedData: return list.uses(of: list.data(half), half)
    case .sharedArray:
      let one = list.integer(1)
      return list.uses(of: list.array(Array(repeating: one, count: 8)), size)
    case .sharedDictionary:
      let pairs = (0..<8).map { (list.text("key\($0)"), list.integer($0)) }
      return list.uses(of: list.dictionary(pairs), size * 2 / 3)
    case .sharedKey:
      let (key, value) = (list.text(String(repeating: "k", count: half)), list.integer(1))
      let holders = (0..<(half / 16)).map { _ in list.dictionary([(key, value)]) }
      return list.archive(holding: list.array(holders))
    case .longPointers:
      let key = list.text(String(repeating: "k", count: half))
      let (objects, references) = list.objects(half / 22)
      return list.archive(holding: list.array(references + references.prefix(2)), under: key, and: objects)
    case .longClassNames:
      let (key, name) = (list.text("$classname"), list.text(String(repeating: "N", count: half)))
      let types = (0..<(half / 16)).map { _ in list.dictionary([(key, name)]) }
      return list.archive(holding: list.integer(1), and: types)
    case .sharedChain:
      let chain = list.array(Array(repeating: list.text(String(repeating: "N", count: half)), count: half / 4))
      let type = list.dictionary([(list.text("$classname"), list.text("T")), (list.text("$classes"), chain)])
      return list.archive(
        [list.dictionary([(list.text("$class"), list.uid(2))]), type],
        top: list.dictionary([(list.text("root"), list.uid(1))]))
    case .sharedObject:
      let object = list.dictionary([(list.text("$class"), list.uid(2))])
      return list.archive(holding: list.uid(3), and: Array(repeating: object, count: min(size / 4, 200_000)))
    case .backReferences: return list.uses(of: list.uid(1), size)
    case .longPath:
      let (next, type) = (list.text("next"), (list.text("$class"), list.uid(2)))
      let count = size / 28
      let objects = (0..<count).map { index in list.dictionary([(next, list.uid(index + 4)), type]) }
      let last = list.dictionary([(list.text("$class"), list.uid(count + 4))])
      return list.archive(holding: list.uid(3), and: objects + [last, list.type("Last")])
    case .equalKeys:
      let text = list.text(String(repeating: "k", count: half))
      let key = list.uid(4)
      let keys = list.array([key, key])
      let fields = [
        (list.text("NS.keys"), keys), (list.text("NS.objects"), keys), (list.text("$class"), list.uid(3)),
      ]
      let count = half / 32
      let dictionaries = (0..<count).map { _ in list.dictionary(fields) }
      let references = (0..<count).map { list.uid(5 + $0) }
      return list.archive(holding: list.array(references), and: [list.type("NSDictionary"), text] + dictionaries)
    case .deepNesting:
      let tower = (0..<60).reduce(list.array([])) { tower, _ in list.array([tower]) }
      return list.uses(of: tower, size / 8)
    }
  }
}

extension SharedPlist {
  /// An archive of one object with an array that refers to `value` as many times as fit into `byteCount` bytes.
  fileprivate mutating func uses(of value: Int, _ byteCount: Int) -> [UInt8] {
    archive(holding: array(Array(repeating: value, count: byteCount / Self.referenceSize)))
  }

  /// Objects without fields, from number 3 on, and references to them.
  fileprivate mutating func objects(_ count: Int) -> (objects: [Int], references: [Int]) {
    let field = (text("$class"), uid(2))
    return ((0..<count).map { _ in dictionary([field]) }, (0..<count).map { uid(3 + $0) })
  }
}
