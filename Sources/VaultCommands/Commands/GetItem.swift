import ArgumentParser

/// `vault get NAME`
struct GetItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Write a value: exactly its bytes, and a newline only on a terminal.",
    usage: """
      vault get NAME[#FIELD] [-g GROUP] [--version N] [--output FILE] [--json]
      vault get NAME[#FIELD]... [-g GROUP] --json
      """,
    discussion: """
      NAME#FIELD is one field of a login or another JSON value, unless an item is called so; --field FIELD takes the name \
      as it is, and --field '' means the whole value.

      With --json, numbers, booleans and JSON are values of JSON, an archive is the tree of what is in it (no class is \
      built), and a value that is not UTF-8 stands in valueBase64 instead of value. An expired value is given all the \
      same, with a warning. Several items are one array.

      Example:
        vault get web/GitHub#username
        curl -H "Authorization: Bearer $(vault get api/token)" https://example.com/
      """)

  @Argument(help: ArgumentHelp("The item's name; several with --json.", valueName: "name")) var names: [String]
  @OptionGroup var field: FieldOptions
  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("This version instead of the present one.", valueName: "n")) var version: UInt64?
  @Option(help: ArgumentHelp("Write to this file, new or replaced, for you alone.", valueName: "file"))
  var output: String?
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  var request: GetRequest {
    GetRequest(
      name: names.first ?? "", others: Array(names.dropFirst()), field: field.field, group: group.group,
      version: version, output: output, json: json.json,
      key: key.source)
  }

  func run(in session: Session) throws { try request.run(in: session) }
}
