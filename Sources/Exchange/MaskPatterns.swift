internal import Ground

/// The patterns that a ``Masker`` searches for: values, and other forms in which programs write the same values.
///
/// All are in one automaton (Aho and Corasick, 1975), so the search time does not depend on the number of values.
public struct MaskPatterns: Sendable {
  /// Shorter values, in bytes, are not searched for, because they occur everywhere.
  public static let shortestValue = 4

  /// The byte that leads to each node. Node 0 is the root, where a pattern begins.
  private var bytes: [UInt8] = [0]
  /// The node before each node; its number is lower.
  private var parents: [Int32] = [0]
  private var fallback: [Int32] = [0]
  private var depths: [Int32] = [0]
  /// The length of the longest pattern that ends at each node; 0 if none does.
  private var matches: [Int32] = [0]
  /// The length of the shortest pattern that passes through each node.
  private var shortest: [Int32] = [.max]
  /// The nodes that follow the root, by their bytes; 0 for none.
  private var roots = [Int32](repeating: 0, count: 256)
  /// The other nodes whose numbers are not their parents' plus 1: a hash table with open addressing, at most half full,
  /// in which 0 is a free place. With lists of siblings, many patterns would make every step slow.
  private var branches = [Int32](repeating: 0, count: 64)
  private var branchCount = 0

  /// - Parameter patterns: the patterns to search for, without other forms. Empty ones are ignored.
  init(exactly patterns: some Sequence<[UInt8]>) {
    for pattern in patterns where !pattern.isEmpty { insert(pattern) }
    link()
  }

  private mutating func insert(_ pattern: [UInt8]) {
    var node: Int32 = 0
    for byte in pattern {
      node = child(of: node, byte) ?? add(byte, below: node)
      shortest[Int(node)] = min(shortest[Int(node)], Int32(pattern.count))
    }
    matches[Int(node)] = Int32(pattern.count)
  }

  private mutating func add(_ byte: UInt8, below parent: Int32) -> Int32 {
    let node = Int32(bytes.count)
    bytes.append(byte)
    parents.append(parent)
    fallback.append(0)
    depths.append(depths[Int(parent)] + 1)
    matches.append(0)
    shortest.append(.max)
    if parent == 0 {
      roots[Int(byte)] = node
    } else if node != parent + 1 {
      addBranch(node)
    }
    return node
  }

  private mutating func addBranch(_ node: Int32) {
    branchCount += 1
    if branchCount * 2 > branches.count {
      let present = branches
      branches = [Int32](repeating: 0, count: present.count * 2)
      for node in present where node != 0 { branches[place(below: parents[Int(node)], bytes[Int(node)])] = node }
    }
    branches[place(below: parents[Int(node)], bytes[Int(node)])] = node
  }

  /// The place in ``branches`` of the node that follows `parent` with `byte`, or the free one that it would get.
  private func place(below parent: Int32, _ byte: UInt8) -> Int {
    let key = UInt64(parent) << 8 | UInt64(byte)
    // Fibonacci hashing: the upper half of the product depends on every bit of the key.
    var place = Int((key &* 0x9E37_79B9_7F4A_7C15) >> 32) & (branches.count - 1)
    while true {
      let node = Int(branches[place])
      if node == 0 || parents[node] == parent && bytes[node] == byte { return place }
      place = (place + 1) & (branches.count - 1)
    }
  }

  /// Finds the fallback of each node, level by level: the node of its longest proper suffix that is also a prefix of a
  /// pattern.
  private mutating func link() {
    // Where each level begins, and then where its next node goes.
    var places = [Int](repeating: 0, count: Int(depths.max() ?? 0) + 2)
    for depth in depths { places[Int(depth) + 1] += 1 }
    for level in 1..<places.count { places[level] += places[level - 1] }
    var nodes = [Int32](repeating: 0, count: depths.count)
    for (node, depth) in depths.enumerated() {
      nodes[places[Int(depth)]] = Int32(node)
      places[Int(depth)] += 1
    }
    for node in nodes.dropFirst().lazy.map({ Int($0) }) {
      let parent = parents[node]
      if parent != 0 { fallback[node] = step(from: fallback[Int(parent)], bytes[node]) }
      matches[node] = max(matches[node], matches[Int(fallback[node])])
    }
  }

  private func child(of node: Int32, _ byte: UInt8) -> Int32? {
    let next = Int(node) + 1
    if node != 0, next < bytes.count, parents[next] == node, bytes[next] == byte { return Int32(next) }
    let child = node == 0 ? roots[Int(byte)] : branches[place(below: node, byte)]
    return child == 0 ? nil : child
  }

  // MARK: Walking

  /// The state after `byte`. The initial state is 0.
  func step(from state: Int32, _ byte: UInt8) -> Int32 {
    var state = state
    while true {
      if let child = child(of: state, byte) { return child }
      if state == 0 { return 0 }
      state = fallback[Int(state)]
    }
  }

