extension ArchiveInspection {
  /// The archive's values as JSON (UTF-8) that a person can read: one object with the keys at the top.
  ///
  /// Arrays, dictionaries with strings as keys, strings, numbers and booleans are what they are in JSON. Data is
  /// `{"$data": base64}`, a date `{"$date": "2001-01-01T00:00:00Z"}`, a URL `{"$url": text}`, a UUID `{"$uuid": text}`.
  /// Any other object is its fields and `$class`. An object that was written already is `{"$ref": pointer}`, with a JSON
  /// pointer into this text: so shared objects are told from equal ones, and cycles end.
  ///
  /// Throws where objects refer to each other deeper than the limit, or the text would be out of proportion to the archive.
  public func json() throws(ArchiveError) -> [UInt8] {
    var walk = ReadableWalk(table, depth: 2 * limits.effectiveDepth)
    return try walk.write()
  }
}

/// Writes objects as nested JSON. Recursion is safe here: it ends at the limit of depth.
private struct ReadableWalk {
  private let table: ArchiveTable
  private let depth: Int
  private var writer: JSONWriter
  private var path: [String] = []
  /// Where each object that was written stands.
  private var pointers: [Int: String] = [:]

  init(_ table: ArchiveTable, depth: Int) {
    self.table = table
    self.depth = depth
    writer = JSONWriter(inputBytes: table.inputBytes)
  }

  mutating func write() throws(ArchiveError) -> [UInt8] {
    writer.open("{")
    try fields(table.top)
    writer.close("}")
    return writer.bytes
  }

  private mutating func fields(_ dictionary: Int) throws(ArchiveError) {
    let node = table.list.nodes[dictionary]
    for (key, value) in zip(table.list.keys(node), table.list.values(node)) where table.keys.name(key) != "$class" {
      try field(table.fieldName(key), Int(value))
    }
  }

  private mutating func field(_ key: String, _ position: Int) throws(ArchiveError) {
    try writer.key(key)
    path.append(key)
    try value(position)
    path.removeLast()
  }

  private mutating func value(_ position: Int) throws(ArchiveError) {
    guard path.count <= depth else { throw .overLimit(.depth, allowed: depth / 2, at: ArchivePath()) }
    let node = table.list.nodes[position]
    switch node.kind {
    case .uid: try object(Int(node.payload))
    case .array: try elements(table.list.elements(node))
    case .dictionary:
      writer.open("{")
      try fields(position)
      writer.close("}")
    case .date: try tagged("$date", UTCDate.text(secondsSince2001: Double(bitPattern: node.payload)))
    default: try writer.scalar(node, table.list)
    }
  }

  private mutating func elements(_ positions: ArraySlice<UInt32>) throws(ArchiveError) {
    writer.open("[")
    for (index, element) in positions.enumerated() {
      path.append(String(index))
      try value(Int(element))
      path.removeLast()
    }
    writer.close("]")
  }

  private mutating func object(_ number: Int) throws(ArchiveError) {
    let position = table.node(ofObject: number)
    guard case .instance(let type) = table.records[number] else {
      if case .value = table.records[number] { return try writer.scalar(table.list.nodes[position], table.list) }
      return try writer.null()
    }
    if let pointer = pointers[number] { return try tagged("$ref", pointer) }
    let name = table.classes[type].name
    if try leaf(name, position) { return }
    pointers[number] = "#" + path.map { "/" + $0.replacing("~", with: "~0").replacing("/", with: "~1") }.joined()
    if name == "NSArray" || name == "NSMutableArray", let list = nodes("NS.objects", position) {
      return try elements(list)
    }
    writer.open("{")
    if name == "NSDictionary" || name == "NSMutableDictionary", let pairs = pairs(position) {
      for (key, value) in pairs { try field(key, value) }
    } else {
      try writer.key("$class")
      try writer.string(name)
      try fields(position)
    }
    writer.close("}")
  }

  /// Writes objects that are one plain value; returns whether this was one.
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
      guard let text = scalar("NS.relative", position).flatMap(table.list.text) else { return false }
      if let base = scalar("NS.base", position), base.kind != .uid || base.payload != 0 { return false }
      try tagged("$url", text)
    case "NSUUID":
      guard let data = scalar("NS.uuidbytes", position), data.kind == .data, data.size == 16 else { return false }
      try tagged("$uuid", Self.identifier(table.list.rawBytes(data)))
    default: return false
    }
    return true
  }

  private mutating func tagged(_ tag: String, _ text: String) throws(ArchiveError) {
    writer.open("{")
    try writer.key(tag)
    try writer.string(text)
    writer.close("}")
  }

  private func find(_ key: String, _ dictionary: Int) -> Int? {
    table.keys.number(of: key).flatMap { table.keys.value($0, at: dictionary, in: table.list) }
  }

  /// The string, number or data under a key, inline or as an object.
  private func scalar(_ key: String, _ dictionary: Int) -> Node? {
    guard let position = find(key, dictionary) else { return nil }
    let node = table.list.nodes[position]
    guard node.kind == .uid, case .value = table.records[Int(node.payload)] else { return node }
    return table.list.nodes[table.node(ofObject: Int(node.payload))]
  }

  private func nodes(_ key: String, _ dictionary: Int) -> ArraySlice<UInt32>? {
    guard let position = find(key, dictionary), table.list.nodes[position].kind == .array else { return nil }
    return table.list.elements(table.list.nodes[position])
  }

  /// The pairs of a dictionary whose keys are different strings that are not taken for ours.
  private func pairs(_ dictionary: Int) -> [(String, Int)]? {
    guard let keys = nodes("NS.keys", dictionary), let values = nodes("NS.objects", dictionary),
      keys.count == values.count
    else { return nil }
    var seen: Set<KeyTable.Key> = []
    var pairs: [(String, Int)] = []
    for (key, value) in zip(keys, values) {
      let node = table.list.nodes[Int(key)]
      guard node.kind == .uid, case .value = table.records[Int(node.payload)],
        let text = table.list.text(table.list.nodes[table.node(ofObject: Int(node.payload))]),
        !text.hasPrefix("$"), seen.insert(KeyTable.Key(text: text)).inserted
      else { return nil }
      pairs.append((text, Int(value)))
    }
    return pairs
  }

  /// 16 bytes as a UUID is written.
  private static func identifier(_ bytes: ArraySlice<UInt8>) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += String(0x100 + Int(byte), radix: 16, uppercase: true).dropFirst()
    }
    return text
  }
}
