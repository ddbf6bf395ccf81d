internal import Exchange
internal import Vault

/// `vault import FILE`
struct ImportItems: Command {
  static let about = About(
    "Import the secrets of another program, all at once or none.",
    usage: """
      vault import FILE [--from dotenv|csv|plist|json] [-g GROUP] [--prefix P]
                   [--replace] [--dry-run] [--json]
      vault import [FOLDER] --from pass [-g GROUP] ...
      """,
    more: """
      dotenv: each NAME=value becomes an item of text. csv: a table with a header. plist: an app's preferences \
      (UserDefaults), XML or binary. json: what export wrote, or one object of names and values, as vault env --shell json \
      writes it. pass: the entries of a password store, which gpg opens; its \
      folder is PASSWORD_STORE_DIR, or else ~/.password-store. FILE may be - for standard input. Without --from the \
      file's name decides: .env, .csv, .plist, .json; - is JSON.

      csv recognizes the columns of Chrome, Firefox, Safari, KeePassXC and Bitwarden. Each login becomes a JSON \
      object with username, password, url, notes and totp, if present, so that vault://GROUP/NAME#password names one \
      of them and vault totp makes codes; so does an entry of pass with more than one line. If accounts have the \
      same name, the user's name is appended. A table of names and values makes text items. plist turns dictionaries \
      into names such as window/frame/width and arrays into JSON, and keeps types; data that is a keyed archive \
      stays one.

      If an item exists with another value, nothing is imported (22), unless --replace gives it a new version. An \
      equal value gets no new version, so an import can be repeated. --dry-run shows what would happen without \
      showing a value, and fails if the import would. Parts of the file that no item keeps are listed.
      """,
    example: """
      vault import .env --from dotenv --group team.shared --dry-run
      vault import .env --from dotenv --group team.shared
      vault import passwords.csv --from csv --prefix web/
      vault import --from pass --group personal
      """)

  let file: String?
  let format: String?
  let group: String?
  let prefix: String
  let replace: Bool
  let dryRun: Bool
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = arguments.optionalArgument("file", "The file to read, or - for standard input.", completes: .files)
    format = arguments.option(
      "--from", value: "source", "The format: dotenv, csv, plist, json or pass.",
      completes: .words(ImportFormat.allCases.map(\.rawValue)))
    group = arguments.group()
    prefix = arguments.option("--prefix", value: "p", "Put this before each item's name.") ?? ""
    replace = arguments.flag("--replace", "Give new versions to existing items.")
    dryRun = arguments.flag("--dry-run", "Show what would be set, and change nothing.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let format = try ImportFormat(named: format, of: file)
    if !prefix.isEmpty { try References.naming("--prefix") { _ = try Item.Name(prefix + "x") } }
    var imported = try format.items(of: file, in: session)
    for index in imported.items.indices { imported.items[index].name = prefix + imported.items[index].name }
    let request = ImportRequest(
      imported: imported, fileName: format.fileName(file), replaces: replace, isDryRun: dryRun, json: json)
    try request.run(in: session.openGroup(group, key), session)
  }
}

/// Imports the items that were read from a file.
struct ImportRequest {
  let imported: ImportedItems
  /// The name of the file in messages; nil if each item has its own.
  let fileName: String?
  let replaces: Bool
  let isDryRun: Bool
  let json: Bool

  /// Sets all of the items in one transaction, or none of them. A dry run takes no lock and changes nothing.
  ///
  /// - Throws: `usage` for an item that the store cannot hold, `conflict` for two items with the same name, `exists` if
  ///   an item would be replaced without `--replace`. A dry run has printed its table before it throws.
  func run(in group: AccessGroup, _ session: Session) throws {
    try requireDistinctNames()
    guard !isDryRun else { return try rehearse(in: group, session) }
    let steps = try group.transaction { edit in
      let steps = try imported.items.map { item in
        try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try edit.open(name) }
      }
      try refuseReplacing(steps)
      for step in steps where step.action != .unchanged { try step.perform(in: edit) }
      return steps
    }
    try tell(steps, group, session)
  }

  private func rehearse(in group: AccessGroup, _ session: Session) throws {
    try group.requireWriter()
    let steps = try imported.items.map { item in
      let step = try ImportStep(item, at: place(of: item)) { (name) throws(VaultError) in try group.open(name) }
      if step.action != .unchanged { try step.rehearse(in: group) }
      session.showProgress("\(item.place) compared")
      return step
    }
    session.endProgress()
    try tell(steps, group, session)
    try refuseReplacing(steps)
  }

  private func place(of item: ImportedItem) -> String {
    let place = UTF8Text.onOneLine(item.place)
    return fileName.map { "\($0), \(place)" } ?? place
  }

  private func requireDistinctNames() throws {
    var places: [String: String] = [:]
    for item in imported.items {
      let name: String
      do { name = try Item.Name(item.name).description } catch {
        throw Failure(error.exitStatus, "\(place(of: item)): \(error.message)")
      }
      if let first = places.updateValue(item.place, forKey: name) {
        throw Failure(
          .conflict, "\(place(of: item)): has the same name as \(UTF8Text.onOneLine(first))")
      }
    }
  }

  private func refuseReplacing(_ steps: [ImportStep]) throws(Failure) {
    let count = steps.count { $0.action == .replace }
    guard count > 0, !replaces else { return }
    throw Failure(
      .exists, "\(count == 1 ? "1 item is" : "\(count) items are") there with another value; nothing was imported",
      hint: "to see which: --dry-run; to give them new versions: --replace; to keep both: --prefix P")
  }

  // MARK: Telling

  private func tell(_ steps: [ImportStep], _ group: AccessGroup, _ session: Session) throws(Failure) {
    if json { return try writeJSON(steps, group, to: session.output) }
    if isDryRun {
      var table = Table("ACTION", "NAME", "KIND")
      for step in steps { table.add(step.action.rawValue, step.item.name, step.kind) }
      try table.write(to: session.output, style: session.outputStyle)
      try session.output.flush()
    }
    func count(_ action: ImportStep.Action) -> Int { steps.count { $0.action == action } }
    let counts = "\(count(.new)) new, \(count(.replace)) replaced, \(count(.unchanged)) unchanged"
    session.say("\(isDryRun ? "would import" : "imported") into '\(group.name)': \(counts)")
    for loss in imported.losses { session.say("not kept: \(loss)") }
  }

  private func writeJSON(_ steps: [ImportStep], _ group: AccessGroup, to output: Output) throws(Failure) {
    var json = JSONWriter(output)
    try json.object { (json) throws(Failure) in
      try json.string("group", group.name.description)
      try json.flag("dryRun", isDryRun)
      try json.array("items") { (json) throws(Failure) in
        for step in steps {
          try json.object { (json) throws(Failure) in
            try json.string("name", step.item.name)
            try json.string("action", step.action.rawValue)
            try json.string("kind", step.kind)
            try json.string("from", step.item.place)
          }
        }
      }
      try json.array("notKept") { (json) throws(Failure) in
        for loss in imported.losses { try json.string(nil, loss) }
      }
    }
  }
}
