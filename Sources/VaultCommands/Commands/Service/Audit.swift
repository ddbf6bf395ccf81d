import Glibc
internal import Vault

/// `vault audit`
struct ShowAudit: Command {
  static let about = About(
    "Show the record: who read and changed what through vaultd, and what the owner has signed.",
    usage: """
      vault audit [--since TIME] [--app APP] [-g GROUP] [--item NAME] [--denied] [--json] [--follow]
      """,
    more: """
      Only the owner can read the record. A time is a day (2027-01-31), a minute of it (2027-01-31T12:00Z), or a \
      length of time before now (90s, 15m, 12h, 30d). --app also finds what the owner did for an application.

      In a pipe there is one record per line, with tabs between time, who, action, group, item, result, caller, and \
      what it was about. With --json each line is an object. --follow waits for new records until it is interrupted; \
      without --since it begins with the next one.

      Each record is a decision of vaultd or an act of the owner. An act is recorded before it is done; if it fails, \
      a second record has the error as its result. To prove that no record was dropped or replaced: vault audit verify
      """,
    example: """
      vault audit --since 1d --denied
      """)

  let since: String?
  let app: String?
  let group: String?
  let item: String?
  let denied: Bool
  let json: Bool
  let follow: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    since = arguments.option("--since", value: "time", "Only records from this time on.")
    app = arguments.option("--app", value: "app", "Only records of this application.", completes: .applications)
    group = arguments.option(
      "--group", short: "-g", value: "group", "Only records of this access group.", completes: .groups)
    item = arguments.option("--item", value: "name", "Only records of this item.")
    denied = arguments.flag("--denied", "Only what was denied.")
    json = arguments.json()
    follow = arguments.flag("--follow", "Wait for new records.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let time = try since.map(ShowAudit.time) ?? (follow ? .now : Timestamp(milliseconds: 0))
    let store = try session.openStore(key)
    var records = try store.auditRecords(since: time)
    guard follow else {
      return try session.report(ShowAudit.unreadable(records.unreadableCount)) {
        if json || !session.output.isTerminal { try write(records, session) } else { try writeTable(records, session) }
      }
    }
    try write(records, session)
    while true {
      try session.output.flush()
      usleep(500_000)
      records = try store.auditRecords(after: records.end)
      try write(records, session)
      if let failure = ShowAudit.unreadable(records.unreadableCount) {
        session.say("vault: warning: \(failure.message)")
      }
    }
  }

  private static func unreadable(_ count: Int) -> Failure? {
    guard count > 0 else { return nil }
    let count = count == 1 ? "1 batch of records is" : "\(count) batches of records are"
    return Failure(.damaged, "\(count) not readable and were left out", hint: "see what is wrong: vault audit verify")
  }

  /// - Throws: `usage`.
  private static func time(_ text: String) throws(Failure) -> Timestamp {
    if let length = TimeLength.milliseconds(text) {
      return Timestamp(milliseconds: Timestamp.now.milliseconds - min(UInt64(length), Timestamp.now.milliseconds))
    }
    guard let moment = UTCDate.moment(text), moment.milliseconds >= 0 else {
      throw .usage("a time is 2027-01-31, 2027-01-31T12:00Z, or a length before now such as 12h or 30d")
    }
    return Timestamp(milliseconds: UInt64(moment.milliseconds))
  }

  private func accepts(_ record: AuditRecord) -> Bool {
    if let app, record.caller.who.application != app, record.subject != app { return false }
    if let group, record.group != group { return false }
    if let item, record.item != item { return false }
    return !denied || record.outcome == .denied
  }

  private func write(_ records: AuditRecords, _ session: Session) throws {
    while let record = try records.next() {
      guard accepts(record) else { continue }
      if json {
        var json = JSONWriter(session.output)
        try record.write(to: &json)
      } else {
        let cells = record.cells(time: record.time.text).map(UTF8Text.onOneLine)
        try session.output.write(cells.joined(separator: "\t") + "\n")
      }
    }
  }

  private func writeTable(_ records: AuditRecords, _ session: Session) throws {
    var table = Table("TIME", "WHO", "ACTION", "GROUP", "ITEM", "RESULT", "CALLER", "ABOUT")
    while let record = try records.next() {
      if accepts(record) { table.add(record.cells(time: session.shown(record.time))) }
    }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension AuditRecord {
  fileprivate func cells(time: String) -> [String] {
    [
      time, caller.who.text, action.name, group ?? "", item ?? "", outcome.name, caller.text,
      [subject, detail].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " "),
    ]
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("time", time.text)
      try json.string("who", caller.who.kind)
      try json.string("app", orNull: caller.who.application)
      try json.string("action", action.name)
      try json.string("group", orNull: group)
      try json.string("item", orNull: item)
      try json.number("version", orNull: version)
      try json.string("result", outcome.name)
      try json.number("uid", orNull: caller.uid.map(UInt64.init))
      try json.number("pid", orNull: caller.pid.flatMap { UInt64(exactly: $0) })
      try json.string("unit", orNull: caller.unit)
      try json.string("exe", orNull: caller.exe)
      try json.string("address", orNull: caller.address)
      try json.string("subject", orNull: subject)
      try json.string("detail", orNull: detail)
    }
  }
}

extension AuditRecord.Who {
  fileprivate var kind: String {
    switch self {
    case .nobody: "nobody"
    case .owner: "owner"
    case .application: "app"
    }
  }

  fileprivate var text: String { application ?? kind }
}

extension AuditRecord.Caller {
  /// The most important facts, for a table.
  fileprivate var text: String {
    let facts = [unit, exe, address].compactMap { $0 } + (uid.map { ["uid \($0)"] } ?? [])
    return facts.joined(separator: " ")
  }
}

