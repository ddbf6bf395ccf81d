internal import Vault

/// `vault restore-backup DIR`
struct RestoreBackup: Command {
  static let about = About(
    "Restore groups from a backup of this store.",
    usage: "vault restore-backup DIR [GROUP]... [--replace] [--yes] [--dry-run] [--json]",
    more: """
      Every file is proved before the first group is touched. A group that exists in another state is replaced only \
      with --replace. The command first says what comes back and who loses access, and asks on a terminal; replaced \
      files are kept, and it says where. --dry-run proves the backup and says the same, but changes nothing. A restored state that is older than the one \
      this machine has seen is refused (14) until you run vault group accept GROUP. On a machine that has never seen a \
      group, the group gets a new key and a new list of members, without applications whose credentials were replaced \
      or revoked since; its members then accept it in the same way.
      """,
    example: """
      vault restore-backup /mnt/backup/vault-2026-11-21
      vault restore-backup /mnt/backup/vault-2026-11-21 team.shared --replace --dry-run
      vault restore-backup /mnt/backup/vault-2026-11-21 team.shared --replace
      """)

  let folder: String
  let groups: [String]
  let replace: Bool
  let dryRun: Bool
  let consent: Consent
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    folder = try arguments.argument("dir", "The folder of the backup.", completes: .files)
    groups = arguments.anyArguments("group", "Restore only these groups.", completes: .groups)
    replace = arguments.flag("--replace", "Replace groups that exist in another state; their files are kept.")
    dryRun = arguments.flag("--dry-run", "Show what would be restored, and change nothing.")
    consent = Consent(&arguments)
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    session.restoresBackup(in: folder)
    let store = try session.openStore(key)
    session.circumstances.makesSteps = true
    session.circumstances.opensBackup = true
    if dryRun { return try preview(of: store, in: session) }
    if replace { try confirmReplacing(in: store, session) }
    // Others may pass through the folder of a store that shares groups. A backup does not say which ones were shared.
    let sharesGroups = store.location.letsOthersPass
    let restoration = try named {
      try store.restoreBackup(from: folder, groups: groups, replacing: replace) { name, progress in
        session.showProgress("\(name): \(progress.text)")
      }
    }
    let isWritten = restoration.told("the backup was restored", in: session) { () throws(Failure) in
      guard json else { return try restoration.table.write(to: session.output, style: session.outputStyle) }
      var json = JSONWriter(session.output)
      try restoration.write(to: &json)
    }
    restoration.warnOfMissingLogs(in: folder, session)
    sayWhatIsUntouched(beside: restoration.groups.map(\.name) + restoration.missing, of: store, in: session)
    // Last: a group that has to be accepted first cannot be shared yet.
    if sharesGroups { session.atEnd { restoration.warnOfPrivateFiles(in: $0) } }
    try restoration.finish(store, in: session)
    try isWritten.get()
  }

  private func plans(of store: SecretStore, proving: Bool) throws -> [RestorePlan] {
    try named { try store.restorePlans(from: folder, groups: groups, replacing: replace, proving: proving) }
  }

  private func preview(of store: SecretStore, in session: Session) throws {
    let plans = try plans(of: store, proving: true)
    plans.describe(in: session)
    sayWhatIsUntouched(beside: plans.map(\.name), of: store, in: session)
    try session.report(plans.problem) { try plans.write(json: json, in: session) }
  }

  /// Names the groups of the store that the backup lacks: they were made later, are bound to a device, or failed then.
  private func sayWhatIsUntouched(beside named: [String], of store: SecretStore, in session: Session) {
    let others = Set((try? store.location.groupNames()) ?? []).subtracting(named).sorted()
    guard groups.isEmpty, !others.isEmpty else { return }
    session.say("not in the backup, and unchanged: \(others.joined(separator: ", "))")
  }

  /// Says what replacing the groups brings back, and asks on a terminal.
  private func confirmReplacing(in store: SecretStore, _ session: Session) throws {
    let plans = try plans(of: store, proving: false)
    guard plans.describe(in: session), !consent.yes, session.asks("replace what is there? (yes/no) ") == false else {
      return
    }
    throw Failure(.interrupted, "nothing was restored")
  }

  private func named<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch VaultError.notFound(.group) {
      throw Failure(
        .notFound, "the backup has no such group", hint: "without names, all groups of the backup are restored")
    }
  }
}

extension StoreRestoration {
  /// Names the groups that were missing, whose users elsewhere cannot open them yet.
  fileprivate func warnOfPrivateFiles(in session: Session) {
    for group in groups {
      guard case .restored(let restored) = group.outcome, restored.keptAside == nil,
        (try? AccessGroup.Name(group.name)) != .registry
      else { continue }
      session.warn(
        "the files of '\(group.name)' are private; if it was shared: vault group share \(group.name) --unix-group G")
    }
  }

