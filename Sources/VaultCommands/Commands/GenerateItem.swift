import ArgumentParser
internal import Vault

/// `vault generate NAME`
struct GenerateItem: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "generate",
    abstract: "Store a new random value; nobody sees it unless --show is given.",
    usage: "vault generate NAME[#FIELD] [-g GROUP] [--length N] [--alphabet SET] [--replace-fields] [--show]",
    discussion: """
      SET is one of safe (A-Z a-z 0-9 - _), alphanumeric, printable, digits, hexadecimal, or the characters themselves.
      32 characters of safe hold 192 bits. An item that is there gets a new version. NAME#FIELD is one field of a login or \
      another JSON value, as set reads it, and the others stay.

      Example:
        vault generate db/password --length 40
        vault generate web/GitHub#password
      """)

  @Argument(help: ArgumentHelp("The item's name.", valueName: "name")) var name: String
  @OptionGroup var field: FieldOptions
  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("How many characters, 1 to 65,536.", valueName: "n")) var length = 32
  @Option(help: ArgumentHelp("What they are drawn from.", valueName: "set")) var alphabet = "safe"
  @Flag(help: "Put the value in the place of JSON and all its fields.") var replaceFields = false
  @Flag(help: "Write the value to stdout.") var show = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let secret = try Secret.random(length: length, of: Self.alphabet(alphabet))
    let group = try session.openGroup(group.group, key.source)
    let place = try ItemPlace(name, field: field.field, in: group)
    if let field = place.field {
      let text = try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in try unsafe WipedBytes(copying: bytes) }
      _ = try ItemField.set(field, of: place, to: text, as: .string, in: group)
    } else {
      try FieldLoss(place.name, in: group, isMeant: replaceFields)?.confirm(in: session)
      try group.set(place.name, to: secret, kind: .string)
    }
    guard show else { return }
    try unsafe secret.withUnsafeBytes { bytes in try unsafe session.output.write(bytes) }
    if session.output.isTerminal { try session.output.write("\n") }
  }

  private static func alphabet(_ set: String) throws(VaultError) -> Alphabet {
    switch set {
    case "safe": .safe
    case "alphanumeric": .alphanumeric
    case "printable": .printable
    case "digits": .digits
    case "hexadecimal": .hexadecimal
    default: try Alphabet(set)
    }
  }
}
