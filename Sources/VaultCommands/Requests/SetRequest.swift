internal import Vault

/// What `vault set` is asked to do, as it was typed.
struct SetRequest: Equatable {
  var name: String
  var group: String?
  var label: String?
  var attributes: [String] = []
  var expires: String?
  var descriptor: Int32?
  var file: String?
  var keepsValue = false
  var exact = false
  var ifVersion: UInt64?
  var json = false
  var key = KeySource()

  func run(in session: Session) throws {
    let name = try Item.Name(name).description
    let (details, source) = (try details(), try source())
    // The store first: whoever types a value should not type it in vain.
    let group = try session.openGroup(group, key)
    let version =
      if let source {
        try set(name, source.read(exact: exact, streams: session.streams), details, group)
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

  private func set(
    _ name: String, _ value: WipedBytes, _ details: Details, _ group: AccessGroup
  ) throws(VaultError) -> UInt64 {
    let secret = try value.secret()
    return try group.set(name, to: secret, kind: value.isText ? .string : .bytes, details, ifVersion: ifVersion)
  }

  private func details() throws(Failure) -> Details {
    var details = Details()
    if let label { details.label = label.isEmpty ? .remove : .to(label) }
    for (key, value) in try AttributeArguments.parse(attributes) {
      details.attributes[key] = .some(value.isEmpty ? nil : value)
    }
    if let expires { details.expires = try Expiry.change(expires, now: Timestamp.now) }
    return details
  }

  /// - Returns: nil to keep the value.
  private func source() throws(Failure) -> ValueInput? {
    switch (descriptor, file, keepsValue) {
    case (nil, nil, false): .standardInput
    case (let number?, nil, false): .descriptor(number)
    case (nil, let path?, false): .file(path)
    case (nil, nil, true): nil
    default: throw .usage("--fd, --file and --keep-value exclude each other")
    }
  }
}
