import ArgumentParser

/// `vault set NAME`
struct SetItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Store a value: from stdin, a descriptor, a file, or typed without echo. Never from an argument.",
    usage: """
      vault set NAME[#FIELD] [-g GROUP] [--label TEXT] [-a KEY=VALUE]... [--expires WHEN]
                     [--fd N | --file PATH | --keep-value] [--type TYPE] [--exact]
                     [--if-version N] [--replace-fields] [--json]
      vault set NAME --archive FILE [--allow CLASS]... [-g GROUP] ...
      """,
    discussion: """
      The newline at the end of one piped line comes off; text of several lines keeps its last one, and a file's bytes are kept as they are. Label and attributes that are \
      not named stay; an empty text removes one. The expiry belongs to the value and stays only with --keep-value.

      NAME#FIELD sets one field of a login or another JSON value and leaves the others as they are, unless an item is called \
      so; --field FIELD takes the name as it is, and a new item with '#' in its name needs --field ''. Text that would take \
      the place of JSON with all its fields is asked about on a terminal, and refused (18) elsewhere, unless \
      --replace-fields is given; a JSON object stays one.

      --type checks the value and keeps it in one form: bool, int, double, string, date (2027-01-31T12:00Z), url, uuid, \
      json or data. --archive stores a keyed archive (NSKeyedArchiver) after looking into it; what is not named with \
      --allow is refused, with 19.

      Example:
        printf %s "$TOKEN" | vault set api/token --label "CI token" -a env=prod --expires 90d
        printf %s "$NEW" | vault set web/GitHub#password
        echo true | vault set flags/beta --type bool
        vault set owner --archive person.plist --allow Person --allow Address
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var field: FieldOptions
  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("A text for people.", valueName: "text")) var label: String?

  @Option(
    name: [.customShort("a"), .customLong("attribute")], help: ArgumentHelp("An attribute.", valueName: "key=value"))
  var attributes: [String] = []

  @Option(help: ArgumentHelp("When the value expires: \(Expiry.forms).", valueName: "when")) var expires: String?
  @Option(name: .customLong("fd"), help: ArgumentHelp("Read the value from this descriptor.", valueName: "n"))
  var descriptor: Int32?

  @Option(help: ArgumentHelp("Read the value from this file.", valueName: "path")) var file: String?
  @Option(help: ArgumentHelp("What the value is: it is checked.", valueName: "type")) var type: String?
  @Option(help: ArgumentHelp("Store this keyed archive, or - for standard input.", valueName: "file"))
  var archive: String?

  @Option(name: .customLong("allow"), help: ArgumentHelp("A class that may be in the archive.", valueName: "class"))
  var allowed: [String] = []

  @Flag(help: "Keep the value, and change only what is named.") var keepValue = false
  @Flag(help: "Put text in the place of JSON and all its fields.") var replaceFields = false
  @Flag(help: "Keep the newline at the end of piped text.") var exact = false
  @Option(help: ArgumentHelp("Only if this is the present version; 0: only if there is none.", valueName: "n"))
  var ifVersion: UInt64?

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  var request: SetRequest {
    SetRequest(
      name: name, field: field.field, group: group.group, label: label, attributes: attributes, expires: expires,
      descriptor: descriptor,
      file: file, keepsValue: keepValue, replacesFields: replaceFields, type: type, archive: archive, allowed: allowed,
      exact: exact,
      ifVersion: ifVersion, json: json.json, key: key.source)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}
