internal import Exchange
internal import Vault

/// `vault import FILE`
struct ImportItems: Command {
  static let about = About(
    "Import the secrets of another program, all at once or none.",
    usage: """
      vault import FILE [--from FORMAT] [--file-passphrase-fd N] [--file-key FILE]
                   [-g GROUP] [--prefix P] [--replace] [--strict] [--dry-run] [--json]
      vault import [FOLDER] --from pass|gopass [-g GROUP] ...
      vault import --from secret-service [-g GROUP] ...
      """,
    more: """
      dotenv: each NAME=value becomes an item of text. csv: a table with a header. plist: an app's preferences \
      (UserDefaults), XML or binary. json: the output of export, or one object of names and values, as vault env \
      --shell json writes it. yaml: names, values and nested names. sops: YAML, JSON, an env file or a binary file, \
      encrypted by sops for age. pass, gopass: the entries of a password store, opened with gpg or, for gopass, age; \
      the folder is PASSWORD_STORE_DIR, or else the program's default folder. kdbx: a database of KeePass or \
      KeePassXC; keepass-xml: the XML that they export. bitwarden: its JSON, unencrypted or encrypted with a \
      password. 1pux: an export of 1Password. keychain: the output of security dump-keychain -d on a Mac. \
      secret-service: what gnome-keyring, KeePassXC or another Secret Service of this session holds, with labels and \
      attributes; vaultd asks it. FILE may be - for standard input. Without --from the file's name decides: .env, \
      .csv, .plist, .json, .yaml, .kdbx, .1pux; - is JSON, and a folder with .gpg-id or .age-recipients a password \
      store.

      csv recognizes the columns of Chrome, Firefox, Safari, KeePassXC, Bitwarden, 1Password, LastPass, Dashlane \
      and NordPass. Each login becomes a JSON object with username, password, url, notes and totp, if present, so \
      that vault://GROUP/NAME#password names one of them and vault totp makes codes; so does an entry of pass with \
      more than one line. If accounts have the same name, the user's name is appended. A table of names and values \
      makes text items. plist turns dictionaries into names such as window/frame/width and arrays into JSON, and \
      keeps types; data that is a keyed archive stays one.

      An entry of KeePass, Bitwarden, 1Password or a keychain becomes such a JSON object with all of its fields. \
      Its folders become the beginning of its name, former passwords become versions, and an attachment becomes \
      the item NAME/FILE. The command asks for the file's passphrase on the terminal. An entry or attachment \
      that cannot be imported is named and left out; with --strict nothing is imported then. All other formats are \
      imported completely or not at all.

      If an item exists with another value, nothing is imported (22), unless --replace gives it a new version. An \
      equal value gets no new version, so an import can be repeated. The output of export and a Secret Service also \
      replace labels and attributes. --dry-run shows what would happen without showing a value, and fails if the \
      import would. Parts of the file that no item keeps are listed.
      """,
    example: """
      vault import .env --from dotenv --group team.shared --dry-run
      vault import .env --from dotenv --group team.shared
      vault import passwords.csv --from csv --prefix web/
      vault import old.kdbx --prefix old/
      vault import --from pass --group personal
      vault import --from secret-service --group desktop
      """)

  let file: String?
  let format: String?
  let group: String?
  let prefix: String
  let replace: Bool
  let strict: Bool
  let lock: FileLock
  let dryRun: Bool
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = arguments.optionalArgument("file", "The file to read, or - for standard input.", completes: .files)
    format = arguments.option(
      "--from", value: "source", "The format: \(ImportFormat.list).",
      completes: .words(ImportFormat.allCases.map(\.rawValue)))
    group = arguments.group()
    prefix = arguments.option("--prefix", value: "p", "Put this before each item's name.") ?? ""
    replace = arguments.flag("--replace", "Give new versions to existing items.")
    strict = arguments.flag("--strict", "Import nothing if there is an entry that cannot be imported.")
    lock = try FileLock(&arguments)
    dryRun = arguments.flag("--dry-run", "Show what would be set, and change nothing.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let format = try ImportFormat(named: format, of: file)
    if !prefix.isEmpty { try References(session, key).naming("--prefix") { _ = try Item.Name(prefix + "x") } }
    if let last = prefix.last, last.isLetter || last.isNumber {
      session.warn("the prefix is put directly before each name; for a folder, end it with '/': --prefix P/")
    }
    var imported = try format.items(of: file, lock, in: session)
    for index in imported.items.indices {
      imported.items[index].prepend(prefix)
      // Lists would not show it, because vaultd gives such names to what it keeps beside items.
      guard format != .json, imported.items[index].name.hasSuffix(Item.Name.companionEnding) else { continue }
      imported.items[index].name += "/"
      imported.losses.append(
        "\(imported.items[index].place): its name, which becomes '\(imported.items[index].name)'")
    }
    let request = ImportRequest(
      imported: imported, fileName: format.fileName(file), replaces: replace, isDryRun: dryRun, json: json,
      leavesOut: format.leavesOut && !strict)
    try request.run(in: session.openGroup(group, key), session)
  }
}
