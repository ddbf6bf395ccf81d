internal import Vault

/// `vault paths`
struct Paths: Command {
  static let about = About(
    "Show where everything is and what belongs in a backup, without opening anything.",
    usage: "vault paths [--json]",
    more: "MODE is the mode that a file or folder should have, even if it has another one or does not exist yet.",
    example: """
      vault paths
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let places = try StoreLocation(environment: session.environment).all(credential: key.credential)
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for place in places { try place.write(to: &json) }
      }
    }
    // On a terminal, the path may take the rest of a narrow line and more.
    let columns = ["WHAT", "PATH", "MODE", "BACKUP", "UNIX GROUP"]
    let order = session.output.isTerminal ? [0, 3, 1, 2, 4] : [0, 1, 2, 3, 4]
    var table = Table(columns: order.map { columns[$0] }, keeping: "", fixed: ["WHAT", "BACKUP", "PATH"])
    for place in places {
      let path = session.output.isTerminal ? session.shown(place.path) : place.path
      let cells = [place.what, path, place.mode, place.backup, place.unixGroup?.name ?? ""]
      table.add(order.map { cells[$0] })
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension StoreLocation.Place {
  /// A key file belongs in a backup, but not in the same one as the store.
  var backup: String { isBackedUp ? "yes" : what == "key file" ? "apart" : "no" }

  func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("what", what)
      try json.string("path", path)
      try json.string("mode", mode)
      try json.flag("backup", isBackedUp)
      try json.string("inBackup", backup)
      try unixGroup.write(to: &json)
    }
  }
}

/// `vault identity show`
struct ShowIdentity: Command {
  static let about = About(
    "Show the owner's public key, what opens the store, and where everything is, without opening anything.",
    usage: "vault identity show [--json]",
    example: """
      vault identity show
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let identity = try StoreLocation(environment: session.environment).identity()
    if json {
      var json = JSONWriter(session.output)
      return try identity.write(to: &json)
    }
    for (title, text) in identity.lines { try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n") }
  }
}

extension IdentityInfo {
  fileprivate var lines: [(title: String, text: String)] {
    var lines = [("owner", ownerKey), ("name", shortName)]
    for slot in slots {
      lines.append(("slot \(slot.number)", slot.kind.name + (slot.cost.map { ", \($0.text)" } ?? "")))
    }
    return lines + places.map { ($0.what, $0.path) }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("owner", ownerKey)
      try json.string("name", shortName)
      try json.array("slots") { (json) throws(Failure) in
        for slot in slots { try slot.write(to: &json) }
      }
      try json.array("places") { (json) throws(Failure) in
        for place in places { try place.write(to: &json) }
      }
    }
  }
}
