#if Daemon
  import VaultFoundation

  /// What an application may do in a group, according to the roster that the owner signed.
  ///
  /// The daemon opens groups with its own membership, so the store does not enforce the application's rights. This type
  /// does.
  struct Access: Sendable {
    let store: SecretStore

    /// The group, for an application with at least these rights. It changes nothing for an application that has lost
    /// them meanwhile, or for a caller that is no longer the application.
    ///
    /// - Parameter isStill: whether the caller still is the application; asked within each change.
    /// - Throws: ``Refusal/denied`` if the application has no such rights or the group does not exist: only members
    ///   learn which groups exist.
    func group(
      _ name: String, for application: String, _ needed: MemberRights,
      if isStill: @escaping @Sendable () throws(VaultError) -> Bool = { true }
    ) throws(Refusal) -> AccessGroup {
      guard let group = try? store.group(name), !group.name.description.hasPrefix("vault.") else { throw .denied }
      let info: GroupInfo
      do { info = try group.info() } catch {
        switch error {
        case .notFound, .denied, .invalid: throw .denied
        default: throw Refusal(error)
        }
      }
      guard let rights = info.rights(of: application), rights >= needed else { throw .denied }
      return group.acting(for: application, with: needed, if: isStill)
    }

    /// The groups that the daemon can open and that the application is a member of, with the application's rights and
    /// the group's current state, sorted by name.
    ///
    /// Groups that fail verification are left out.
    func groups(of application: String) throws(VaultError) -> [(name: String, rights: MemberRights, info: GroupInfo)] {
      var groups: [(String, MemberRights, GroupInfo)] = []
      for name in try store.groupNames() where !name.hasPrefix("vault.") {
        guard let info = try? store.group(name).info(), let rights = info.rights(of: application) else { continue }
        groups.append((name, rights, info))
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
