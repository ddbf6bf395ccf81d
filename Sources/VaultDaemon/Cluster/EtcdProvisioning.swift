#if Daemon
  import Foundation
  import Sealing
  import VaultFoundation

  /// Users, roles and permissions in etcd. Each call can be repeated.
  ///
  /// A role belongs to one group and one kind of access: `vault-<id>-read` and `vault-<id>-write`, with the group's id in
  /// hexadecimal. Its only permission is for the keys of the group.
  struct EtcdProvisioning: Sendable {
    enum Kind: String, Sendable {
      case read, write
    }

    /// Logs in as a user with the role `root`.
    let client: EtcdClient

    /// Makes sure that the roles of the group are there.
    ///
    /// - Parameter id: the group's.
    func addRoles(for id: [UInt8]) async throws(LogError) {
      let keys = EtcdKeys(group: id)
      for kind in [Kind.read, .write] {
        try await call("auth/role/add", Name(name: role(kind, keys)), settledBy: .exists)
        try await call(
          "auth/role/grant",
          Grant(
            name: role(kind, keys),
            perm: Permission(
              permType: kind == .read ? "READ" : "READWRITE", key: Data(keys.prefix.utf8), rangeEnd: keys.end)))
      }
    }

    /// Makes sure that the user is there and has this password.
    func addUser(_ name: String, password: borrowing Secret) async throws(LogError) {
      let login = Login(name: name, password: password.exportInsecurelyAsString() ?? "")
      guard try await call("auth/user/add", login, settledBy: .exists) == .exists else { return }
      try await call("auth/user/changepw", login)
    }

    /// The user has this access to the group from now on, and no other.
    func grant(_ kind: Kind, on id: [UInt8], to user: String) async throws(LogError) {
      let keys = EtcdKeys(group: id)
      try await call("auth/user/grant", Membership(user: user, role: role(kind, keys)))
      try await take(kind == .read ? .write : .read, keys, from: user)
    }

    /// The user has no access to the group from now on.
    func revoke(on id: [UInt8], from user: String) async throws(LogError) {
      let keys = EtcdKeys(group: id)
      for kind in [Kind.read, .write] { try await take(kind, keys, from: user) }
    }

    /// Makes all users, roles and permissions of a plan.
    ///
    /// - Returns: whether the cluster checks logins, without which they have no effect.
    @discardableResult
    static func carryOut(_ plan: ProvisioningPlan) async throws(VaultError) -> Bool {
      do throws(LogError) {
        let client: EtcdClient
        do throws(EtcdError) { client = try EtcdClient(plan.remote) } catch { throw LogError.untrusted }
        let provisioning = EtcdProvisioning(client: client)
        let isLoggedIn: Bool
        do throws(EtcdError) { isLoggedIn = try await client.isLoggedIn } catch {
          throw EtcdLog.meaning(of: error, changes: false)
        }
        for user in plan.users { try await provisioning.provision(user) }
        return isLoggedIn
      } catch {
        guard error != .refused else {
          throw .service(.denied, "the cluster refuses the login, or does not permit it to change users")
        }
        let meaning = Replica.meaning(of: error, "", isChange: true)
        guard case .unordered(_, .unreachable(let why)) = meaning else { throw meaning }
        throw .unreachableCluster(why)
      }
    }

    private func provision(_ user: ProvisioningPlan.User) async throws(LogError) {
      if let password = user.givenPassword() { try await addUser(user.name, password: password) }
      for grant in user.grants {
        let id = grant.id.bytes
        guard grant.access != .none else {
          try await revoke(on: id, from: user.name)
          continue
        }
        try await addRoles(for: id)
        try await self.grant(grant.access == .read ? .read : .write, on: id, to: user.name)
      }
    }

    private struct Name: Encodable, Sendable { let name: String }
    private struct Login: Encodable, Sendable {
      let name: String
      let password: String
    }
    private struct Permission: Encodable, Sendable {
      let permType: String
      let key: Data
      let rangeEnd: Data
    }
    private struct Grant: Encodable, Sendable {
      let name: String
      let perm: Permission
    }
    private struct Membership: Encodable, Sendable {
      let user: String
      let role: String
    }
    private struct Removal: Encodable, Sendable {
      let name: String
      let role: String
    }

    private func take(_ kind: Kind, _ keys: EtcdKeys, from user: String) async throws(LogError) {
      try await call("auth/user/revoke", Removal(name: user, role: role(kind, keys)), settledBy: .notFound)
    }

    private func role(_ kind: Kind, _ keys: EtcdKeys) -> String { "vault-\(keys.group)-\(kind.rawValue)" }

    /// - Parameter settling: what a repeated call answers.
    /// - Returns: that error, if it came.
    @discardableResult
    private func call(
      _ path: String, _ request: some Encodable & Sendable, settledBy settling: EtcdError? = nil
    ) async throws(LogError) -> EtcdError? {
      do throws(EtcdError) {
        let _: EtcdDone = try await client.call(path, request)
        return nil
      } catch {
        if error == settling { return error }
        throw EtcdLog.meaning(of: error, changes: true)
      }
    }
  }
#endif
