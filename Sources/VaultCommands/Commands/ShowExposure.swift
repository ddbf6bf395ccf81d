import ArgumentParser
internal import Vault

/// `vault exposure`
struct ShowExposure: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "exposure",
    abstract: "List the values that a removed member could read and that are still unchanged.",
    usage: "vault exposure [--json]",
    discussion: """
      A value leaves the list when it is set anew.

      Example:
        vault exposure
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    var problem: VaultError?
    let exposed = try session.openStore(key.source).exposure(
      leftOut: { if case .otherDevice = $1 {} else { problem = problem ?? $1 } }, progress: { session.showProgress($0) }
    )
    session.endProgress()
    try show(exposed, in: session)
    // The list is not whole, which a script must not overlook.
    if let problem { throw problem }
  }

  private func show(_ exposed: [Exposure], in session: Session) throws {
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for value in exposed { try value.write(to: &json) }
      }
    }
    var table = Table("GROUP", "NAME", "VERSION", "CHANGED", "READ BY")
    for value in exposed {
      table.add(
        value.group, value.item.description, String(value.version), session.shown(value.changed),
        value.readers.map(\.text).joined(separator: ", "))
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension Exposure {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", group)
      try json.string("name", item.description)
      try json.number("version", version)
      try json.string("changed", changed.text)
      try json.array("readers") { (json) throws(Failure) in
        for reader in readers { try json.string(nil, reader.text) }
      }
    }
  }
}
