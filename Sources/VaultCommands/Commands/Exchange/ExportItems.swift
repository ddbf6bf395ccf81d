internal import Exchange
import Glibc
internal import Ground
internal import Vault

/// `vault export`
struct ExportItems: Command {
  static let about = About(
    "Write all values of a group for other programs.",
    usage: """
      vault export --to json|dotenv|kdbx|bitwarden|csv -g GROUP [--output FILE] [--replace]
                   [--yes-print-secrets] [--file-passphrase-fd N]
      """,
    more: """
      Asks on a terminal first, except for kdbx, which is encrypted; --yes-print-secrets answers yes. If one item cannot \
      be written, nothing is.

      json holds everything except former versions: an object with the group's name and items, each with name, kind, \
      value (or valueBase64 if it is not UTF-8), label, attributes, expires and, for archives, type. Each value is a \
      string of exactly the value's bytes; import reads it back. dotenv contains only names and values, in a form \
      that import, and python-dotenv with interpolate=False, read back exactly. So do shells and Node.js if the name \
      is a variable such as DB_PASSWORD; other names cause a warning, because a shell would run such a line as a \
      command. (vault env makes variables of all names.) So do a value with ${NAME}, which some readers replace, and \
      one with backslashes, after which shells may also read the next lines wrongly. A value that is not text is \
      refused.

      kdbx is a database of KeePass and KeePassXC, with former versions, and with bytes as attachments; its \
      passphrase is asked for twice. A text with a placeholder such as {USERNAME}, which KeePass replaces, causes a \
      warning. A database that is in FILE already is replaced only with --replace; nothing is added to it. bitwarden \
      is the JSON that Bitwarden imports, with former passwords. csv is a table of name, url, username, password, \
      notes and totp. With these three, everything that the format cannot hold, or that import would read back in \
      another form, is listed.
      """,
    example: """
      vault export --to json --group team.shared --output team.json
      vault export --to kdbx --group default --output vault.kdbx
      """)

