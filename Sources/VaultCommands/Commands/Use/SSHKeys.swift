internal import Authenticators
internal import Glibc
internal import Vault

/// `vault ssh add FILE`
struct AddSSHKey: Command {
  static let about = About(
    "Store an SSH key from a file, for vaultd's agent.",
    usage: "vault ssh add FILE [--name NAME] [--expires WHEN] [--confirm] [-g GROUP]",
    more: """
      The key must be ed25519, ECDSA, or RSA of at least 2048 bits, and have no passphrase: the store protects it \
      instead. Without --name, the item is named after the file. The file is not changed; delete it when ssh works \
      through the agent.
      """,
    example: """
      vault ssh add ~/.ssh/id_ed25519 --name ssh/github
      """)

  let file: String
  let name: String?
  let place: KeyPlace

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    file = try arguments.argument("file", "The private key's file.", completes: .files)
    name = arguments.option("--name", value: "name", "The item's name.", completes: .items)
    place = try KeyPlace(&arguments)
  }

  func run(in session: Session) throws {
    let group = try place.open(session)
    let bytes = try ValueInput.limited(
      DescriptorInput.contents(of: file, "the key's file", limit: ValueInput.limit))
    let name = name ?? String(file.split(separator: "/").last ?? "")
    let added = try unsafe bytes.withUnsafeBytes { bytes in
      var copy = unsafe Array(bytes)
      defer { unsafe explicit_bzero(&copy, copy.count) }
      guard !Self.isPublic(copy) else {
        throw Failure(.usage, "this is the public key", hint: "add the private one, usually the file without .pub")
      }
      return try SSHKey(parsing: copy)
    }
    try place.store(added, name, in: group)
    try session.output.tell(of: "the key was stored") { () throws(Failure) in
      try session.output.write("\(added.publicText) \(name)\n")
    }
  }

  /// Whether it is a line as in `authorized_keys`, or a public key in the form of RFC 4716 or PEM.
  private static func isPublic(_ file: [UInt8]) -> Bool {
    [
      "ssh-", "ecdsa-sha2-", "sk-ssh-", "sk-ecdsa-", "---- BEGIN SSH2 PUBLIC KEY", "-----BEGIN PUBLIC KEY",
      "-----BEGIN RSA PUBLIC KEY",
    ].contains { file.starts(with: $0.utf8) }
  }
}

/// `vault ssh generate NAME`
struct GenerateSSHKey: Command {
  static let about = About(
    "Make an SSH key for vaultd's agent, and show its public part.",
    usage: "vault ssh generate NAME [--expires WHEN] [--confirm] [-g GROUP]",
    more: """
      The line on stdout belongs in ~/.ssh/authorized_keys on the machine to log in to, or in the settings of a git \
      server. The private part stays in the store.
      """,
    example: """
      vault ssh generate ssh/github
      """)

  let name: String
  let place: KeyPlace

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The new item's name.")
    place = try KeyPlace(&arguments)
  }

  func run(in session: Session) throws {
    let made = try SSHKey.random(comment: name)
    try place.store(made, name, in: place.open(session))
    try session.output.tell(of: "the key was stored") { () throws(Failure) in
      try session.output.write("\(made.publicText) \(name)\n")
    }
  }
}

/// `vault ssh list`
struct ListSSHKeys: Command {
  static let about = About(
    "List the public parts of SSH keys, as for authorized_keys.",
    usage: "vault ssh list [-g GROUP] [--json]",
    example: """
      vault ssh list
      """)

  let group: String?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = arguments.group()
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let keys = try session.openGroup(group, key).items().compactMap { item in
      item.attributes[SSHKey.attribute].map { (item: item, text: $0) }
    }
    guard json else {
      for key in keys { try session.output.write(UTF8Text.onOneLine("\(key.text) \(key.item.name)") + "\n") }
      return
    }
    var json = JSONWriter(session.output)
    try json.array { (json) throws(Failure) in
      for key in keys {
        try json.object { (json) throws(Failure) in
          try json.string("item", key.item.name.description)
          try json.string("key", key.text)
          try json.flag("confirm", key.item.attributes[SSHKey.confirmAttribute] != nil)
          try json.string("expires", orNull: key.item.expires?.exactText)
        }
      }
    }
  }
}

/// Where a new key is stored, and how the agent may use it.
struct KeyPlace {
  private let expires: String?
  private let confirm: Bool
  private let group: String?
  private let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    expires = arguments.option("--expires", value: "when", "When the agent stops using it: \(Expiry.forms).")
    confirm = arguments.flag("--confirm", "The agent asks a person before each signature.")
    group = arguments.group()
    key = try KeySource(&arguments)
  }

  func open(_ session: Session) throws -> AccessGroup { try session.openGroup(group, key) }

  /// Stores the key as a new item.
  ///
  /// - Throws: `exists` if there is such an item: replacing a key by mistake could lock its user out.
  func store(_ made: borrowing SSHKey, _ name: String, in group: AccessGroup) throws {
    var file = made.serialized()
    defer { unsafe explicit_bzero(&file, file.count) }
    let secret = try unsafe file.span.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes)
    }
    var details = Details(attributes: [SSHKey.attribute: made.publicText])
    if confirm { details.attributes[SSHKey.confirmAttribute] = "yes" }
    if let expires { details.expires = try Expiry.change(expires, now: .now) }
    do { try group.set(name, to: secret, kind: .string, details, ifVersion: 0) } catch VaultError.conflict {
      throw Failure(
        .exists, "an item of this name exists", hint: "choose another name; or remove it first: vault remove NAME")
    }
  }
}
