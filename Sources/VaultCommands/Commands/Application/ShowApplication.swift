import ArgumentParser
internal import Vault

/// `vault app show APP`
struct ShowApplication: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show an application: how it stands, and the groups it is in with its rights.",
    usage: "vault app show APP [--json]",
    discussion: """
      Example:
        vault app show com.example.api
      """)

  @Argument(help: ArgumentHelp("The application's id.", valueName: "app")) var app: String
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let applications = try session.openStore(key.source).applications
    let application = try applications.application(app)
    let groups = try applications.groups(of: app)
    if json.json {
      var json = JSONWriter(session.output)
      return try json.object { (json) throws(Failure) in
        try application.writeFields(to: &json)
        try json.array("groups") { (json) throws(Failure) in
          for group in groups {
            try json.object { (json) throws(Failure) in
              try json.string("name", group.name)
              try json.string("rights", group.rights.rawValue)
              try json.string("lifetime", group.lifetime.rawValue)
            }
          }
        }
      }
    }
    for (title, text) in application.lines { try session.output.write("\(title): \(text)\n") }
    for group in groups {
      try session.output.write("group: \(group.name), may \(group.rights.rawValue), \(group.lifetime.rawValue)\n")
    }
  }
}

extension Application {
  fileprivate var lines: [(title: String, text: String)] {
    [
      ("app", id), ("state", standing.rawValue), ("issue", String(issue)), ("created", created.text),
      ("issued", issued?.text ?? "never"),
    ]
  }
}
