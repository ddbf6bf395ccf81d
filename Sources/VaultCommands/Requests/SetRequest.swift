internal import Vault

/// What `vault set` is asked to do.
struct SetRequest {
  var name: String
  var group: String?
  var details = Details()
  /// Where the value comes from; nil keeps the present one.
  var source: ValueInput? = .standardInput
  var exact = false
  var ifVersion: UInt64?
  var json = false
  var key = KeySource()

  func run(in session: Session) throws {
    let name = try Item.Name(name).description
    // The store first: whoever types a value should not type it in vain.
    let group = try session.openGroup(group, key)
    let version =
      if let source {
        try set(name, source.read(exact: exact, streams: session.streams), group)
      } else {
        try group.change(name, details, ifVersion: ifVersion)
      }
    guard json else { return }
    var json = JSONWriter(session.output)
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.string("group", group.name.description)
      try json.number("version", version)
    }
  }

  private func set(_ name: String, _ value: WipedBytes, _ group: AccessGroup) throws(VaultError) -> UInt64 {
    let secret = try value.secret()
    return try group.set(name, to: secret, kind: value.isText ? .string : .bytes, details, ifVersion: ifVersion)
  }
}
