import ArgumentParser
internal import Vault

/// `vault identity show`
struct ShowIdentity: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show the owner's public key, what opens the store, and where everything is. Opens nothing.",
    usage: "vault identity show [--json]",
    discussion: """
      Example:
        vault identity show
      """)

  @OptionGroup var json: JSONOption
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let identity = try StoreLocation(environment: session.environment).identity()
    if json.json {
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
      lines.append(("slot \(slot.number)", slot.kind.rawValue + (slot.cost.map { ", \($0.text)" } ?? "")))
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
