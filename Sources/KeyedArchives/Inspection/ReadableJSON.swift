internal import Ground

extension ArchiveInspection {
  /// The archive's values as readable JSON (UTF-8): one object with the keys at the top.
  ///
  /// Arrays, dictionaries with string keys, strings, numbers and booleans are themselves in JSON. Data is `{"$data":
  /// base64}`, a date `{"$date": "2001-01-01T00:00:00Z"}`, a URL `{"$url": text}`, a UUID `{"$uuid": text}`, a number
  /// that is not finite `{"$real": "nan"}`. Any other object is its fields and `$class`. An object that was already
  /// written is `{"$ref": pointer}`, with a JSON pointer into this text. This distinguishes shared objects from equal
  /// ones and ends cycles.
  ///
  /// Keys are those of the archive. There a program's own key that begins with `$` has an extra `$`: `$$class` is a
  /// field, and `$0` is the first value without a key. Any other key with a single `$`, which no archiver writes, gets
  /// `$:` instead of `$`.
  ///
  /// Throws if objects refer to each other deeper than the limit, or if the text would be longer than
  /// ``ArchiveLimits/output`` allows.
  public func json() throws(ArchiveError) -> [UInt8] {
    var walk = ReadableWalk(table, depth: 2 * limits.effectiveDepth, within: outputLimit)
    return try walk.write()
  }
}

/// Writes objects as nested JSON. Recursion is safe here: the depth limit bounds it.
private struct ReadableWalk {
  private let table: ArchiveTable
  private let depth: Int
  private var writer: JSONWriter
  private var place = PlaceStack()
  /// The position of each object already written, by its number.
  private var places: [Int: Int] = [:]
  /// The texts of dictionary keys, and their numbers by text and by node, so that a shared key is read once.
  private var keyTexts: [String] = []
  private var keyNumbers: [KeyTable.Key: Int] = [:]
  private var keyNumberOfNode: [Int: Int] = [:]

  init(_ table: ArchiveTable, depth: Int, within limit: OutputLimit) {
    self.table = table
    self.depth = depth
    writer = JSONWriter(within: limit)
  }

  mutating func write() throws(ArchiveError) -> [UInt8] {
    try writer.open("{")
    try fields(table.top)
    try writer.close("}")
    return writer.bytes
  }

  /// Writes the fields of a dictionary; for an object, without its class.
  private mutating func fields(_ dictionary: Int, ofInstance: Bool = false) throws(ArchiveError) {
    let node = table.list.nodes[dictionary]
    for (key, value) in zip(table.list.keys(node), table.list.values(node)) {
      let name = table.keys.name(key)
      if ofInstance, name == "$class" { continue }
      try field(Self.escaped(name), Int(value))
    }
  }

  /// Changes a key so that it cannot be mistaken for one that this form adds: its `$` becomes `$:` unless `$` or a
  /// number follows.
  private static func escaped(_ key: String) -> String {
    guard key.utf8.first == UInt8(ascii: "$") else { return key }
    let rest = key.utf8.dropFirst()
    let isNumber = !rest.isEmpty && rest.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
    if isNumber || rest.first == UInt8(ascii: "$") { return key }
    return "$:" + String(decoding: rest, as: UTF8.self)
  }

  private mutating func field(_ key: String, _ position: Int) throws(ArchiveError) {
    try writer.key(key)
    place.push(.key(key))
    try value(position)
    place.pop()
  }

  private mutating func value(_ position: Int) throws(ArchiveError) {
    guard place.count <= depth else { throw .overLimit(.depth, allowed: depth / 2, at: ArchivePath()) }
    let node = table.list.nodes[position]
    switch node.kind {
    case .uid: try object(Int(node.payload))
    case .array: try elements(table.list.elements(node))
    case .dictionary:
      try writer.open("{")
      try fields(position)
      try writer.close("}")
    case .date: try tagged("$date", UTCDate.text(secondsSince2001: Double(bitPattern: node.payload)))
    default: try writer.scalar(node, table.list)
    }
  }

  private mutating func elements(_ positions: ArraySlice<UInt32>) throws(ArchiveError) {
    try writer.open("[")
    for (index, element) in positions.enumerated() {
      place.push(.index(index))
      try value(Int(element))
      place.pop()
    }
    try writer.close("]")
  }