  /// Whether a pattern begins with `byte`.
  func isFirst(_ byte: UInt8) -> Bool { roots[Int(byte)] != 0 }

  /// How many of the last bytes may be the beginning of a pattern.
  func depth(_ state: Int32) -> Int { Int(depths[Int(state)]) }

  /// The length of the longest pattern that ends with the last byte; 0 if none does.
  func match(_ state: Int32) -> Int { Int(matches[Int(state)]) }

  /// Whether the last bytes reveal little of each pattern that they may begin: at most four bytes and at most a quarter
  /// of the pattern.
  func tellsLittle(_ state: Int32) -> Bool {
    var state = state
    while state != 0 {
      guard depth(state) <= min(4, Int(shortest[Int(state)]) / 4) else { return false }
      state = fallback[Int(state)]
    }
    return true
  }
}

extension MaskPatterns {
  /// The names of members that say whose account it is and where. Programs often print their values, which are not
  /// secret.
  private static let shownMembers: Set<String> = ["name", "url", "username"]

  /// The strings in a value that is a JSON object or array, at any depth, such as a login's password.
  ///
  /// Names of members are not included, and neither are the strings of members called `name`, `username` or `url`. A
  /// URL with an `@` may contain a password and is included.
  static func texts(in value: [UInt8]) -> [[UInt8]] {
    guard let first = value.first(where: { !" \t\r\n".utf8.contains($0) }),
      first == UInt8(ascii: "{") || first == UInt8(ascii: "["),
      let text = String(validating: value, as: UTF8.self), let json = try? JSONValue(parsing: text)
    else { return [] }
    var texts: [[UInt8]] = []
    collect(json, &texts)
    return texts
  }

  private static func collect(_ json: JSONValue, _ texts: inout [[UInt8]]) {
    switch json {
    case .string(let text): texts.append(Array(text.utf8))
    case .array(let elements): for element in elements { collect(element, &texts) }
    case .object(let members):
      for member in members where !isShown(member) { collect(member.value, &texts) }
    case .null, .bool, .number: break
    }
  }

  private static func isShown(_ member: JSONValue.Member) -> Bool {
    guard let text = member.value.text, shownMembers.contains(member.name) else { return false }
    return member.name != "url" || !text.contains("@")
  }
}

extension MaskPatterns {
  /// The value as it is written in a shell, a web form and HTML, where some characters have a special meaning.
  static func quoted(_ value: [UInt8]) -> [[UInt8]] {
    [
      // 'it'\''s' and 'it'"'"'s', as many programs quote for a shell.
      replacing(value) { $0 == UInt8(ascii: "'") ? #"'\''"# : nil },
      replacing(value) { $0 == UInt8(ascii: "'") ? #"'"'"'"# : nil },
      // it\'s, as printf %q does.
      replacing(value) { isPlainInShells($0) ? nil : #"\"# + String(UnicodeScalar($0)) },
      // $'a\nb', as printf %q does where there are control characters.
      replacing(value) { byte in
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\\"): #"\"# + String(UnicodeScalar(byte))
        case 0x0A: #"\n"#
        case 0x09: #"\t"#
        case 0x0D: #"\r"#
        default: nil
        }
      },
    ] + ["&#39;", "&#x27;", "&apos;", "'"].map { html(value, apostrophe: $0) } + forms(value)
  }

  /// Hexadecimal digits of either case.
  static func hexadecimal(_ value: [UInt8]) -> [[UInt8]] {
    [Array(value.hexadecimal.utf8), Array(value.hexadecimal.uppercased().utf8)]
  }

  /// `application/x-www-form-urlencoded`, as browsers write it and as Python does.
  private static func forms(_ value: [UInt8]) -> [[UInt8]] {
    ["-._*", "-._~"].map { unreserved in
      PercentEncoding.encoded(value) { $0 == 0x20 || $0.isLetter || $0.isDigit || unreserved.utf8.contains($0) }
        .map { $0 == 0x20 ? UInt8(ascii: "+") : $0 }
    }
  }

  private static func html(_ value: [UInt8], apostrophe: String) -> [UInt8] {
    replacing(value) { byte in
      switch byte {
      case UInt8(ascii: "&"): "&amp;"
      case UInt8(ascii: "<"): "&lt;"
      case UInt8(ascii: ">"): "&gt;"
      case UInt8(ascii: "\""): "&quot;"
      case UInt8(ascii: "'"): apostrophe
      default: nil
      }
    }
  }

  private static func replacing(_ value: [UInt8], _ replacement: (UInt8) -> String?) -> [UInt8] {
    value.flatMap { byte in replacement(byte).map { Array($0.utf8) } ?? [byte] }
  }

  private static func isPlainInShells(_ byte: UInt8) -> Bool {
    byte.isLetter || byte.isDigit || byte >= 0x80 || "%+-./:=@_".utf8.contains(byte)
  }
}
