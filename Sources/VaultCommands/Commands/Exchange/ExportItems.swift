internal import Exchange
internal import Vault

/// `vault export`
struct ExportItems: Command {
  static let about = About(
    "Write all values of a group, unencrypted.",
    usage: "vault export --to dotenv|json -g GROUP [--output FILE] [--yes-print-secrets]",
    more: """
      Asks on a terminal first; --yes-print-secrets answers yes. If one item cannot be written, nothing is.

      json is complete: an object with the group's name and items, each with name, kind, value (or valueBase64, where it is \
      not UTF-8), label, attributes, expires and, for archives, type. Each value is a string of exactly the value's bytes; \
      import takes it back. dotenv holds names and values only, in the form that python-dotenv and import read back \
      exactly; a value that is not text is refused.
      """,
    example: """
      vault export --to json --group team.shared --output team.json
      """)

  let format: String
  let group: String?
  let output: String?
  let yesPrintSecrets: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    format = try arguments.required(
      "--to", value: "form", "The format: dotenv or json.", completes: .words(["dotenv", "json"]))
    group = arguments.group()
    output = arguments.option(
      "--output", value: "file", "Write to this file, which is made or replaced and readable by you alone.",
      completes: .files)
    yesPrintSecrets = arguments.flag("--yes-print-secrets", "Do not ask.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard let format = ExportFormat(rawValue: format) else {
      throw Failure.usage("there is no such format", hint: "--to dotenv, or --to json")
    }
    guard let name = group else {
      throw Failure.usage("--group is missing", hint: "an export names the group whose values it prints")
    }
    let group = try session.openGroup(name, key)
    if !yesPrintSecrets { try ask(group, session) }
    let export = try ExportRequest(of: group)
    if let output {
      try OutputFile.write(output) { output in try export.write(format, to: output) }
    } else {
      try export.write(format, to: session.output)
    }
    if format == .dotenv, let lost = export.whatTextCannotHold { session.say(lost) }
  }

  private func ask(_ group: AccessGroup, _ session: Session) throws {
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(
        .usage, "there is no terminal to ask whether to print secrets",
        hint: "to do it without asking: --yes-print-secrets")
    }
    let count = try group.items().count
    let values = count == 1 ? "1 value" : "\(count) values"
    let place = output == nil ? "print" : "write to a file"
    guard try terminal.confirm("\(place) \(values) of '\(group.name)', readable by whoever sees them? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was written")
    }
  }
}

/// The formats that `vault export` writes.
enum ExportFormat: String {
  case dotenv, json
}

/// All present items of a group, read from one state.
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

  /// The parts of an item that an env file cannot contain, in words.
  var whatTextCannotHold: String? {
    let count = items.count { item in
      item.label != nil || !item.attributes.isEmpty || item.expires != nil || item.kind != .string
    }
    return count == 0
      ? nil
      : "kinds, labels, attributes and expiry are left out: \(count == 1 ? "1 item has" : "\(count) items have") some"
  }

  func write(_ format: ExportFormat, to output: Output) throws {
    switch format {
    case .dotenv: try writeText(to: output)
    case .json: try writeJSON(to: output)
    }
  }

  // MARK: Forms

  private func writeText(to output: Output) throws {
    // Everything is checked before the first byte is written.
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
        hint: "--to json exports everything")
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
  /// A description of the fault for people.
  var words: String {
    switch self {
    case .name: "its name needs quotes but contains a quote"
    case .notText: "its value is not text"
    case .endsWithBackslash: "its value needs quotes but ends with a backslash"
    }
  }
}
