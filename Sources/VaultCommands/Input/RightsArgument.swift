internal import Vault

/// `read` or `write`, alone or after a group's name.
enum RightsArgument {
  /// - Throws: `usage`. The typed text is not repeated.
  static func parse(_ text: some StringProtocol) throws(Failure) -> MemberRights {
    guard let rights = MemberRights(rawValue: String(text)) else {
      throw .usage("rights are 'read' or 'write'")
    }
    return rights
  }

  /// `GROUP:read` or `GROUP:write`.
  static func grant(_ text: String) throws(Failure) -> Applications.Grant {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 else { throw .usage("--group needs a group, a colon, and 'read' or 'write'") }
    return Applications.Grant(try parse(parts[1]), in: String(parts[0]))
  }

  /// `GROUP`, for reading and writing, `GROUP:read` or `GROUP:write`; `=` is accepted in place of the colon.
  static func served(_ text: String) throws(Failure) -> Applications.Grant {
    let parts = text.split(maxSplits: 1, omittingEmptySubsequences: false) { $0 == ":" || $0 == "=" }
    return Applications.Grant(parts.count == 2 ? try parse(parts[1]) : .write, in: String(parts[0]))
  }
}

/// `survives` or `purged`.
enum LifetimeArgument {
  /// - Throws: `usage`.
  static func parse(_ text: String) throws(Failure) -> GroupLifetime {
    guard let lifetime = GroupLifetime(rawValue: text) else { throw .usage("a lifetime is 'survives' or 'purged'") }
    return lifetime
  }
}

extension Admission {
  /// The items that a new member can read at once.
  func sentence(_ application: String) -> String {
    let items = itemCount == 1 ? "1 item" : "\(itemCount) items"
    let versions = versionCount == 1 ? "1 older version" : "\(versionCount) older versions"
    let may = rights == .write ? "read and write" : "read"
    let back = isReturning ? "; it was removed before, and the credential that it had then opens the group again" : ""
    return "'\(application)' may \(may) '\(group)': \(items) and \(versions) that are kept\(back)"
  }
}

/// The groups that a command on all groups of an application could not change.
enum UnchangedGroups {
  /// Warns of each group.
  ///
  /// - Returns: the error to end with; `nil` if there are none.
  static func failure(_ groups: [UnchangedGroup], _ application: String, _ session: Session) -> Failure? {
    guard let first = groups.first else { return nil }
    session.circumstances.makesSteps = true
    for group in groups {
      session.warn("'\(group.name)' was not changed (status \(group.problem.status)): \(group.problem.message)")
    }
    let count = groups.count == 1 ? "1 group was" : "\(groups.count) groups were"
    return Failure(
      first.problem.exitStatus, "\(count) not changed, and may still admit '\(application)'",
      hint: hint(groups, application, session.circumstances))
  }

  static func hint(
    _ groups: [UnchangedGroup], _ application: String, _ circumstances: Circumstances = Circumstances()
  ) -> String {
    func first(_ isMeant: (VaultError) -> Bool) -> String? { groups.first { isMeant($0.problem) }?.name }
    if let gone = first({ if case .rolledBack(_, _, _, .vanished) = $0 { true } else { false } }) {
      return
        "bring its files back (vault restore-backup DIR \(gone)), or give it up (vault group accept \(gone)), and repeat the command"
    }
    if let back = first({ if case .rolledBack(_, _, _, .broughtBack) = $0 { true } else { false } }) {
      return
        "if its removal was interrupted: vault group remove \(back); if you put a copy back yourself: vault group accept \(back); and repeat the command"
    }
    if first({ if case .rolledBack = $0 { true } else { false } }) != nil {
      return
        "with --accept, the command shows what that state brings back and accepts it in the same step; but first find out who put it there"
    }
    if let unproved = first({ if case .unproved = $0 { true } else { false } }) {
      return
        "to continue without what cannot be proved, repeat the command with --drop-unproved; or first: vault repair \(unproved)"
    }
    if let damaged = first(\.isRepairable) {
      return
        "repair it (vault repair \(damaged)) and repeat the command; or only: vault revoke \(damaged) \(application)"
    }
    if application == Applications.service,
      let group = first({
        switch $0 {
        case .unordered(_, .unreachable), .unordered(_, .refused), .denied(.notAMember): true
        default: false
        }
      })
    {
      return
        "repeat the command when vaultd reaches the cluster; if it is no longer a member of '\(group)', issue a credential of an application that is one (vault app issue APP --output FILE --remote NAME --again), and first let vaultd follow the group with it: vault join --credential FILE"
    }
    // Its hint says so itself.
    if case .storage = groups[0].problem, let hint = groups[0].problem.hint(in: circumstances) { return hint }
    return (groups[0].problem.hint.map { "\($0); then " } ?? "") + "repeat the command"
  }
}
