internal import Ground
package import KeyedArchives

/// Reads items from an app's preferences: a property list, binary or XML, with a dictionary at its top.
///
/// A dictionary in a dictionary gives names such as `window/frame/width`. An array becomes one JSON text if JSON can
/// represent all of it. An array with data, dates or numbers that JSON cannot represent gives `name/0`, `name/1` and so
/// on. Data that is a keyed archive becomes an archive item.
package struct PropertyListItems {
  /// How many bytes the items may take for each byte of the list, plus 1 MiB. This counts their names, positions and
  /// values, and ``bytesPerItem`` for each. A binary list can share its parts, so a few bytes may expand to many items.
  package static let expansion = 16
  /// The bytes counted for an item in addition to its texts.
  package static let bytesPerItem = 256

  private let list: PropertyList
  private var imported = ImportedItems()
  /// The bytes that the items may still take.
  private var budget: Int
  /// For each node, whether JSON can represent it; nil while unknown.
  private var isJSON: [Bool?]
  /// The item of each data node, so that shared data is inspected once.
  private var dataItems: [Int: ImportedItem] = [:]

  /// Reads the items of a list that was parsed from `byteCount` bytes.
  ///
  /// - Throws: if the list is not a dictionary or is itself a keyed archive, if a key is empty, or if the items would
  ///   take more than ``expansion`` allows.
  package static func items(of list: PropertyList, byteCount: Int) throws(ImportFault) -> ImportedItems {
    let top = list.nodes[list.top]
    guard top.kind == .dictionary else { throw ImportFault("it holds \(top.words), not preferences") }
    guard list.value("$archiver", in: top) == nil else {
      throw ImportFault("it is one keyed archive, not preferences; vault set NAME --archive stores it")
    }
    var items = PropertyListItems(list, byteCount: byteCount)
    try items.takeMembers(of: top, below: Path(name: "", place: ""))
    return items.imported
  }

  private init(_ list: PropertyList, byteCount: Int) {
    self.list = list
    budget = byteCount.saturatingProduct(Self.expansion).saturatingSum(1 << 20)
    isJSON = Array(repeating: nil, count: list.nodes.count)
  }

  /// Charges bytes to the budget.
  private mutating func spend(_ count: Int) throws(ImportFault) {
    budget -= count
    guard budget >= 0 else {
      throw ImportFault(
        "its items would take more than \(Self.expansion) bytes for each byte of it", isOverLimit: true)
    }
  }

  /// The position of a value. Two values may have the same name, such as `a/b` and `b` in `a`, but never the same
  /// position.
  private struct Path {
    var name: String
    /// The keys one by one, for messages.
    var place: String

    var byteCount: Int { name.utf8.count + place.utf8.count }

    func key(_ key: String) -> Path {
      Path(name: name.isEmpty ? key : "\(name)/\(key)", place: place.isEmpty ? "'\(key)'" : "\(place) > '\(key)'")
    }

    func element(_ index: Int) -> Path { Path(name: "\(name)/\(index)", place: "\(place) > \(index)") }
  }

  /// Recursion is safe: the limits that the list was parsed with bound its nesting.
  private mutating func take(_ position: Int, _ path: Path) throws(ImportFault) {
    try spend(path.byteCount)
    let node = list.nodes[position]
    switch node.kind {
    case .dictionary where node.size > 0: try takeMembers(of: node, below: path)
    case .dictionary: try add(path, .json, "{}")
    case .array: try takeArray(position, path)
    case .bool: try add(path, .bool, node.payload == 0 ? "false" : "true")
    case .integer: try add(path, .int, "\(Int64(bitPattern: node.payload))")
    case .unsigned, .wide: try add(path, .json, "\(list.integer(node) ?? 0)")
    case .real: try add(path, .double, "\(Double(bitPattern: node.payload))")
    case .date: try takeDate(Double(bitPattern: node.payload), path)
    case .data: try takeData(position, path)
    case .ascii, .utf8, .utf16:
      if let text = list.text(node) {
        try add(path, .string, text)
      } else {
        try lose(path, "a string that is not Unicode")
      }
    case .uid: try lose(path, "a reference, which means nothing outside of an archive")
    }
  }

  private mutating func takeMembers(of node: Node, below path: Path) throws(ImportFault) {
    for (key, value) in zip(list.keys(node), list.values(node)) {
      guard let key = list.text(list.nodes[Int(key)]), !key.isEmpty else {
        throw ImportFault("a key is empty or not Unicode", at: path.place.isEmpty ? "the top" : path.place)
      }
      try take(Int(value), path.key(key))
    }
  }

  private mutating func takeArray(_ position: Int, _ path: Path) throws(ImportFault) {
    if canBeJSON(position) {
      var json: [UInt8] = []
      try writeJSON(position, to: &json)
      // `writeJSON` has already charged the text.
      try spend(Self.bytesPerItem)
      imported.items.append(ImportedItem(path.name, .json, json, at: path.place))
    } else {
      for (index, element) in list.elements(list.nodes[position]).enumerated() {
        try take(Int(element), path.element(index))
      }
    }
  }

  private mutating func takeDate(_ seconds: Double, _ path: Path) throws(ImportFault) {
    let text = UTCDate.text(secondsSince2001: seconds)
    guard UTCDate.moment(text)?.secondsSince2001 == seconds else {
      return try lose(path, "a date beyond the year 8338")
    }
    try add(path, .date, text)
  }

  private mutating func takeData(_ position: Int, _ path: Path) throws(ImportFault) {
    var item = dataItems[position] ?? dataItem(position)
    dataItems[position] = item
    (item.name, item.place) = (path.name, path.place)
    try add(item)
  }

  private func dataItem(_ position: Int) -> ImportedItem {
    var item = ImportedItem("", .bytes, Array(list.rawBytes(list.nodes[position])), at: "")
    // Inspecting an archive builds no objects. Readers of the item name the classes that they accept.
    if let archive = try? ArchiveInspection(item.value) {
      item.kind = .archive
      item.typeName = archive.rootTypeName
    }
    return item
  }

  private mutating func add(_ path: Path, _ kind: ImportedItem.Kind, _ text: String) throws(ImportFault) {
    try add(ImportedItem(path.name, kind, Array(text.utf8), at: path.place))
  }

  private mutating func add(_ item: ImportedItem) throws(ImportFault) {
    try spend(Self.bytesPerItem + item.value.count)
    imported.items.append(item)
  }

  private mutating func lose(_ path: Path, _ what: String) throws(ImportFault) {
    try spend(Self.bytesPerItem)
    imported.losses.append("\(path.place): \(what)")
  }

  /// Whether JSON can represent a value and everything in it. Recursion is safe, as above.
  private mutating func canBeJSON(_ position: Int) -> Bool {
    if let known = isJSON[position] { return known }
    let node = list.nodes[position]
    let can: Bool
    switch node.kind {
    case .bool, .integer, .unsigned, .wide, .ascii, .utf8: can = true
    case .real: can = Double(bitPattern: node.payload).isFinite
    case .utf16: can = list.text(node) != nil
    case .array: can = list.elements(node).allSatisfy { canBeJSON(Int($0)) }
    case .dictionary:
      can =
        list.keys(node).allSatisfy { canBeJSON(Int($0)) } && list.values(node).allSatisfy { canBeJSON(Int($0)) }
    case .date, .data, .uid: can = false
    }
    isJSON[position] = can
    return can
  }

  /// Writes a value that JSON can represent.
  private mutating func writeJSON(_ position: Int, to json: inout [UInt8]) throws(ImportFault) {
    let start = json.count
    let node = list.nodes[position]
    switch node.kind {
    case .bool: json += (node.payload == 0 ? "false" : "true").utf8
    case .integer, .unsigned, .wide: json += "\(list.integer(node) ?? 0)".utf8
    case .real: json += "\(Double(bitPattern: node.payload))".utf8
    case .array:
      json.append(UInt8(ascii: "["))
      for (index, element) in list.elements(node).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        try writeJSON(Int(element), to: &json)
      }
      json.append(UInt8(ascii: "]"))
      return try spend(2 + node.size)
    case .dictionary:
      json.append(UInt8(ascii: "{"))
      for (index, (key, value)) in zip(list.keys(node), list.values(node)).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        try writeJSON(Int(key), to: &json)
        json.append(UInt8(ascii: ":"))
        try writeJSON(Int(value), to: &json)
      }
      json.append(UInt8(ascii: "}"))
      return try spend(2 + 2 * node.size)
    default: JSONText.append(quoting: (list.text(node) ?? "").utf8, to: &json)
    }
    try spend(json.count - start)
  }
}
