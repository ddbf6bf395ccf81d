import ArgumentParser
internal import Vault

/// `vault paths`
struct Paths: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "paths",
    abstract: "Show where everything is, and what belongs into a backup. Opens nothing.",
    usage: "vault paths [--json]",
    discussion: """
      Example:
        vault paths
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let places = try StoreLocation(environment: session.environment).all(credential: key.credential)
    if json.json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for place in places { try place.write(to: &json) }
      }
    }
    var table = Table("WHAT", "PATH", "MODE", "BACKUP", "UNIX GROUP")
    for place in places { table.add(place.what, place.path, place.mode, place.backup, place.unixGroup?.name ?? "") }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension StoreLocation.Place {
  /// A key file belongs into a backup, but not into that of the store.
  var backup: String { isBackedUp ? "yes" : what == "key file" ? "apart" : "no" }

  func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("what", what)
      try json.string("path", path)
      try json.string("mode", mode)
      try json.flag("backup", isBackedUp)
      try unixGroup.write(to: &json)
    }
  }
}