  private mutating func object(_ number: Int) throws(ArchiveError) {
    let position = table.node(ofObject: number)
    guard case .instance(let type) = table.records[number] else {
      if case .value = table.records[number] { return try value(position) }
      return try writer.null()
    }
    if let present = places[number] {
      return try writer.tagged("$ref") { [place] writer throws(ArchiveError) in
        try writer.string(place.pointer(to: present))
      }
    }
    let name = table.classes[type].name
    if try leaf(name, position) { return }
    places[number] = place.mark()
    if name == "NSArray" || name == "NSMutableArray", let list = nodes("NS.objects", position) {
      return try elements(list)
    }
    try writer.open("{")
    if name == "NSDictionary" || name == "NSMutableDictionary", let pairs = pairs(position) {
      for (key, value) in pairs { try field(keyTexts[key], value) }
    } else {
      try writer.key("$class")
      try writer.string(name)
      try fields(position, ofInstance: true)
    }
    try writer.close("}")
  }

  /// Writes an object that is a single plain value; returns false if it is not one.
  private mutating func leaf(_ name: String, _ position: Int) throws(ArchiveError) -> Bool {
    switch name {
    case "NSMutableString", "NSString":
      guard let text = scalar("NS.string", position), text.isString else { return false }
      try writer.scalar(text, table.list)
    case "NSMutableData", "NSData":
      guard let data = scalar("NS.data", position), data.kind == .data else { return false }
      try writer.scalar(data, table.list)
    case "NSDate":
      guard let time = scalar("NS.time", position), time.kind == .real else { return false }
      try tagged("$date", UTCDate.text(secondsSince2001: Double(bitPattern: time.payload)))
    case "NSURL":
      if let base = scalar("NS.base", position), base.kind != .uid || base.payload != 0 { return false }
      guard let text = scalar("NS.relative", position).flatMap(table.list.text) else { return false }
      try tagged("$url", text)
    case "NSUUID":
      guard let data = scalar("NS.uuidbytes", position), data.kind == .data, data.size == 16 else { return false }
      try tagged("$uuid", Self.identifier(table.list.rawBytes(data)))
    default: return false
    }
    return true
  }

  private mutating func tagged(_ tag: String, _ text: String) throws(ArchiveError) {
    try writer.tagged(tag) { writer throws(ArchiveError) in try writer.string(text) }
  }

  /// The string, number or data under a key, whether inline or an object of its own.
  private func scalar(_ key: String, _ dictionary: Int) -> Node? {
    guard let position = table.value(under: key, in: dictionary) else { return nil }
    let node = table.list.nodes[position]
    guard node.kind == .uid, case .value = table.records[Int(node.payload)] else { return node }
    return table.list.nodes[table.node(ofObject: Int(node.payload))]
  }

  private func nodes(_ key: String, _ dictionary: Int) -> ArraySlice<UInt32>? {
    let node = table.value(under: key, in: dictionary).map { table.list.nodes[$0] }
    return node?.kind == .array ? node.map(table.list.elements) : nil
  }

  /// The pairs of a dictionary, with the numbers of their keys. nil unless the keys are distinct strings that cannot be
  /// mistaken for keys that this form adds.
  private mutating func pairs(_ dictionary: Int) -> [(key: Int, value: Int)]? {
    guard let keys = nodes("NS.keys", dictionary), let values = nodes("NS.objects", dictionary),
      keys.count == values.count
    else { return nil }
    var seen: Set<Int> = []
    var pairs: [(key: Int, value: Int)] = []
    for (key, value) in zip(keys, values) {
      let node = table.list.nodes[Int(key)]
      guard node.kind == .uid, case .value = table.records[Int(node.payload)],
        let number = keyNumber(table.node(ofObject: Int(node.payload))),
        keyTexts[number].utf8.first != UInt8(ascii: "$"), seen.insert(number).inserted
      else { return nil }
      pairs.append((number, Int(value)))
    }
    return pairs
  }

  /// The number of the text at a node, equal for equal texts; nil if the node is not text.
  private mutating func keyNumber(_ position: Int) -> Int? {
    if let number = keyNumberOfNode[position] { return number }
    guard let text = table.list.text(table.list.nodes[position]) else { return nil }
    let number = keyNumbers[KeyTable.Key(text: text), default: keyTexts.count]
    if number == keyTexts.count { keyTexts.append(text) }
    keyNumbers[KeyTable.Key(text: text)] = number
    keyNumberOfNode[position] = number
    return number
  }

  /// The text form of a UUID's 16 bytes.
  private static func identifier(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += String(0x100 + Int(byte), radix: 16, uppercase: true).dropFirst()
    }
    return text
  }
}
