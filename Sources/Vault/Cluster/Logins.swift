public import GroupFile
package import Sealing

/// What an etcd user may do with the log of one published group.
public struct EtcdPermission: Sendable, Equatable {
  /// The etcd user.
  public let user: String
  /// The group's name.
  public let group: String
  public let access: Access

  /// Except for ``none``, each is an etcd role with a permission for the keys of one group.
  public enum Access: UInt8, Sendable {
    case none = 0
    case read
    /// Includes reading.
    case write
  }
}

/// The etcd user that an application's credential logs in as.
struct EtcdLogin: Sendable {
  let application: String
  let user: String
  /// `nil` if the credential has the remote's own login, which others share.
  let password: OpenedSecret?
}

/// What happened to an etcd permission after an application left a group.
public enum WithdrawnLogin: Sendable, Equatable {
  /// The application has no login for the group's remote.
  case notNeeded
  /// The application's etcd user no longer has access to the group's log.
  case withdrawn
  /// The login of the remote may not change users in etcd, or no `vaultd` answered.
  case refused(remote: String)
  /// The credential has the remote's own login, which cannot be withdrawn from one application.
  case shared(remote: String, user: String)
}

/// The items `login/REMOTE/APP` of `vault.service`: `user ‖ 0x0A ‖ password`, with no password for the remote's own login.
extension SecretStore {
  private static let loginPrefix = "login/"

  /// The logins for the remote `name` that were put into credentials, sorted by application.
  private func logins(at name: String) throws(VaultError) -> [EtcdLogin] {
    guard hasGroup(.service) else { return [] }
    let prefix = SecretStore.loginPrefix + name + "/"
    return try ownersItems(prefix: prefix) { (item, value) throws(VaultError) in
      try unsafe value.withUnsafeBytes { (bytes) throws(VaultError) in
        let end = unsafe bytes.firstIndex(of: 0x0A) ?? bytes.count
        guard end < bytes.count, let user = String(validating: unsafe Array(bytes[..<end]), as: UTF8.self) else {
          throw .damaged(
            group: AccessGroup.Name.service.description, level: .row, detail: "a login does not follow the format")
        }
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
        return EtcdLogin(
          application: String(item.dropFirst(prefix.count)), user: user,
          password: unsafe rest.isEmpty ? nil : try Secret(copying: rest).opened)
      }
    }
  }

  /// The remote to put into the credential of `application`: with the remote's login, or with one of the application's
  /// own, which takes effect in etcd after ``provision(_:for:as:password:)``.
  ///
  /// - Parameters:
  ///   - isOwn: whether the application gets its own user.
  ///   - isNew: whether that user gets a new password.
  func remote(
    _ name: String, for application: String, own isOwn: Bool, renewing isNew: Bool
  ) throws(VaultError) -> Remote {
    let remote = try remote(name)
    guard let user = remote.user else {
      guard !isOwn else { throw .invalid("a remote without an etcd user has no logins") }
      return remote
    }
    let known = try logins(at: name).first { $0.application == application }
    let item = SecretStore.loginPrefix + name + "/" + application
    guard isOwn else {
      // Until the owner provisions the remote, the application's own login remains in etcd.
      if known?.password != nil || known?.user != user { try group(.service).set(item, to: user + "\n") }
      return remote
    }
    if !isNew, let known, let password = known.password { return try remote.loggingIn(as: known.user, password) }
    let own = "vault-" + application
    let password = Randomness.bytes(Digest.byteCount).hexadecimal
    try group(.service).set(item, to: Secret(own + "\n" + password))
    return try remote.loggingIn(as: own, Secret(password).opened)
  }

  /// Makes etcd users, roles and permissions for the groups that are published at the remote `name`: the remote's user
  /// may write all of them, and each application with its own login gets the rights that it has in the group.
  ///
  /// `vaultd` does this, and keeps neither the user nor the password. The call can be repeated.
  ///
  /// - Parameters:
  ///   - name: the remote's name.
  ///   - others: groups that are to be published there next, which a cluster with users does not permit otherwise.
  ///   - user: an etcd user with the role `root`.
  ///   - password: that user's password.
  /// - Returns: what each user may do now.
  /// - Throws: ``VaultError/invalid(_:)`` if the remote has no user; ``VaultError/notFound(_:)`` for an unknown remote
  ///   or group; ``VaultError/exists(_:)`` for a group that is published at another remote; ``VaultError/denied(_:)``
  ///   for anyone but the owner; ``VaultError/service(_:_:)`` for errors of `vaultd` and of the cluster.
  @discardableResult
  public func provision(
    _ name: String, for others: [String] = [], as user: String, password: consuming Secret
  ) throws(VaultError) -> [EtcdPermission] {
    let (plan, permissions) = try provisioningPlan(name, for: others, as: user, password: password)
    try carryOut(plan)
    return permissions
  }

