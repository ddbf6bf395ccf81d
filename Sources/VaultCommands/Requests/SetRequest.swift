internal import VaultStore

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
  /// The name of a kind that the value must be.
  var type: String?
  /// A keyed archive, and the classes that may be in it.
  var archive: String?
  var allowed: [String] = []
  var exact = false
  var ifVersion: UInt64?
  var json = false
  var key = KeySource()

  func run(in session: Session) throws {
    let name = try Item.Name(name).description
    let (details, source, kind) = (try details(), try source(), try kind())
    // An archive that is refused asks for no passphrase.
    let archive = try archive.map { path throws(Failure) in try CheckedArchive(path, allowed, session.streams) }
    // The store first: whoever types a value should not type it in vain.
    let group = try session.openGroup(group, key)
    let version =
      if let archive {
        try group.set(
          name, to: archive.bytes.secret(), kind: .archive, typeName: archive.typeName, details, ifVersion: ifVersion)
      } else if let source {
        try set(name, source.read(exact: exact, streams: session.streams), kind, details, group, session)
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
    _ name: String, _ value: WipedBytes, _ kind: SecretKind?, _ details: Details, _ group: AccessGroup,
    _ session: Session
  ) throws(VaultError) -> UInt64 {
    if value.count == 0 { session.warn("the value is empty; to change only the label or the like: --keep-value") }
    let kind = kind ?? (value.isText ? .string : .bytes)
    let secret = try Self.typed(value, kind)
    return try group.set(name, to: secret, kind: kind, details, ifVersion: ifVersion)
  }

  /// The value in the one form that its kind has.
  static func typed(_ value: WipedBytes, _ kind: SecretKind) throws(VaultError) -> Secret {
    if kind == .bytes { return try value.secret() }
    guard value.isText else { throw .invalid("a value of type \(kind.name) is UTF-8 text") }
    if kind == .string { return try value.secret() }
    let text = unsafe value.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    return try Secret(ValueText.canonical(text, kind))
  }

  private func kind() throws(Failure) -> SecretKind? {
    guard let type else { return nil }
    guard let kind = SecretKind(named: type) else {
      throw .usage("there is no such type", hint: "bool, int, double, string, date, url, uuid, json or data")
    }
    return kind
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
    guard archive == nil || (descriptor == nil && file == nil && !keepsValue && type == nil && !exact) else {
      throw .usage("--archive excludes --fd, --file, --keep-value, --type and --exact")
    }
    guard archive != nil || allowed.isEmpty else { throw .usage("--allow goes with --archive") }
    guard type == nil || !keepsValue else { throw .usage("--type and --keep-value exclude each other") }
    switch (descriptor, file, keepsValue) {
    case (nil, nil, false): return .standardInput
    case (let number?, nil, false): return .descriptor(number)
    case (nil, let path?, false): return .file(path)
    case (nil, nil, true): return nil
    default: throw .usage("--fd, --file and --keep-value exclude each other")
    }
  }
}