/// `vault audit verify`
struct VerifyAudit: Command {
  static let about = About(
    "Prove that no record was dropped, replaced or reordered.",
    usage: "vault audit verify [--accept] [--json]",
    more: """
      Opens every batch of records and follows the chain from its beginning, or from where older months were dropped. \
      If nothing is wrong, the end of the chain is noted where vaultd cannot write, so that the next call detects \
      changes before that point. If it cannot be noted, because the store is on a read-only mount, for example, the \
      report and a warning say so. To check what was added since, compare the printed link with those in the journal.

      Ends with status 13 if anything is wrong. Once you know the reason, --accept notes the end anyway. If the item \
      that says where the record ends was removed, nothing can be recorded; --accept then continues the record after \
      the last batch that is there.
      """,
    example: """
      vault audit verify
      """)

  let accept: Bool
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    accept = arguments.flag("--accept", "Note the end of the chain even if something is wrong.")
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let report = try session.openStore(key).verifyAudit(accepting: accept) {
      session.showProgress("\($0) batches verified")
    }
    if json {
      var json = JSONWriter(session.output)
      try report.write(to: &json)
    } else {
      for line in report.lines { try session.output.write(line + "\n") }
    }
    if let why = report.unnoted {
      session.warn(
        "the end of the record was not noted, so the next verification cannot notice if it is shortened: "
          + "\(why.message); let this command write in the store's folder and in its state folder")
    }
    guard !report.isWhole, !accept else { return }
    let count = report.findings.count
    throw Failure(
      .damaged, count == 1 ? "the record is not intact" : "the record is not intact, in \(count) places",
      hint: (report.findings == [.ahead] ? "see whether a clock was ahead; if none was, " : "")
        + "find out who had the service's credential; to start from here: vault audit verify --accept")
  }
}

extension AuditVerification {
  fileprivate var lines: [String] {
    var lines = ["records: \(recordCount) in \(batchCount) batches"]
    if last >= first { lines.append("batches: \(first) to \(last)") }
    if first > 1 { lines.append("dropped: batches 1 to \(first - 1)") }
    lines.append("link: \(link)")
    if let confirmed { lines.append("unchanged since the last verification: up to batch \(confirmed)") }
    if let unnoted { lines.append("end not noted: \(unnoted.message)") }
    lines += findings.map { "wrong: \($0.text)" }
    if isTakenUp { lines.append("repaired: the record continues after batch \(last)") }
    return lines
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.flag("whole", isWhole)
      try json.flag("takenUp", isTakenUp)
      try json.number("records", recordCount)
      try json.number("batches", batchCount)
      try json.number("first", first)
      try json.number("last", last)
      try json.string("link", link)
      try json.number("confirmed", orNull: confirmed)
      try json.string("unnoted", orNull: unnoted?.message)
      try json.array("findings") { (json) throws(Failure) in
        for finding in findings {
          try json.object { (json) throws(Failure) in
            try json.string("kind", finding.kind)
            if let batch = finding.batch { try json.number("batch", batch) }
            if case .missing(_, let through) = finding { try json.number("through", through) }
            try json.string("text", finding.text)
          }
        }
      }
    }
  }
}

extension AuditFinding {
  fileprivate var kind: String {
    switch self {
    case .missing: "missing"
    case .altered: "altered"
    case .misplaced: "misplaced"
    case .unreadable: "unreadable"
    case .outside: "outside"
    case .wrongEnd: "wrong-end"
    case .unknownEnd: "unknown-end"
    case .endRemoved: "end-removed"
    case .strangeItems: "strange-items"
    case .ahead: "ahead"
    case .shortened: "shortened"
    case .rewritten: "rewritten"
    }
  }

  fileprivate var batch: UInt64? {
    switch self {
    case .missing(let batch, _), .altered(let batch), .misplaced(let batch), .unreadable(let batch),
      .outside(let batch), .shortened(let batch), .rewritten(let batch), .endRemoved(let batch):
      batch
    case .wrongEnd, .unknownEnd, .strangeItems, .ahead: nil
    }
  }

  fileprivate var text: String {
    switch self {
    case .missing(let first, let last) where first == last: "batch \(first) is missing"
    case .missing(let first, let last): "batches \(first) to \(last) are missing"
    case .altered(let batch): "batch \(batch) does not continue the chain: it or an earlier one was replaced"
    case .misplaced(let batch): "batch \(batch) is in the wrong month, or exists twice"
    case .unreadable(let batch): "batch \(batch) does not open, or was sealed for another place"
    case .outside(let batch): "batch \(batch) is outside the chain"
    case .wrongEnd: "the last link of the chain differs from the one that was noted"
    case .unknownEnd: "the item that notes where the chain begins or ends does not follow the format"
    case .endRemoved(let last):
      "somebody who may write to vault.audit removed the item that says where the record ends; batches up to \(last) "
        + "exist, and later ones, if there were any, are lost"
    case .strangeItems(let count): "\(count) items do not belong to the record"
    case .ahead: "the record has reached a month in the future"
    case .shortened(let batch): "an earlier verification saw the record up to batch \(batch), and now it ends earlier"
    case .rewritten(let batch): "an earlier verification saw other records up to batch \(batch)"
    }
  }
}

/// `vault audit begin`
struct BeginAudit: Command {
  static let about = About(
    "Begin to record what the owner signs, on a store without vaultd.",
    usage: "vault audit begin",
    more: """
      From then on, issued credentials, changes of members, keys, slots and groups are recorded. 'vault service enroll' \
      begins the record, too.
      """,
    example: """
      vault audit begin
      """)

  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) { key = try KeySource(&arguments) }

  func run(in session: Session) throws {
    try session.openStore(key).beginAudit()
    session.say("from now on, what the owner signs is recorded; to read it: vault audit")
  }
}