  func provisioningPlan(
    _ name: String, for others: [String] = [], as user: String, password: consuming Secret
  ) throws(VaultError) -> (ProvisioningPlan, [EtcdPermission]) {
    _ = try owner()
    let remote = try remote(name)
    guard let ownUser = remote.user else {
      throw .invalid("the remote has no etcd user; give it one: vault remote add --replace")
    }
    let all = try publications()
    var published = all.filter { $0.remote == name }
    for group in others where !published.contains(where: { $0.group == group }) {
      guard all.allSatisfy({ $0.group != group }) else { throw .exists(.publication) }
      let id = try self.group(group).verifiedState().manifest.groupID
      published.append(Publication(group: group, remote: name, id: id))
    }
    var plan = ProvisioningPlan(remote: try remote.loggingIn(as: user, password.opened))
    plan.users.append(
      .init(name: ownUser, password: remote.openedPassword, grants: published.map { .init(id: $0.id, access: .write) }))
    var permissions = published.map { EtcdPermission(user: ownUser, group: $0.group, access: .write) }
    for login in try logins(at: name) where login.password != nil {
      var user = ProvisioningPlan.User(name: login.user, password: login.password, grants: [])
      for publication in published {
        let access = try access(of: login.application, to: publication.group)
        user.grants.append(.init(id: publication.id, access: access))
        permissions.append(EtcdPermission(user: login.user, group: publication.group, access: access))
      }
      plan.users.append(user)
    }
    return (plan, permissions)
  }

  /// Removes the permissions of the etcd user of `application` for the log of `group`, after the application has left
  /// the group.
  ///
  /// - Parameters:
  ///   - application: the application's id.
  ///   - group: the group's name.
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  public func withdrawLogin(of application: String, from group: String) throws(VaultError) -> WithdrawnLogin {
    guard let publication = try publications().first(where: { $0.group == group }) else { return .notNeeded }
    guard let login = try logins(at: publication.remote).first(where: { $0.application == application }) else {
      return .notNeeded
    }
    guard login.password != nil else { return .shared(remote: publication.remote, user: login.user) }
    var plan = ProvisioningPlan(remote: try remote(publication.remote))
    plan.users.append(.init(name: login.user, password: nil, grants: [.init(id: publication.id, access: .none)]))
    do throws(VaultError) { try carryOut(plan) } catch { return .refused(remote: publication.remote) }
    return .withdrawn
  }

  private func access(of application: String, to group: String) throws(VaultError) -> EtcdPermission.Access {
    try self.group(group).reading { (view) throws(VaultError) in
      let member = view.view.state.roster.members.first { $0.kind == .application && $0.application == application }
      guard let member else { return .none }
      return member.rights >= .write ? .write : .read
    }
  }

  private func carryOut(_ plan: ProvisioningPlan) throws(VaultError) {
    let answer = try location.askService(
      ClusterRequest.provision.path(of: plan.remote.name), [], plan.serialized(), patience: 120)
    if let failure = answer.failure { throw failure }
  }
}

