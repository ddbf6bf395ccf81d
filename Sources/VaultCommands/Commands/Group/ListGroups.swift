import ArgumentParser
internal import Vault

/// `vault group list`
struct ListGroups: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the names of the groups whose files are here. Nothing is opened or verified.",
    usage: "vault group list [--json]",
    discussion: """
      Example:
        vault group list
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let names = try StoreLocation(environment: session.environment).groupNames()
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for name in names {
          try json.object { (json) throws(Failure) in try json.string("name", name) }
        }
      }
    }
    for name in names { try session.output.write(name + "\n") }
  }
}
