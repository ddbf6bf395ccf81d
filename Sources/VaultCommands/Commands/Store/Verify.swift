internal import Vault

/// `vault verify`
struct Verify: Command {
  static let about = About(
    "Prove everything in the groups: each item, version and value, and that no group is missing.",
    usage: "vault verify [GROUP]... [--json]",
    more: """
      Ends with the exit status of the first group that does not verify. A group that is bound to another machine is \
      listed, but affects the status only if it is named. If the store is only unlocked and no key file is remembered, \
      everything except the list of groups is proved, and a warning says so. If the removal of a member could not be \
      noted in that list at the time, it is noted now.
      """,
    example: """
      vault verify
      """)

  let groups: [String]
  let json: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    groups = arguments.anyArguments("group", "Prove only these groups.", completes: .groups)
    json = arguments.json()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    let results = try store.verify(groups: groups) { name, count in
      session.showProgress("\(name): \(count) items proved")
    }
    // An unknown name gets no row of its own, because it must not be repeated.
    for case .failure(.notFound(let missing)) in results.map(\.result) { throw VaultError.notFound(missing) }
    if results.contains(where: \.needsOwner) {
      session.warn(
        "the store is unlocked only for items: the list of groups was not proved, so a missing group would not be noticed; to prove it, too: vault verify --passphrase-fd N, or --key-file FILE"
      )
    }
    session.warnOfSealedService(store)
    let decisive = results.filter { !groups.isEmpty || !($0.isOfOtherDevice || $0.needsOwner) }
    try session.report(decisive.compactMap(\.problem).first) { try show(results, in: session) }
  }

  private func show(_ results: [GroupVerification], in session: Session) throws(Failure) {
    if json {
      var json = JSONWriter(session.output)
      return try json.array { (json) throws(Failure) in
        for result in results { try result.write(to: &json) }
      }
    }
    var table = Table(
      columns: ["GROUP", "RESULT", "ITEMS", "REMOVED", "VERSIONS", "EPOCH"], keeping: "RESULT", fixed: ["GROUP"])
    for result in results { result.add(to: &table) }
    try table.write(to: session.output, style: session.outputStyle)
  }
}

extension GroupVerification {
  fileprivate var problem: VaultError? { if case .failure(let error) = result { error } else { nil } }

  fileprivate func add(to table: inout Table) {
    switch result {
    case .success(let counts):
      table.add(
        name, "verified", Table.cell(counts.items), Table.cell(counts.removed), Table.cell(counts.versions),
        Table.cell(counts.epoch))
    case .failure where needsOwner: table.add(name, "not proved", "", "", "", "")
    case .failure(let error): table.add(name, error.message, "", "", "", "")
    }
  }

  fileprivate func write(to json: inout JSONWriter) throws(Failure) {
    try json.object { (json) throws(Failure) in
      try json.string("group", name)
      try json.string("name", name)
      switch result {
      case .success(let counts):
        try json.flag("verified", true)
        try json.number("items", counts.items)
        try json.number("removed", counts.removed)
        try json.number("versions", counts.versions)
        try json.number("epoch", counts.epoch)
      case .failure(let error):
        try json.flag("verified", false)
        try ErrorReport.write(error, as: "problem", to: &json)
      }
    }
  }
}
