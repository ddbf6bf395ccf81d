internal import Vault

/// `vault backup DIR`
struct BackupStore: Command {
  static let about = About(
    "Copy the store into a folder: one consistent state of each group, proved completely.",
    usage: "vault backup DIR [--json]",
    more: """
      DIR must be empty or not exist yet. Others can go on writing meanwhile. The backup opens with the same \
      passphrase and keys as the store. Groups that are bound to this device are left out. A group that does not \
      verify is named, the others are copied, and the command ends with that group's exit status. If the store is only \
      unlocked, as for cron, and no key file is remembered, the identity and the list of groups are copied as they \
      are, and a warning says that they were not proved.
      """,
    example: """
      vault backup /mnt/backup/vault-2026-11-21
      """)

  let folder: String
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    folder = try arguments.argument("dir", "The folder of the backup.", completes: .files)
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    session.circumstances.backup = UTF8Text.onOneLine(folder)
    let backup = try store.backUp(to: folder) { name, progress in
      session.showProgress("\(name): \(progress.text)")
    }
    if try !store.location.identity().slots.contains(where: { $0.kind == .recoveryCode }) {
      session.warn(
        "there is no recovery code, so the backup opens only with what opens the store now; make one: vault recovery create"
      )
    }
    for case .copiedUnproved in backup.groups.map(\.outcome) {
      session.warn(
        "the store is unlocked only for items: the identity and the list of groups were copied without being proved; to prove them: vault backup with --passphrase-fd N, or --key-file FILE"
      )
    }
    let problem = backup.groups.lazy.compactMap(\.failure).first
    try session.report(problem) {
      try session.output.tell(of: problem == nil ? "the backup was made" : "a part of the backup was made") {
        () throws(Failure) in try show(backup, in: session)
      }
    }
  }

  private func show(_ backup: StoreBackup, in session: Session) throws(Failure) {
    if json {
      var json = JSONWriter(session.output)
      return try backup.write(to: &json)
    }
    var table = Table(
      columns: ["GROUP", "RESULT", "ITEMS", "VERSIONS", "EPOCH"], keeping: "RESULT", fixed: ["GROUP"])
    for group in backup.groups { group.add(to: &table) }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension MaintenanceProgress {
  /// The progress of a long command.
  var text: String {
    switch self {
    case .copied(let bytes, let all): "\(all == 0 ? 0 : bytes * 100 / all) % copied"
    case .proved(let count): "\(count) items proved"
    case .sealed(let count): "\(count) items sealed under the new key"
    case .written(let count): "\(count) items written"
    }
  }
}

extension StoreBackup {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("path", path)
      try json.array("groups") { (json) throws(Failure) in
        for group in groups { try group.write(to: &json) }
      }
    }
  }
}

extension StoreBackup.Group {
  fileprivate var failure: (any Error)? {
    switch outcome {
    case .failed(.storage(let failure)):
      Failure(
        .storage, "'\(name)' is not in the backup: \(failure.rawValue)",
        hint: "the groups that were copied are in it; to copy all, name another folder: vault backup DIR")
    case .failed(let error): error
    default: nil
    }
  }

  fileprivate func add(to table: inout Table) {
    switch outcome {
    case .copied(let items, let versions, let epoch):
      table.add(name, "copied", Table.cell(items), Table.cell(versions), Table.cell(epoch))
    case .copiedUnproved: table.add(name, "copied, not proved", "", "", "")
    case .leftOut: table.add(name, "left out: bound to a device", "", "", "")
    case .failed(let error): table.add(name, error.message, "", "", "")
    }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", name)
      try json.string("name", name)
      switch outcome {
      case .copied(let items, let versions, let epoch):
        try json.string("result", "copied")
        try json.number("items", items)
        try json.number("versions", versions)
        try json.number("epoch", epoch)
      case .copiedUnproved: try json.string("result", "unproved")
      case .leftOut: try json.string("result", "left-out")
      case .failed(let error):
        try json.string("result", "failed")
        try ErrorReport.write(error, as: "problem", to: &json)
      }
    }
  }
}
