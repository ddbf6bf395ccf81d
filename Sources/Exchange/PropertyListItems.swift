package import KeyedArchives

/// The items of an app's preferences: a property list, binary or XML, with a dictionary at its top.
///
/// A dictionary in a dictionary gives names such as `window/frame/width`. An array is one JSON text where JSON can say all of it;
/// one with data, dates or numbers that JSON has no word for gives `name/0`, `name/1` and so on. Data that is a keyed archive
/// is kept as one.
package struct PropertyListItems {
  private let list: PropertyList
  private var imported = ImportedItems()

  /// - Throws: where the list is no dictionary, or is one keyed archive; and for a key that is empty.
  package static func items(of list: PropertyList) throws(ImportFault) -> ImportedItems {
    let top = list.nodes[list.top]
    guard top.kind == .dictionary else { throw ImportFault("it holds \(top.words), not preferences") }
    guard list.value("$archiver", in: top) == nil else {
      throw ImportFault("it is one keyed archive, not preferences; vault set NAME --archive stores it")
    }
    var items = PropertyListItems(list)
    try items.takeMembers(of: top, below: Path(name: "", place: ""))
    return items.imported
  }

  private init(_ list: PropertyList) { self.list = list }

  /// Where a value stands. Two may have one name, such as those of `a/b` and of `b` in `a`, but not one place.
  private struct Path {
    var name: String
    /// The keys one by one, for people.
    var place: String

    func key(_ key: String) -> Path {
      Path(name: name.isEmpty ? key : "\(name)/\(key)", place: place.isEmpty ? "'\(key)'" : "\(place) > '\(key)'")
    }

    func element(_ index: Int) -> Path { Path(name: "\(name)/\(index)", place: "\(place) > \(index)") }
  }

  /// Recursion is safe: the limits that the list was read with bound its nesting.
  private mutating func take(_ node: Node, _ path: Path) throws(ImportFault) {
    switch node.kind {
    case .dictionary where node.size > 0: try takeMembers(of: node, below: path)
    case .dictionary: add(path, .json, "{}")
    case .array: try takeArray(node, path)
    case .bool: add(path, .bool, node.payload == 0 ? "false" : "true")
    case .integer: add(path, .int, "\(Int64(bitPattern: node.payload))")
    case .unsigned, .wide: add(path, .json, "\(list.integer(node) ?? 0)")
    case .real: add(path, .double, "\(Double(bitPattern: node.payload))")
    case .date: takeDate(Double(bitPattern: node.payload), path)
    case .data: takeData(Array(list.rawBytes(node)), path)
    case .ascii, .utf8, .utf16:
      if let text = list.text(node) { add(path, .string, text) } else { lose(path, "a string that is not Unicode") }
    case .uid: lose(path, "a reference, which means nothing outside of an archive")
    }
  }

  private mutating func takeMembers(of node: Node, below path: Path) throws(ImportFault) {
    for (key, value) in zip(list.keys(node), list.values(node)) {
      guard let key = list.text(list.nodes[Int(key)]), !key.isEmpty else {
        throw ImportFault("a key is empty or not Unicode", at: path.place.isEmpty ? "the top" : path.place)
      }
      try take(list.nodes[Int(value)], path.key(key))
    }
  }

  private mutating func takeArray(_ node: Node, _ path: Path) throws(ImportFault) {
    var json: [UInt8] = []
    if writeJSON(node, to: &json) {
      imported.items.append(ImportedItem(path.name, .json, json, at: path.place))
    } else {
      for (index, element) in list.elements(node).enumerated() {
        try take(list.nodes[Int(element)], path.element(index))
      }
    }
  }

  private mutating func takeDate(_ seconds: Double, _ path: Path) {
    let text = UTCDate.text(secondsSince2001: seconds)
    guard UTCDate.moment(text)?.secondsSince2001 == seconds else { return lose(path, "a date beyond the year 8338") }
    add(path, .date, text)
  }

  private mutating func takeData(_ bytes: [UInt8], _ path: Path) {
    var item = ImportedItem(path.name, .bytes, bytes, at: path.place)
    // Looking into an archive builds nothing; who reads the item names the classes that he takes.
    if let archive = try? ArchiveInspection(bytes) {
      item.kind = .archive
      item.typeName = archive.rootTypeName
    }
    imported.items.append(item)
  }

  private mutating func add(_ path: Path, _ kind: ImportedItem.Kind, _ text: String) {
    imported.items.append(ImportedItem(path.name, kind, Array(text.utf8), at: path.place))
  }

  private mutating func lose(_ path: Path, _ what: String) { imported.losses.append("\(path.place): \(what)") }

  /// - Returns: false where JSON has no word for something in it; what was written then means nothing.
  private func writeJSON(_ node: Node, to json: inout [UInt8]) -> Bool {
    switch node.kind {
    case .bool: json += (node.payload == 0 ? "false" : "true").utf8
    case .integer, .unsigned, .wide: json += "\(list.integer(node) ?? 0)".utf8
    case .real:
      let number = Double(bitPattern: node.payload)
      guard number.isFinite else { return false }
      json += "\(number)".utf8
    case .ascii, .utf8, .utf16:
      guard let text = list.text(node) else { return false }
      JSONObject.quote(text.utf8, to: &json)
    case .array:
      json.append(UInt8(ascii: "["))
      for (index, element) in list.elements(node).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        guard writeJSON(list.nodes[Int(element)], to: &json) else { return false }
      }
      json.append(UInt8(ascii: "]"))
    case .dictionary:
      json.append(UInt8(ascii: "{"))
      for (index, (key, value)) in zip(list.keys(node), list.values(node)).enumerated() {
        if index > 0 { json.append(UInt8(ascii: ",")) }
        guard let key = list.text(list.nodes[Int(key)]) else { return false }
        JSONObject.quote(key.utf8, to: &json)
        json.append(UInt8(ascii: ":"))
        guard writeJSON(list.nodes[Int(value)], to: &json) else { return false }
      }
      json.append(UInt8(ascii: "}"))
    case .date, .data, .uid: return false
    }
    return true
  }
}