  let format: String
  let group: String?
  let output: String?
  let replace: Bool
  let yesPrintSecrets: Bool
  let passphraseDescriptor: Int32?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    format = try arguments.required(
      "--to", value: "form", "The format: \(ExportFormat.list).",
      completes: .words(ExportFormat.allCases.map(\.rawValue)))
    group = arguments.option(
      "--group", short: "-g", value: "group", "The access group; it must be named here.", completes: .groups)
    output = arguments.outputFile()
    replace = arguments.flag("--replace", "Replace a database of KeePass that is in the file.")
    yesPrintSecrets = arguments.flag("--yes-print-secrets", "Do not ask.")
    passphraseDescriptor = try arguments.descriptor(
      "--file-passphrase-fd", "Read the new passphrase of a kdbx file from this descriptor: its first line."
    )
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard let format = ExportFormat(rawValue: format) else {
      throw Failure.usage("there is no such format", hint: "formats: \(ExportFormat.list)")
    }
    guard let name = group else {
      throw Failure.usage("--group is missing", hint: "an export names the group whose values it prints")
    }
    if let output, !replace { try refuseDatabase(at: output) }
    let group = try session.openGroup(name, key)
    if !yesPrintSecrets, format != .kdbx { try ask(group, session) }
    var export = try ExportRequest(of: group)
    if format == .kdbx { export.passphrase = try passphrase(session) }
    if let output {
      try OutputFile.write(output, warning: session.warn) { output in try export.write(format, to: output) }
    } else {
      try export.write(format, to: session.output)
    }
    if export.exceedsImport { session.warn("this export is too large for vault import to read it back") }
    for warning in export.warnings { session.warn(warning) }
    if format == .dotenv, let lost = export.whatTextCannotHold { session.say(lost) }
    for loss in export.losses { session.say("not kept: \(loss)") }
  }

  /// A database may hold a user's only copy of other passwords, and they may expect that an export adds to it.
  private func refuseDatabase(at path: String) throws(Failure) {
    let mark = ForeignFormat.keePassMark
    guard let file = try? OpenFile(path, O_RDONLY | O_NONBLOCK), file.bytes(mark.count, at: 0) == mark else { return }
    throw Failure(
      .exists, "the file of --output is a database of KeePass, and all that it holds would be lost",
      hint: "name another file; to replace the database: --replace")
  }

  /// The passphrase of the new database.
  private func passphrase(_ session: Session) throws -> WipedBytes {
    let passphrase: WipedBytes
    if let given = try FileLock(passphraseDescriptor: passphraseDescriptor).passphrase() {
      passphrase = given
    } else {
      guard let terminal = session.terminal else {
        throw Failure(
          .usage, "the database needs a passphrase, and there is no terminal to ask", hint: "--file-passphrase-fd N")
      }
      passphrase = try terminal.askTwice("new passphrase of the database: ", again: "the same again: ")
    }
    guard passphrase.count > 0 else { throw Failure(.usage, "the database's passphrase is empty") }
    return passphrase
  }

  private func ask(_ group: AccessGroup, _ session: Session) throws {
    guard let terminal = session.terminal else {
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
enum ExportFormat: String, CaseIterable {
  case json, dotenv, kdbx, bitwarden, csv

  static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// All present items of a group, read from one state.
struct ExportRequest {
  private let group: AccessGroup.Name
  private let list: ItemList
  private var items: [Item]
  private let source: AccessGroup
  /// The passphrase of a KeePass database.
  var passphrase: WipedBytes?
  /// What the written format cannot hold, described without any value.
  private(set) var losses: [String] = []
  /// What says of values that the file holds, but some of its readers change.
  private(set) var warnings: [String] = []
  /// Whether an import refuses the written file for its size.
  private(set) var exceedsImport = false

  init(of group: AccessGroup) throws(VaultError) {
    self.group = group.name
    source = group
    list = try group.list()
    var items: [Item] = []
    while let item = try list.next() { items.append(item) }
    self.items = items.sorted { $0.name.description < $1.name.description }
  }

  /// A description of the parts of an item that an env file cannot contain.
  var whatTextCannotHold: String? {
    let count = items.count { item in
      item.label != nil || !item.attributes.isEmpty || item.expires != nil || item.kind != .string
    }
    return count == 0
      ? nil
      : "kinds, labels, attributes and expiry are left out: \(count == 1 ? "1 item has" : "\(count) items have") some"
  }

  /// - Parameter limit: the size in bytes from which an import refuses the file; by default that of the format.
  mutating func write(_ format: ExportFormat, to output: Output, importLimit limit: Int? = nil) throws {
    let start = output.byteCount
    if format != .json { leaveOutCompanions() }
    switch format {
    case .kdbx:
      guard let passphrase else { return }
      var export = try ForeignExport(items, list, in: source)
      let database = try export.database(passphrase)
      (losses, exceedsImport) = (losses + export.losses, export.exceedsImport)
      warnings = export.placeholders.map { name in
        "'\(UTF8Text.onOneLine(name))' contains a placeholder such as {USERNAME}, which KeePass replaces"
      }
      try unsafe database.withUnsafeBytes { bytes in
        try unsafe output.requireTextIfTerminal(bytes, hint: "--output FILE")
        try unsafe output.write(bytes)
      }
    case .bitwarden: try write(to: output) { $0.bitwarden() }
    case .csv: try write(to: output) { $0.table() }
    case .dotenv: try writeText(to: output)
    case .json: try writeJSON(to: output)
    }
    let limit = limit ?? (format == .dotenv ? ImportFile.environmentLimit : ImportFile.usualLimit)
    if output.byteCount - start > limit { exceedsImport = true }
  }

  /// Leaves out what vaultd keeps beside items, which has a meaning for vaultd alone.
  private mutating func leaveOutCompanions() {
    for item in items where item.name.isCompanion { losses.append("'\(item.name)': what vaultd keeps beside an item") }
    items.removeAll { $0.name.isCompanion }
  }

  // MARK: Forms

  private mutating func write(to output: Output, _ form: (inout EntryExport) -> [UInt8]) throws {
    var export = try ForeignExport(items, list, in: source)
    let text = export.text(form)
    losses += export.losses
    try output.requireTextIfTerminal(text, hint: "--output FILE")
    try output.write(text)
  }

  private mutating func writeText(to output: Output) throws {
    // Everything is checked before the first byte is written.
    let others = items.filter { !VariableName.isValid($0.name.description) }
    if let first = others.first {
      let name = "'\(UTF8Text.onOneLine(first.name.description))'"
      let count = others.count
      let names =
        count == 1
        ? "the name \(name) is not a valid variable name"
        : "\(count) names such as \(name) are not valid variable names"
      warnings.append("\(names), and a shell would run such a line as a command; for shells: vault env")
    }
    for item in items {
      try list.open(item.name.description).secret.withBytes { value in
        warnings += try line(item, value).warnings(of: "'\(UTF8Text.onOneLine(item.name.description))'")
        try unsafe value.withUnsafeBytes { try unsafe output.requireTextIfTerminal($0, hint: "--output FILE") }
      }
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
    // Every item is opened before the first byte is written.
    for item in items { _ = try list.open(item.name.description) }
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
        if unsafe bytes.isUTF8 {
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

extension EnvironmentFile.Line {
  /// What to say of the value of `name`, if some readers of env files read another one.
  func warnings(of name: String) -> [String] {
    var warnings: [String] = []
    if isExpandable { warnings.append("the value of \(name) contains '${', which some readers of env files replace") }
    if needsEscapes {
      warnings.append(
        "the value of \(name) has to be written with backslashes: shells and Node.js read it wrongly, and shells may "
          + "read the lines after it wrongly")
    }
    return warnings
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
