internal import Vault

/// `vault status`
struct Status: Command {
  static let about = About(
    "Show where the store is, what opens it, and whether each group's state verifies, without asking for anything.",
    usage: "vault status [--json]",
    more: """
      If nothing opens the store without a prompt, the command shows what this machine remembers, unverified, and \
      ends with 11. A group is not verified, and the command ends with 13, as long as nothing shows that its state is \
      the newest one that this machine has seen, for example because the state folder is missing.

      A published group has a problem as soon as its copy here is not kept up to date: vaultd does not run or is \
      sealed, the cluster cannot be reached, a commit cannot be proved, or no state was signed for two heartbeats of \
      its remote (without a heartbeat, for half of --max-age). The command then ends with 15 or 12, usually before the \
      copy is too old to be read.

      The command reads no items. ITEMS is the number in a group's signed state, which includes removed items; 'vault \
      verify' does not count those.
      """,
    example: """
      vault status
      """)

  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let (status, copies) = try session.status(key)
    session.circumstances.isApplication = status.application != nil
    if json {
      var json = JSONWriter(session.output)
      try status.write(to: &json, copies)
    } else {
      for (title, text) in status.lines(session.told) {
        try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n")
      }
      try status.table(copies).write(to: session.output, style: session.outputStyle)
    }
    for notice in status.notices { session.warn(notice.message) }
    // A group bound to another device is not a fault of this store.
    let faults = status.groups.lazy.filter { !$0.isOfOtherDevice }.compactMap(\.problem)
    // Not a fault of this store, so any other counts more.
    let problems = Array(faults) + status.groups.compactMap { copies[$0.name]?.problem }
    if let problem = status.lock ?? problems.first { throw problem }
  }
}

extension StoreStatus {
  fileprivate func lines(_ told: (Timestamp) -> String) -> [(title: String, text: String)] {
    var lines = [("store", home), ("state", state ?? "none"), ("owner", ownerKey)]
    for slot in slots { lines.append(("slot \(slot.number)", slot.kind.name)) }
    if !slots.isEmpty, !slots.contains(where: { $0.kind == .recoveryCode }) {
      lines.append(("recovery code", "none; make one: vault recovery create"))
    }
    lines.append(("last backup", lastBackup.map(told) ?? "none"))
    lines.append(("locked", lock != nil ? "yes" : unlockedUntil.map { "no, unlocked until \(told($0))" } ?? "no"))
    return lines
  }

  fileprivate func table(_ copies: [String: CopyStatus]) -> Table {
    var table = Table("GROUP", "ITEMS", "EPOCH", "KEY", "STATE")
    for group in groups {
      table.add(
        group.name, Table.cell(group.itemCount), Table.cell(group.epoch), Table.cell(group.generation),
        group.problem?.message ?? (group.isVerified ? copies[group.name]?.text ?? "verified" : "not verified"))
    }
    return table
  }

  fileprivate func write(to json: inout JSONWriter, _ copies: [String: CopyStatus]) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("home", home)
      try json.string("state", orNull: state)
      try json.string("owner", ownerKey)
      try json.string("backup", orNull: lastBackup?.text)
      try json.flag("locked", lock != nil)
      try json.string("unlockedUntil", orNull: unlockedUntil?.text)
      try json.array("slots") { (json) throws(Failure) in
        for slot in slots { try slot.write(to: &json) }
      }
      try json.array("groups") { (json) throws(Failure) in
        for group in groups { try group.write(to: &json, copies[group.name]) }
      }
    }
  }
}

extension GroupStatus {
  fileprivate func write(to json: inout JSONWriter, _ copy: CopyStatus?) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.flag("verified", isVerified)
      try json.number("epoch", orNull: epoch)
      try json.number("generation", orNull: generation)
      try json.number("items", orNull: itemCount)
      try json.number("age", orNull: copy?.age)
      try ErrorReport.write(problem ?? copy?.problem, as: "problem", to: &json)
    }
  }
}

/// How far this machine's copy of a published group is behind.
struct CopyStatus {
  /// The seconds since the newest proved state was signed.
  let age: UInt64
  /// Why the copy is out of date, or will soon be too old to be read; `nil` if nothing shows that it is.
  let problem: VaultError?

  fileprivate var text: String { problem?.message ?? "verified, signed \(age) s ago" }
}

extension SecretStore {
  /// The status of those of `groups` that are published.
  func copyStatus(of groups: [String]) -> [String: CopyStatus] {
    let now = Timestamp.now.milliseconds
    var found: [String: CopyStatus] = [:]
    var silence: VaultError?
    for group in groups {
      guard let copy = try? copy(of: group), copy.isPublished else { continue }
      let age = (now - min(now, copy.time)) / 1_000
      // Why it is late says more than that it is. One that does not answer takes ten seconds to be given up, which is
      // enough for all groups.
      var problem = readingProblem(of: group) ?? silence ?? logProblem(of: group)
      if case .service(.busy, _)? = problem { silence = problem }
      if problem == nil, let due = try? ageLimits(of: group).due, age > due {
        problem = .unordered(group: group, .late(seconds: age, limit: due))
      }
      found[group] = CopyStatus(age: age, problem: problem)
    }
    return found
  }

  private func readingProblem(of group: String) -> VaultError? {
    do throws(VaultError) {
      _ = try self.group(group).state()
      return nil
    } catch {
      return error
    }
  }

  /// What keeps the `vaultd` here from bringing the copy up to date; `nil` if this user may not ask it.
  private func logProblem(of group: String) -> VaultError? {
    do throws(VaultError) {
      _ = try logEpoch(of: group)
      return nil
    } catch {
      return switch error {
      case .closedSocket: nil
      case .locked(.service(let why)): .unordered(group: group, .shut(why))
      case .unordered(_, let disorder): .unordered(group: group, disorder)
      default: error
      }
    }
  }
}
