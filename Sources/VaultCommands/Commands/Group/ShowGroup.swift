import ArgumentParser
internal import Vault

/// `vault group show NAME`
struct ShowGroup: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show a group: its state, what was decided about it, and its members with their rights.",
    usage: "vault group show NAME [--json]",
    discussion: """
      Example:
        vault group show team.shared
      """)

  @Argument(help: ArgumentHelp("The group's name.", valueName: "name")) var name: String
  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let info = try session.openStore(key.source).group(name).info()
    if json.json {
      var json = JSONWriter(session.output)
      return try info.write(to: &json)
    }
    for (title, text) in info.lines { try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n") }
  }
}

extension GroupInfo {
  fileprivate var lines: [(title: String, text: String)] {
    [
      ("name", name), ("id", id), ("epoch", String(epoch)), ("generation", String(generation)),
      ("roster", String(rosterRevision)), ("items", "\(itemCount), removed ones included"),
      ("older versions", String(versionCount)), ("keeps", "\(keep) versions of an item"), ("changed", changed.text),
      ("lifetime", lifetime.rawValue), ("opens on", isThisDeviceOnly ? "this device only" : "any device"),
      ("unix group", unixGroup?.text ?? "none"),
    ] + members.map { ("member", "\($0.who.text), may \($0.rights.rawValue)") }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.string("id", id)
      try json.number("epoch", epoch)
      try json.number("generation", generation)
      try json.number("roster", rosterRevision)
      try json.number("items", itemCount)
      try json.number("versions", versionCount)
      try json.number("keep", keep)
      try json.string("changed", changed.text)
      try json.string("lifetime", lifetime.rawValue)
      try json.flag("thisDeviceOnly", isThisDeviceOnly)
      try unixGroup.write(to: &json)
      try json.array("members") { (json) throws(Failure) in
        for member in members {
          try json.object { (json) throws(Failure) in
            try json.string("member", member.who.text)
            try json.string("rights", member.rights.rawValue)
          }
        }
      }
    }
  }
}

extension UnixGroup {
  /// Its name and what it may do with the files.
  var text: String { "\(name), may \(rights) the files" }

  fileprivate var rights: String { isReadOnly ? "read" : "write" }
}

extension UnixGroup? {
  /// An object, or null for none.
  func write(to json: inout JSONWriter) throws(Failure) {
    guard let unixGroup = self else { return try json.null("unixGroup") }
    try json.object("unixGroup") { (json) throws(Failure) in
      try json.string("name", unixGroup.name)
      try json.number("number", unixGroup.number)
      try json.string("rights", unixGroup.rights)
    }
  }
}
