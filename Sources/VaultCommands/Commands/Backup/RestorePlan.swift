internal import Vault

/// What restoring a group from a backup would do; found without changing anything.
struct RestorePlan {
  let name: String
  let outcome: Outcome

  enum Outcome {
    case restored(Change)
    case unchanged
    case kept
    case failed(VaultError)
  }

  /// The backup's state, and what it does to those who use the group.
  struct Change {
    /// The number of items, removed ones included.
    let items: UInt64
    let epoch: UInt64
    let members: [Member]
    /// What has to be accepted afterwards; nil if nothing.
    let returning: ReturningState?
    /// Members of the present state that cannot open the backup's.
    let losing: [Member]
  }
}

extension SecretStore {
  /// What ``restoreBackup(from:groups:replacing:progress:)`` with the same arguments would do.
  ///
  /// - Parameter isProving: whether to prove the backup's files and the present ones, and not only their signatures.
  func restorePlans(
    from folder: String, groups wanted: [String], replacing: Bool, proving isProving: Bool
  ) throws(VaultError) -> [RestorePlan] {
    let folder = try location.outside(folder)
    let names = try groups(wanted, inBackup: folder)
    let leaves = try leftOutOfRestoration()
    return try names.map { (name) throws(VaultError) in
      let outcome: RestorePlan.Outcome
      do throws(VaultError) {
        let keepsOwn = name == .registry || wanted.isEmpty && name.isRecord
        outcome = try plan(for: name, in: "\(folder)/groups/\(name)", replacing, keepsOwn: keepsOwn, isProving) {
          leaves($0, name)
        }
      } catch {
        outcome = .failed(error.named(name.description))
      }
      return RestorePlan(name: name.description, outcome: outcome)
    }
  }

  private func plan(
    for name: AccessGroup.Name, in folder: String, _ replacing: Bool, keepsOwn: Bool, _ isProving: Bool,
    leaving leaves: (Member) -> Bool
  ) throws(VaultError) -> RestorePlan.Outcome {
    let file = try file(of: name)
    let source = try Snapshot(restingIn: folder, file.context)
    if isProving { _ = try FullProof.run(source) }
    let live =
      if isProving { try? file.provedState().state } else { try? file.unwitnessed().beginReadingAlone().state }
    if live?.isOrFollows(source.state) == true { return .unchanged }
    if keepsOwn, live != nil { return .kept }
    guard replacing || !AccessGroupFile.exists(in: file.folder) else { throw .otherState(group: name.description) }
    func staysOut(_ member: Member) -> Bool { leaves(member) || live?.roster.hasRemoved(member) == true }
    let members = source.state.roster.members.filter { !staysOut($0) }
    return .restored(
      RestorePlan.Change(
        items: source.state.manifest.itemCount, epoch: source.state.manifest.epoch, members: members,
        returning: try file.offer(source, insteadOf: live).map { ReturningState($0, staysOut) },
        losing: live?.roster.members.filter { member in !members.contains { $0.who == member.who } } ?? []))
  }
}

extension AccessGroup.Name {
  /// Whether this is the record of decisions, which a restoration of all groups keeps.
  fileprivate var isRecord: Bool { description == "vault.audit" }
}

extension [RestorePlan] {
  /// Says what comes back in place of what this machine has seen, and who loses access.
  ///
  /// - Returns: whether there was anything to say.
  @discardableResult
  func describe(in session: Session) -> Bool {
    var isSaid = false
    for plan in self {
      guard case .restored(let change) = plan.outcome, change.returning != nil || !change.losing.isEmpty else {
        continue
      }
      session.say("restoring '\(plan.name)':")
      if let returning = change.returning { session.describe(returning) }
      for member in change.losing { session.say("loses access: \(member.who.text), may \(member.rights.rawValue)") }
      isSaid = true
    }
    return isSaid
  }

  /// Writes what would be done.
  func write(json isJSON: Bool, in session: Session) throws(Failure) {
    guard isJSON else {
      var table = Table(
        columns: ["GROUP", "RESULT", "ITEMS", "EPOCH", "MEMBERS"], keeping: "RESULT", fixed: ["GROUP"])
      for plan in self { plan.add(to: &table) }
      return try table.write(to: session.output, style: session.outputStyle)
    }
    var json = JSONWriter(session.output)
    try json.object { (json) throws(Failure) in
      try json.flag("dryRun", true)
      try json.array("groups") { (json) throws(Failure) in
        for plan in self { try plan.write(to: &json) }
      }
    }
  }

  /// The error of the first group that would not be restored; nil if all would be.
  var problem: VaultError? {
    for case .failed(let error) in map(\.outcome) { return error }
    return nil
  }
}

extension RestorePlan {
  fileprivate func add(to table: inout Table) {
    switch outcome {
    case .restored(let change):
      table.add(
        name, "would be restored", Table.cell(change.items), Table.cell(change.epoch),
        change.members.map(\.who.text).joined(separator: ", "))
    case .unchanged: table.add(name, "already in this state", "", "", "")
    case .kept: table.add(name, "kept: the store's own files are intact", "", "", "")
    case .failed(let error): table.add(name, error.message, "", "", "")
    }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", name)
      try json.string("name", name)
      switch outcome {
      case .restored(let change):
        try json.string("result", "restored")
        try json.number("items", change.items)
        try json.number("epoch", change.epoch)
        try change.members.write("members", to: &json)
        try change.losing.write("losing", to: &json)
      case .unchanged: try json.string("result", "unchanged")
      case .kept: try json.string("result", "kept")
      case .failed(let error):
        try json.string("result", "failed")
        try ErrorReport.write(error, as: "problem", to: &json)
      }
    }
  }
}
