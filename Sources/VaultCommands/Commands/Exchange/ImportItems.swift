import ArgumentParser
internal import Exchange
internal import Vault

/// `vault import FILE`
struct ImportItems: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Bring in what another program kept: all of it at once, or nothing.",
    usage: """
      vault import FILE [--from dotenv|csv|plist|json] [-g GROUP] [--prefix P]
                   [--replace] [--dry-run] [--json]
      vault import [FOLDER] --from pass [-g GROUP] ...
      """,
    discussion: """
      dotenv: each NAME=value becomes an item of text. csv: a table with a header. plist: an app's preferences \
      (UserDefaults), XML or binary. json: what export wrote, or one object of names and values, as vault env --shell json \
      writes it. pass: the entries of a password store, which gpg opens; its \
      folder is PASSWORD_STORE_DIR, or else ~/.password-store. FILE may be - for standard input. Without --from \
      the name tells: .env, .csv, .plist, .json, and - is JSON.

      csv knows the columns of Chrome, Firefox, Safari, KeePassXC and Bitwarden: each login becomes a JSON object with \
      username, password, url, notes and totp, as far as they are there, so that vault://GROUP/NAME#password names one of \
      them and vault totp makes codes; so does an entry of pass with more than one line. Accounts of one name get the \
      user's name behind it. A table of name and value gives items of text. plist makes window/frame/width of \
      dictionaries and JSON of arrays, and keeps types; data that is a keyed archive is kept as one.

      An item that is there is changed only with --replace, and its versions are kept; without it, nothing is imported \
      (22). A value that is already the same gets no new version, so an import can be repeated. --dry-run shows what \
      would happen, never a value, and fails where the import would. What the file holds and no item keeps is listed.

      Example:
        vault import .env --from dotenv --group team.shared --dry-run
        vault import .env --from dotenv --group team.shared
        vault import passwords.csv --from csv --prefix web/
        vault import --from pass --group personal
      """)

  @Argument(help: ArgumentHelp("What to read, or - for standard input.", valueName: "file")) var file: String?
  @Option(
    name: .customLong("from"),
    help: ArgumentHelp("What the file is: dotenv, csv, plist, json or pass.", valueName: "source"))
  var format: String?

  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("Put this before each item's name.", valueName: "p")) var prefix: String = ""
  @Flag(help: "Give new versions to items that are there.") var replace = false
  @Flag(help: "Show what would be set, and change nothing.") var dryRun = false
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let format = try ImportFormat(named: format, of: file)
    if !prefix.isEmpty { try References.naming("--prefix") { _ = try Item.Name(prefix + "x") } }
    var imported = try format.items(of: file, in: session)
    for index in imported.items.indices { imported.items[index].name = prefix + imported.items[index].name }
    let request = ImportRequest(
      imported: imported, fileName: format.fileName(file), replaces: replace, isDryRun: dryRun, json: json.json)
    try request.run(in: session.openGroup(group.group, key.source), session)
  }
}
