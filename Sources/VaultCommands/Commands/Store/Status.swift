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

      The command reads no items. ITEMS is the number in a group's signed state, which includes removed items; 'vault \
      verify' counts the others alone.
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
    let status = try session.status(key)
    session.circumstances.isApplication = status.application != nil
    if json {
      var json = JSONWriter(session.output)
      try status.write(to: &json)
    } else {
      for (title, text) in status.lines(session.told) {
        try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n")
      }
      try status.table.write(to: session.output, style: session.outputStyle)
    }
    for notice in status.notices { session.warn(notice.message) }
    // A group bound to another device is not a fault of this store.
    let problems = status.groups.lazy.filter { !$0.isOfOtherDevice }.compactMap(\.problem)
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

  fileprivate var table: Table {
    var table = Table("GROUP", "ITEMS", "EPOCH", "KEY", "STATE")
    for group in groups {
      table.add(
        group.name, Table.cell(group.itemCount), Table.cell(group.epoch), Table.cell(group.generation),
        group.problem?.message ?? (group.isVerified ? "verified" : "not verified"))
    }
    return table
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
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
        for group in groups { try group.write(to: &json) }
      }
    }
  }
}

extension GroupStatus {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.flag("verified", isVerified)
      try json.number("epoch", orNull: epoch)
      try json.number("generation", orNull: generation)
      try json.number("items", orNull: itemCount)
      try ErrorReport.write(problem, as: "problem", to: &json)
    }
  }
}
