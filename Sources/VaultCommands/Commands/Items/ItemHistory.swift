internal import Vault

/// `vault info NAME`
struct InfoItem: Command {
  static let about = About(
    "Show everything about an item except its value.",
    usage: "vault info NAME [-g GROUP] [--json]",
    example: """
      vault info db/password
      """)

  let name: String
  let group: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    group = arguments.group()
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let group = try session.openGroup(group, key)
    let item = try group.item(name)
    if json {
      var json = JSONWriter(session.output)
      return try item.write(to: &json, group: group.name)
    }
    for (title, text) in item.lines(group: group.name, told: session.told) {
      try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n")
    }
  }
}

/// `vault history NAME`
struct HistoryOfItem: Command {
  static let about = About(
    "List the kept versions of an item, newest first, with their dates and writers.",
    usage: "vault history NAME [-g GROUP] [--json]",
    more: """
      To read a version in the list: vault get NAME --version N. The group's writers must trust each other: only the \
      member who wrote to the group last is proved to have written the versions shown as theirs; for all other \
      versions, the writer is only claimed.
      """,
    example: """
      vault history db/password
      """)

  let name: String
  let group: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    group = arguments.group()
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let versions = try session.openGroup(group, key).history(name)
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for version in versions { try version.writeVersion(to: &json) }
      }
    }
    var table = Table("VERSION", "STATE", "CHANGED", "BY")
    for version in versions {
      table.add(String(version.version), version.state, session.told(version.changed), version.writerText)
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

/// `vault restore NAME`
struct RestoreItem: Command {
  static let about = About(
    "Bring back a removed item, or an older version, as a new version.",
    usage: "vault restore NAME [-g GROUP] [--version N]",
    example: """
      vault restore db/password --version 2
      """)

  let name: String
  let group: String?
  let version: UInt64?
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The item's name.", completes: .items)
    group = arguments.group()
    version = try arguments.number(
      "--version", value: "n", "The version to bring back; by default the last one with a value.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    _ = try session.openGroup(group, key).restore(name, version: version)
  }
}