  /// Writes the result, which is no reason to end before the user knows what is left to do.
  ///
  /// - Parameter change: what was done, as for ``Output/tell(of:_:)``.
  func told(
    _ change: String, in session: Session, _ write: () throws(Failure) -> Void
  ) -> Result<Void, Failure> {
    let isChanged = groups.contains { if case .restored = $0.outcome { true } else { false } }
    do throws(Failure) {
      try session.output.tell(of: isChanged ? change : "nothing had to be restored", write)
      return .success(())
    } catch {
      return .failure(error)
    }
  }

  /// Says what is left to do.
  ///
  /// - Throws: the error of a group, or `notFound` for a group that is neither in the backup nor in the store.
  func finish(_ store: SecretStore, in session: Session) throws {
    for group in groups {
      if case .restored(let restored) = group.outcome {
        if let kept = restored.keptAside { session.say("the replaced files of '\(group.name)' are in \(kept)") }
        for member in restored.left {
          session.say("stays out of '\(group.name)': \(member.who.text), who was replaced or revoked since the backup")
        }
      }
      if case .failed = group.outcome { continue }
      do throws(VaultError) {
        // Only the list's own error: accepting vault.owner does not bring back another group that is gone.
        if group.name == "vault.owner", let own = store.vanishedGroups().first(where: { $0.name == group.name }) {
          throw own.problem
        }
        _ = try store.group(group.name).info()
      } catch {
        let option: String
        switch error {
        case .rolledBack: option = ""
        case .anotherGroup: option = " --another-group"
        default: continue
        }
        session.warn("\(error.message); it stays closed until you run: vault group accept \(group.name)\(option)")
      }
    }
    session.warnOfSealedService(
      store,
      restored: groups.compactMap { group in
        if case .restored(let restored) = group.outcome { (group.name, restored.members) } else { nil }
      })
    for group in groups {
      if case .failed(let error) = group.outcome { throw group.withHint(error, store, in: session) }
    }
    guard !missing.isEmpty else { return }
    throw Failure(
      .notFound, "neither in the backup nor in the store: \(missing.joined(separator: ", "))",
      hint:
        "restore it from a backup that has it: vault restore-backup DIR \(missing[0]); a group bound to a device is in no backup"
    )
  }

  var table: Table {
    var table = Table(
      columns: ["GROUP", "RESULT", "ITEMS", "EPOCH", "MEMBERS", "KEPT ASIDE"], keeping: "RESULT", fixed: ["GROUP"])
    for group in groups { group.add(to: &table) }
    for name in missing { table.add(name, "not in the backup", "", "", "", "") }
    return table
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.array("groups") { (json) throws(Failure) in
        for group in groups { try group.write(to: &json) }
      }
      try json.array("missing") { (json) throws(Failure) in
        for name in missing {
          try json.object { (json) throws(Failure) in
            try json.string("group", name)
            try json.string("name", name)
          }
        }
      }
    }
  }
}

extension StoreRestoration.Group {
  /// A damaged group that the store does not have can be repaired only after its files have been copied there.
  fileprivate func withHint(_ error: VaultError, _ store: SecretStore, in session: Session) -> any Error {
    guard case .damaged = error, let names = try? store.location.groupNames(), !names.contains(name) else {
      return error
    }
    let files = "\(session.circumstances.backup)/groups/\(name)"
    var failure = Failure(
      error.exitStatus, error.message,
      hint:
        "another backup may have it undamaged: vault restore-backup DIR \(name); or keep what is proved of this one: cp -a \(files) \(UTF8Text.onOneLine(store.location.home))/groups/ && vault repair \(name)"
    )
    failure.level = error.level
    return failure
  }

  fileprivate func add(to table: inout Table) {
    switch outcome {
    case .restored(let group):
      table.add(
        name, group.isRenewed ? "restored, with a new key" : "restored", Table.cell(group.items),
        Table.cell(group.epoch), group.members.map(\.who.text).joined(separator: ", "), group.keptAside ?? "")
    case .unchanged: table.add(name, "already in this state", "", "", "", "")
    case .kept: table.add(name, "kept: the store's own files are intact", "", "", "", "")
    case .failed(let error): table.add(name, error.message, "", "", "", "")
    }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", name)
      try json.string("name", name)
      switch outcome {
      case .restored(let group):
        try json.string("result", "restored")
        try json.number("items", group.items)
        try json.number("epoch", group.epoch)
        try json.flag("renewed", group.isRenewed)
        try json.string("kept", orNull: group.keptAside)
        try group.members.write("members", to: &json)
        try group.left.write("left", to: &json)
      case .unchanged: try json.string("result", "unchanged")
      case .kept: try json.string("result", "kept")
      case .failed(let error):
        try json.string("result", "failed")
        try ErrorReport.write(error, as: "problem", to: &json)
      }
    }
  }
}
