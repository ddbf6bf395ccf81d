internal import Sealing

/// The items `login/REMOTE/APP` of `vault.service`: `user ‖ 0x0A ‖ password`, with no password for the remote's login.
extension SecretStore {
  private static let loginPrefix = "login/"
  private static func ownUser(_ application: String) -> String { "vault-" + application }

  /// The logins for the remote `name` that were put into credentials, sorted by application. The password is `nil` if
  /// the credential has the remote's own login, which others share.
  private func logins(
    at name: String
  ) throws(VaultError) -> [(application: String, user: String, password: OpenedSecret?)] {
    guard try expects(.service) else { return [] }
    let prefix = SecretStore.loginPrefix + name + "/"
    return try ownersItems(prefix: prefix) { (item, value) throws(VaultError) in
      try unsafe value.withUnsafeBytes { (bytes) throws(VaultError) in
        guard let end = unsafe bytes.firstIndex(of: 0x0A),
          let user = String(validating: unsafe Array(bytes[..<end]), as: UTF8.self), ServiceBinding.isText(user, 256)
        else { throw .damagedServiceRow("a login does not follow the format") }
        let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[(end + 1)...])
        let password = unsafe rest.isEmpty ? nil : try OpenedSecret(copying: rest)
        return (String(item.dropFirst(prefix.count)), user, password)
      }
    }
  }

  /// The etcd user that the last credential of `application` for the remote `name` has of its own; `nil` if it has none.
  package func ownLogin(of application: String, at name: String) throws(VaultError) -> String? {
    try logins(at: name).first { $0.application == application && $0.password != nil }?.user
  }

  /// The remote to put into the credential of `application`: with the remote's login, or if `isOwn` with one of the
  /// application's own, which takes effect in etcd after ``provision(_:for:as:password:)``; with `nil`, as in its last
  /// credential. If `isNew`, that user gets a new password. `note` writes down what is new about the login.
  func remote(
    _ name: String, for application: String, own isOwn: Bool?, renewing isNew: Bool
  ) throws(VaultError) -> (remote: Remote, note: () throws(VaultError) -> Void) {
    let remote = try remote(name)
    guard let user = remote.user else {
      guard isOwn != true else { throw .invalid("a remote without an etcd user has no logins") }
      return (remote, {})
    }
    let known = try logins(at: name).first { $0.application == application }
    let item = SecretStore.loginPrefix + name + "/" + application
    guard isOwn ?? (known?.password != nil) else {
      // Until the owner provisions the remote, the application's own login remains in etcd.
      guard known?.password != nil || known?.user != user else { return (remote, {}) }
      return (remote, { () throws(VaultError) in try self.group(.service).set(item, to: user + "\n") })
    }
    if !isNew, let known, let password = known.password { return (try remote.loggingIn(as: known.user, password), {}) }
    let own = SecretStore.ownUser(application)
    let password = Randomness.bytes(Digest.byteCount).hexadecimal
    let note = { () throws(VaultError) in _ = try self.group(.service).set(item, to: Secret(own + "\n" + password)) }
    return (try remote.loggingIn(as: own, Secret(password).opened), note)
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
    for login in try logins(at: name) {
      guard login.password != nil else {
        // A user of its own from an earlier credential.
        let grants = published.map { ProvisioningPlan.Grant(id: $0.id, access: .none) }
        plan.users.append(.init(name: SecretStore.ownUser(login.application), password: nil, grants: grants))
        continue
      }
      var user = ProvisioningPlan.User(name: login.user, password: login.password)
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
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner.
  public func withdrawLogin(of application: String, from group: String) throws(VaultError) -> WithdrawnLogin {
    guard let publication = try publications().first(where: { $0.group == group }),
      let login = try logins(at: publication.remote).first(where: { $0.application == application })
    else { return .notNeeded }
    var plan = ProvisioningPlan(remote: try remote(publication.remote))
    let user = SecretStore.ownUser(application)
    plan.users.append(.init(name: user, password: nil, grants: [.init(id: publication.id, access: .none)]))
    let withdrawn = Result { () throws(VaultError) in try carryOut(plan) }
    guard login.password != nil else { return .shared(remote: publication.remote, user: login.user) }
    return (try? withdrawn.get()) == nil ? .refused(remote: publication.remote) : .withdrawn
  }

  private func access(of application: String, to group: String) throws(VaultError) -> EtcdPermission.Access {
    try self.group(group).reading { (view) throws(VaultError) in
      let member = view.state.roster.members.first { $0.kind == .application && $0.application == application }
      guard let member else { return .none }
      return member.rights >= .write ? .write : .read
    }
  }

  private func carryOut(_ plan: ProvisioningPlan) throws(VaultError) {
    let answer = try location.askService(
      ClusterRequest.provision.path(of: plan.remote.name), [], plan.serialized(), patience: 120)
    if let failure = answer.failure { throw failure }
    if answer.number == 0 { notices.post(.clusterOpen(remote: plan.remote.name)) }
  }
}
