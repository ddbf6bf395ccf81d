import Glibc
internal import Vault

/// `vault rotate-value NAME -- COMMAND`
struct RotateValue: Command {
  static let about = About(
    "Replace a value by a new random one that a program takes over first.",
    usage: """
      vault rotate-value NAME[#FIELD] [-g GROUP] [--length N] [--alphabet SET] [--expires WHEN] -- COMMAND ARG...
      vault rotate-value NAME[#FIELD] [-g GROUP] --finish | --discard
      """,
    more: """
      The new value is written to the program's stdin, without a newline. It becomes the item's value only if the \
      program succeeds; the old value stays in the history. While the program runs, the new value is in the item \
      NAME\(Self.suffix), so that it is not lost if the machine stops. After that, --finish makes it the item's value, \
      and --discard removes it.
      """,
    example: """
      vault rotate-value db/password --expires 90d -- ./set-database-password
      """)

  static let suffix = ".new"

  let name: String
  let field: String?
  let group: String?
  let length: Int
  let alphabet: String
  let expires: String?
  let finish: Bool
  let discard: Bool
  let command: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    field = arguments.field()
    group = arguments.group()
    length = try arguments.number("--length", value: "n", "The number of characters, 1 to 65,536.", else: 32)
    alphabet = arguments.option(
      "--alphabet", value: "set", "The characters to choose from, as in generate.", else: "safe",
      completes: .words(GenerateItem.alphabets))
    expires = arguments.option("--expires", value: "when", "When the new value expires: \(Expiry.forms).")
    finish = arguments.flag("--finish", "The program took the new value: make it the item's value.")
    discard = arguments.flag("--discard", "The program did not take the new value: remove it.")
    command = arguments.wordsBehindDashes("command", "The program and its arguments.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard [finish, discard, !command.isEmpty].count(where: { $0 }) == 1 else {
      throw Failure.usage("give a program after --, or --finish, or --discard")
    }
    var details = Details()
    if let expires { details.expires = try Expiry.change(expires, now: .now) }
    let group = try session.openGroup(group, key)
    let place = try ItemPlace(name, field: field, in: group)
    let staged = place.name + Self.suffix
    if discard {
      _ = try group.item(staged)
      return try group.destroy(staged)
    }
    if finish { return try take(staged, place, details, nil, group) }
    let version = try version(of: place, in: group)
    let secret = try Secret.random(length: length, of: GenerateItem.alphabet(alphabet))
    try stage(secret, staged, in: group)
    let end = try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in
      try unsafe ChildProcess.run(command, input: bytes, session.streams)
    }
    guard end.status == 0 else {
      try group.destroy(staged)
      throw Failure(.unexpected, "the program ended with status \(end.status); the value was not changed")
    }
    try take(staged, place, details, version, group)
  }

  private func stage(_ secret: borrowing Secret, _ staged: String, in group: AccessGroup) throws {
    do throws(VaultError) {
      try group.set(staged, to: secret, kind: .string, ifVersion: 0)
    } catch {
      guard case .conflict = error else { throw error }
      throw Failure(
        .conflict, "an earlier rotation did not end; its value is in '\(UTF8Text.onOneLine(staged))'",
        hint: "if its program took the value: --finish; if not: --discard")
    }
  }

  /// The item's version; of a field only that it is there, because other fields may change meanwhile.
  private func version(of place: ItemPlace, in group: AccessGroup) throws -> UInt64? {
    guard let field = place.field else {
      let item = try group.item(place.name)
      guard item.kind != .json else {
        throw Failure(.conflict, "the value is JSON; name the field to change", hint: "vault rotate-value NAME#FIELD")
      }
      return item.version
    }
    _ = try ItemField(place, field, in: group)
    return nil
  }

  private func take(
    _ staged: String, _ place: ItemPlace, _ details: Details, _ version: UInt64?, _ group: AccessGroup
  ) throws {
    let value = try group.get(staged)
    do {
      try set(value, place, details, version, group)
    } catch VaultError.conflict {
      throw Failure(
        .conflict, "the item was changed meanwhile; the new value is in '\(UTF8Text.onOneLine(staged))'",
        hint: "if the new value is the one to keep: --finish; if not: --discard")
    }
    try group.destroy(staged)
  }

  private func set(
    _ value: borrowing Secret, _ place: ItemPlace, _ details: Details, _ version: UInt64?, _ group: AccessGroup
  ) throws {
    guard let field = place.field else {
      try group.set(place.name, to: value, kind: .string, details, ifVersion: version)
      return
    }
    let text = try unsafe value.withUnsafeBytes { (bytes) throws(Failure) in try unsafe WipedBytes(copying: bytes) }
    _ = try ItemField.set(field, of: place, to: text, as: .string, details, in: group)
  }
}
