#if Daemon
  import VaultFoundation

  /// What an application may do in a group: what the owner signed in the group's roster.
  ///
  /// The daemon opens groups as a member of its own, so the store does not stop it; this does.
  struct Access: Sendable {
    let store: SecretStore

    /// The group's items, for an application with at least these rights.
    ///
    /// - Throws: ``Refusal/denied`` if the application is no such member, or if there is no such group: who is not a
    ///   member does not learn which groups exist.
    func group(_ name: String, for application: String, _ needed: MemberRights) throws(Refusal) -> AccessGroup {
      guard let group = try? store.group(name), !group.name.description.hasPrefix("vault.") else { throw .denied }
      let info: GroupInfo
      do { info = try group.info() } catch {
        switch error {
        case .notFound, .denied, .invalid: throw .denied
        default: throw Refusal(error)
        }
      }
      guard let rights = info.rights(of: application), rights >= needed else { throw .denied }
      return group
    }

    /// The groups that an application is a member of and the daemon opens, with the application's rights, sorted by name.
    ///
    /// A group that fails verification is left out.
    func groups(of application: String) throws(VaultError) -> [(name: String, rights: MemberRights)] {
      var groups: [(String, MemberRights)] = []
      for name in try store.groupNames() where !name.hasPrefix("vault.") {
        guard let info = try? store.group(name).info(), let rights = info.rights(of: application) else { continue }
        groups.append((name, rights))
      }
      return groups
    }
  }

  extension GroupInfo {
    fileprivate func rights(of application: String) -> MemberRights? {
      members.first { member in
        guard case .application(application, _) = member.who else { return false }
        return true
      }?.rights
    }
  }
#endif
