import ArgumentParser
internal import Vault

/// `vault app list`
struct ListApplications: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the applications that were issued a credential.",
    usage: "vault app list [--json]",
    discussion: """
      Example:
        vault app list
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let applications = try session.openStore(key.source).applications.list()
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for application in applications {
          try json.object { (json) throws(Failure) in try application.writeFields(to: &json) }
        }
      }
    }
    var table = Table("APP", "STATE", "ISSUE", "ISSUED", "LIFETIME")
    for application in applications {
      table.add(
        application.id, application.standing.rawValue, String(application.issue), session.shown(application.issued),
        application.lifetime.rawValue)
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension Application {
  func writeFields(to json: inout JSONWriter) throws(Failure) {
    try json.string("app", id)
    try json.string("state", standing.rawValue)
    try json.number("issue", UInt64(issue))
    try json.string("created", created.text)
    try json.string("issued", orNull: issued?.text)
    try json.string("lifetime", lifetime.rawValue)
  }
}
