internal import Exchange
internal import Vault

/// What `vault export` can write.
enum ExportFormat: String {
  case dotenv, json
}

/// All present items of a group, from one state of it.
struct ExportRequest {
  private let group: AccessGroup.Name
  private let list: ItemList
  private let items: [Item]

  init(of group: AccessGroup) throws(VaultError) {
    self.group = group.name
    list = try group.list()
    var items: [Item] = []
    while let item = try list.next() { items.append(item) }
    self.items = items.sorted { $0.name.description < $1.name.description }
  }

  /// What an env file does not hold, in words.
  var whatTextCannotHold: String? {
    let count = items.count { item in
      item.label != nil || !item.attributes.isEmpty || item.expires != nil || item.kind != .string
    }
    return count == 0
      ? nil
      : "kinds, labels, attributes and expiry are not in it: \(count == 1 ? "1 item has" : "\(count) items have") some"
  }

  func write(_ format: ExportFormat, to output: Output) throws {
    switch format {
    case .dotenv: try writeText(to: output)
    case .json: try writeJSON(to: output)
    }
  }

  // MARK: Forms

  private func writeText(to output: Output) throws {
    // All of it is looked at before the first byte is written.
    for item in items {
      try list.open(item.name.description).secret.withBytes { value in _ = try line(item, value) }
    }
    for item in items {
      try list.open(item.name.description).secret.withBytes { value in
        try line(item, value).write(value) { (byte) throws(Failure) in try output.write(byte) }
      }
    }
  }

  private func line(_ item: Item, _ value: Span<UInt8>) throws(Failure) -> EnvironmentFile.Line {
    do throws(EnvironmentFile.Line.Fault) {
      return try EnvironmentFile.Line(item.name.description, value)
    } catch {
      throw Failure(
        .conflict, "'\(UTF8Text.onOneLine(item.name.description))' does not fit into an env file: \(error.words)",
        hint: "--to json takes everything")
    }
  }

  private func writeJSON(to output: Output) throws {
    var json = JSONWriter(output)
    try json.object { (json) throws(Failure) in
      try json.string("group", group.description)
      try json.array("items") { (json) throws(Failure) in
        for item in items { try write(item, to: &json) }
      }
    }
  }

  private func open(_ item: Item) throws(Failure) -> OpenedItem {
    do {
      return try list.open(item.name.description)
    } catch {
      throw Failure(error.exitStatus, error.message, hint: error.hint)
    }
  }

  private func write(_ item: Item, to json: inout JSONWriter) throws(Failure) {
    let opened = try open(item)
    try json.object { (json) throws(Failure) in
      try json.string("name", item.name.description)
      try json.string("kind", item.kind.name)
      if let typeName = item.typeName { try json.string("type", typeName) }
      try unsafe opened.secret.withUnsafeBytes { (bytes) throws(Failure) in
        if unsafe UTF8Text.isValid(bytes) {
          try unsafe json.text("value", bytes)
        } else {
          try unsafe json.base64("valueBase64", bytes)
        }
      }
      try json.string("label", orNull: item.label)
      try json.object("attributes") { (json) throws(Failure) in
        for (key, value) in item.attributes.sorted(by: <) { try json.member(key, value) }
      }
      try json.string("expires", orNull: item.expires?.exactText)
    }
  }
}

extension EnvironmentFile.Line.Fault {
  /// What is wrong, for people.
  var words: String {
    switch self {
    case .name: "its name holds a quote, and needs quotes"
    case .notText: "its value is not text"
    case .endsWithBackslash: "its value ends with a backslash, and needs quotes"
    }
  }
}
