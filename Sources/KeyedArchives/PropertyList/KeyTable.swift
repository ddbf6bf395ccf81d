/// Numbers the keys of all dictionaries of a property list. Equal keys share a number, so that looking up a field
/// compares numbers.
package struct KeyTable: Sendable {
  /// A key that is compared by its bytes. (Swift compares strings by canonical equivalence, and "é" has two encodings.)
  package struct Key: Hashable, Sendable {
    package let text: String

    package init(text: String) { self.text = text }

    package static func == (one: Key, other: Key) -> Bool { one.text.utf8.elementsEqual(other.text.utf8) }

    package func hash(into hasher: inout Hasher) {
      var text = text
      text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
  }

  /// The text of each key, by its number; number 0 means no key.
  private(set) var names = [""]
  /// The name that a program gave to each key, by its number; nil for the archive's own keys.
  private var programsNames: [String?] = [nil]
  private var numbers: [Key: UInt32] = [:]
  /// The number of each node that is a key; 0 for other nodes.
  private var byNode: [UInt32]
  /// The positions of values, by dictionary and key, for dictionaries too large for linear search.
  private var index: [UInt64: UInt32] = [:]

  /// Dictionaries with more pairs than this are indexed.
  static let searchable = 16

  /// Numbers the keys of `list`. Throws if a dictionary has the same key twice.
  init(_ list: PropertyList) throws(ArchiveError) {
    byNode = Array(repeating: 0, count: list.nodes.count)
    var seen: [Int] = []
    for (position, node) in list.nodes.enumerated() where node.kind == .dictionary && node.size > 0 {
      if seen.count < names.count { seen += Array(repeating: -1, count: names.count) }
      for (key, value) in zip(list.keys(node), list.values(node)) {
        let number = Int(number(of: Int(key), in: list))
        if number >= seen.count { seen += Array(repeating: -1, count: number + 1) }
        guard seen[number] != position else {
          throw .brokenPropertyList(.keyTwice, offset: list.offset(ofNode: Int(key)))
        }
        seen[number] = position
        if node.size > Self.searchable { index[UInt64(position) << 32 | UInt64(number)] = value }
      }
    }
  }

  private mutating func number(of node: Int, in list: PropertyList) -> UInt32 {
    if byNode[node] != 0 { return byNode[node] }
    let key = Key(text: list.name(list.nodes[node]) ?? "")
    let number = numbers[key] ?? UInt32(names.count)
    if number == names.count {
      names.append(key.text)
      programsNames.append(Self.programsName(key.text))
      numbers[key] = number
    }
    byNode[node] = number
    return number
  }

  /// The text of the key at `node`.
  package func name(_ node: UInt32) -> String { names[Int(byNode[Int(node)])] }

  /// The key at `node` as the program named it; nil if it is one of the archive's own.
  func programsName(_ node: UInt32) -> String? { programsNames[Int(byNode[Int(node)])] }

  /// Archives put an extra `$` before keys that begin with one. (Bytes are compared, because `$` followed by a
  /// combining mark is one character and not equal to `$`.)
  private static func programsName(_ key: String) -> String? {
    guard key.utf8.first == UInt8(ascii: "$") else { return key }
    return key.utf8.starts(with: "$$".utf8) ? String(decoding: key.utf8.dropFirst(), as: UTF8.self) : nil
  }

  /// The number of `key`; nil if no dictionary has it.
  package func number(of key: String) -> UInt32? { numbers[Key(text: key)] }

  /// The value under the key with `number` in the dictionary at `position`.
  package func value(_ number: UInt32, at position: Int, in list: PropertyList) -> Int? {
    let node = list.nodes[position]
    if node.size > Self.searchable { return index[UInt64(position) << 32 | UInt64(number)].map(Int.init) }
    for offset in 0..<node.size where byNode[Int(list.children[node.start + offset])] == number {
      return Int(list.children[node.start + node.size + offset])
    }
    return nil
  }
}
