internal import Vault

/// `vault remote provision NAME [GROUP]...`
struct ProvisionRemote: Command {
  static let about = About(
    "Make the users, roles and permissions of a remote in etcd.",
    usage: "vault remote provision NAME [GROUP]... [--root-user USER] [--root-password-fd N] [--json]",
    more: """
      Afterwards the remote's own user can read and write the keys of all groups that are published there, those of \
      the named groups, which you are about to publish there, and no other keys. The user of an application whose \
      credential was issued with --own-login can read or write the keys of a group if the application can do so in the \
      group. Users who are not members of a group have no access to its keys. Run the command again after each change \
      of members; it changes only these users and roles.

      It needs the login of an etcd user with the role root. It asks for the password, or reads it from a descriptor. \
      vaultd uses the login for this one request and does not keep it. Permissions take effect once 'etcdctl auth \
      enable' has been run.
      """,
    example: """
      vault remote provision office team.shared
      """)

  let name: String
  let groups: [String]
  let user: String?
  let passwordDescriptor: Int32?
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The remote's name.", completes: .remotes)
    groups = arguments.anyArguments("group", "Groups that you are about to publish there.", completes: .groups)
    user = arguments.option("--root-user", value: "user", "The etcd user with the role root (else root).")
    passwordDescriptor = try arguments.descriptor(
      "--root-password-fd", "Read the password of that user from the first line of this descriptor.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let user = user ?? "root"
    let permissions: [EtcdPermission]
    do {
      permissions = try session.openStore(key).provision(
        name, for: groups, as: user, password: password(of: user, in: session))
    } catch VaultError.service(.denied, let why) {
      throw Failure(.denied, why, hint: "use an etcd user that has the role root: --root-user USER")
    }
    try session.output.tell(of: "the users and roles were made") { () throws(Failure) in
      try show(permissions, in: session)
    }
  }

  private func show(_ permissions: [EtcdPermission], in session: Session) throws(Failure) {
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for permission in permissions {
          try json.object { (json) throws(Failure) in
            try json.string("user", permission.user)
            try json.string("group", permission.group)
            try json.string("access", permission.access.word)
          }
        }
      }
    }
    var table = Table("USER", "GROUP", "ACCESS")
    for permission in permissions { table.add(permission.user, permission.group, permission.access.word) }
    try table.write(to: session.output, style: session.outputStyle)
  }

  private func password(of user: String, in session: Session) throws -> Secret {
    if let passwordDescriptor {
      return try KeySource.firstLine(of: passwordDescriptor, namedBy: "--root-password-fd").secret()
    }
    return try session.askPassword(of: user, or: "--root-password-fd N")
  }
}

extension EtcdPermission.Access {
  fileprivate var word: String {
    switch self {
    case .none: "none"
    case .read: "read"
    case .write: "readwrite"
    }
  }
}
