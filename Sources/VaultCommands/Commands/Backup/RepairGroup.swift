internal import Vault

/// `vault repair GROUP`
struct RepairGroup: Command {
  static let about = About(
    "Rebuild a damaged group from every item that its last signed state proves.",
    usage: "vault repair GROUP [--drop-unproved] [--keep-unproved NAME]... [--json]",
    more: """
      If signed items can no longer be proved, the command names them, as far as their names can be known, and changes \
      nothing; with --drop-unproved it rebuilds the group without them. The damaged files are kept, and the command says \
      where. It also lists items that open but are not proved, because damage destroyed their proof or a read-only \
      member made them up. Such an item is kept only if you name it, now or in a second run, which takes it from the \
      kept files. An undamaged group is not changed.
      """,
    example: """
      vault repair team.shared
      """)

  let group: String
  let dropUnproved: Bool
  let keepUnproved: [String]
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = try arguments.argument("group", "The group's name.", completes: .groups)
    dropUnproved = arguments.flag("--drop-unproved", "Leave behind signed items that can no longer be proved.")
    keepUnproved = arguments.options(
      "--keep-unproved", value: "name", "Keep this item although nothing proves it; can be repeated.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    func accepts(_ loss: GroupRepair) -> Bool {
      guard !dropUnproved else { return true }
      if json {
        var json = JSONWriter(session.output)
        try? write(loss, isRebuilt: false, to: &json)
      }
      for name in loss.lostNames { session.warn("lost: \(UTF8Text.onOneLine(name))") }
      for item in loss.unproved {
        session.warn("not proved, but can be opened; --keep-unproved keeps it: \(UTF8Text.onOneLine(item.name))")
      }
      return false
    }
    let repair = try session.openStore(key).repairGroup(
      group, keepingUnproved: keepUnproved, isLossAccepted: accepts
    ) { progress in session.showProgress("\(group): \(progress.text)") }
    guard let repair else {
      guard json else { return session.say("nothing is damaged, and nothing was changed") }
      var json = JSONWriter(session.output)
      return try write(nil, isRebuilt: false, to: &json)
    }
    try session.output.tell(of: "the group was rebuilt") { () throws(Failure) in
      if json {
        var json = JSONWriter(session.output)
        return try write(repair, isRebuilt: true, to: &json)
      }
      for (title, text) in repair.lines { try session.output.write("\(title): \(UTF8Text.onOneLine(text))\n") }
    }
    if !json, repair.losesChain {
      session.warn(
        "machines that have not seen the last state of '\(group)' refuse it; on each of them: vault group accept \(group)"
      )
    }
  }

  private func write(_ repair: GroupRepair?, isRebuilt: Bool, to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", group)
      try json.flag("damaged", repair != nil)
      try json.flag("rebuilt", isRebuilt)
      guard let repair else { return }
      try json.number("kept", repair.kept)
      try json.number("lost", repair.lost)
      try json.array("names") { (json) throws(Failure) in
        for name in repair.lostNames { try json.object { (json) throws(Failure) in try json.string("name", name) } }
      }
      try json.number("lost-versions", repair.lostVersions)
      try json.array("unproved") { (json) throws(Failure) in
        for item in repair.unproved { try item.write(to: &json) }
      }
      guard isRebuilt else { return }
      try json.flag("chain-lost", repair.losesChain)
      try json.number("epoch", repair.epoch)
      try json.string("aside", repair.keptAside)
    }
  }
}

extension GroupRepair {
  fileprivate var lines: [(title: String, text: String)] {
    var lines = [("kept", "\(kept) items, including removed ones"), ("lost", "\(lost) items")]
    for name in lostNames { lines.append(("lost", name)) }
    if lostVersions > 0 { lines.append(("lost", "\(lostVersions) older versions of items that were kept")) }
    for item in unproved {
      lines.append((item.isKept ? "kept unproved" : "unproved", "\(item.name), version \(item.version)"))
    }
    lines.append(("epoch", String(epoch)))
    lines.append(("damaged files", keptAside))
    return lines
  }
}

extension UnprovedItem {
  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("name", name)
      try json.number("version", version)
      try json.string("changed", changed.text)
      try json.flag("kept", isKept)
    }
  }
}