/// The body of a ``ClusterRequest/provision``. Each part has its byte count as `u32` before it: the users; the remote,
/// with a login that may change them; the password of each user, in the same order. The part with the users is a `u16`
/// count, then for each user `u16 ‖ name ‖ u16` count of grants, and for each grant `group id 32 ‖ u8` access. A user
/// without a password is not created.
package struct ProvisioningPlan: Sendable {
  package struct User: Sendable {
    package let name: String
    let password: OpenedSecret?
    package var grants: [Grant]

    /// The password to set; `nil` for a user that exists.
    package func givenPassword() -> Secret? {
      guard let password else { return nil }
      return Secret(password)
    }
  }

  package struct Grant: Sendable {
    package let id: GroupID
    package let access: EtcdPermission.Access
  }

  package let remote: Remote
  package internal(set) var users: [User] = []

  init(remote: Remote) { self.remote = remote }

  func serialized() throws(VaultError) -> OpenedSecret {
    var writer = ByteWriter()
    writer.write(UInt16(clamping: users.count))
    for user in users {
      writer.writeCounted16(Array(user.name.utf8))
      writer.write(UInt16(clamping: user.grants.count))
      for grant in user.grants {
        writer.write(grant.id)
        writer.write(grant.access.rawValue)
      }
    }
    let parts = try CountedParts.joined([writer.bytes], [remote.serialized().opened] + users.map(\.password))
    return try unsafe parts.withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }.opened
  }

  /// - Throws: ``VaultError/invalid(_:)`` for bytes that ``serialized()`` does not produce.
  package init(decoding bytes: UnsafeRawBufferPointer) throws(VaultError) {
    let damage = VaultError.invalid("a request that does not follow the protocol")
    guard let parts = unsafe CountedParts.ranges(bytes), parts.count >= 2 else { throw damage }
    remote = try unsafe Remote(parsing: UnsafeRawBufferPointer(rebasing: bytes[parts[1]]), orThrow: damage)
    let named: [(name: String, grants: [Grant])]
    do { named = try ProvisioningPlan.users(unsafe Array(bytes[parts[0]])) } catch { throw damage }
    guard parts.count == named.count + 2 else { throw damage }
    for (user, range) in zip(named, parts[2...]) {
      var password: OpenedSecret?
      if !range.isEmpty { password = try unsafe Secret(copying: UnsafeRawBufferPointer(rebasing: bytes[range])).opened }
      users.append(User(name: user.name, password: password, grants: user.grants))
    }
  }

  private static func users(_ bytes: [UInt8]) throws -> [(name: String, grants: [Grant])] {
    var reader = ByteReader(bytes)
    var found: [(String, [Grant])] = []
    for _ in 0..<(try reader.read(UInt16.self)) {
      let start = reader.offset
      guard let name = String(validating: try reader.readCounted16(), as: UTF8.self) else {
        throw ByteReader.Failure.unexpected(offset: start)
      }
      var grants: [Grant] = []
      for _ in 0..<(try reader.read(UInt16.self)) {
        let id = try reader.readBytes32()
        guard let access = EtcdPermission.Access(rawValue: try reader.read(UInt8.self)) else {
          throw ByteReader.Failure.unexpected(offset: reader.offset)
        }
        grants.append(Grant(id: id, access: access))
      }
      found.append((name, grants))
    }
    try reader.finish()
    return found
  }
}

/// Parts that each have their byte count as `u32` before them.
enum CountedParts {
  /// - Throws: ``VaultError/storage(_:)`` if memory is short.
  static func joined(_ open: [[UInt8]], _ secrets: [OpenedSecret?]) throws(VaultError) -> GuardedBytes {
    let count = open.reduce(0) { $0 + 4 + $1.count } + secrets.reduce(0) { $0 + 4 + ($1?.count ?? 0) }
    let bytes = try sealing(GuardedBytes(count: count))
    unsafe bytes.withUnsafeMutableBytes { bytes in
      var offset = 0
      func append(_ part: UnsafeRawBufferPointer) {
        unsafe bytes.storeBytes(of: UInt32(part.count).bigEndian, toByteOffset: offset, as: UInt32.self)
        unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(offset + 4)...]).copyMemory(from: part)
        offset += 4 + part.count
      }
      for part in open { unsafe part.withUnsafeBytes { unsafe append($0) } }
      for secret in secrets {
        if let secret {
          unsafe secret.withUnsafeBytes { unsafe append($0) }
        } else {
          unsafe append(.init(start: nil, count: 0))
        }
      }
    }
    return bytes
  }

  /// The ranges of the parts; `nil` if the bytes are not exactly such parts.
  static func ranges(_ bytes: UnsafeRawBufferPointer) -> [Range<Int>]? {
    var parts: [Range<Int>] = []
    var offset = 0
    while offset < bytes.count {
      guard bytes.count - offset >= 4 else { return nil }
      let count = Int(UInt32(bigEndian: unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      offset += 4
      guard count <= bytes.count - offset else { return nil }
      parts.append(offset..<offset + count)
      offset += count
    }
    return parts
  }
}
