import Glibc
internal import Vault

/// `vault watch [GROUP] [-- COMMAND ARG...]`
struct WatchGroup: Command {
  static let about = About(
    "Wait for changes in a group, and run a program after each or print them.",
    usage: """
      vault watch [GROUP] [--prefix P] [--once] [--json] [-- COMMAND ARG...]
      """,
    more: """
      The names of the changed items are written to the program's stdin, one per line. Changes that are made while it \
      runs start it once more afterwards. If it fails, a message says so, and watching continues.

      Without a program, each change is one line on stdout: the name, a tab, and the version, or a hyphen for a \
      removed item. --once ends after the first change, with the program's status.
      """,
    example: """
      vault watch web -- systemctl reload nginx
      """)

  static let surplus = RunProgram.surplusProgram(of: "watch GROUP")

  let group: String?
  let prefix: String
  let once: Bool
  let json: Bool
  let command: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = arguments.optionalArgument(
      "group", "The access group (else VAULT_GROUP, else default or the application's own).", completes: .groups)
    prefix = arguments.option("--prefix", value: "prefix", "Only items whose names begin with this.") ?? ""
    once = arguments.flag("--once", "End after the first change.")
    json = arguments.json()
    command = try arguments.wordsBehindDashes("command", "The program and its arguments.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let watch = try session.openGroup(group, key).watch()
    try session.finish()
    while let all = try watch.next() {
      let changes = all.filter { $0.name.description.utf8.starts(with: prefix.utf8) }
      guard !changes.isEmpty else { continue }
      let end = command.isEmpty ? nil : try start(changes, session)
      if command.isEmpty { try write(changes, session) }
      guard once else { continue }
      guard let end, end.status != 0 else { return }
      try session.finish()
      end.endProcess()
    }
  }

  private func start(_ changes: [ItemChange], _ session: Session) throws(Failure) -> ProgramEnd {
    let names = Array(changes.map { $0.name.description + "\n" }.joined().utf8)
    let end = try unsafe names.span.withUnsafeBytes { (bytes) throws(Failure) in
      try unsafe ChildProcess.run(command, input: bytes, session.streams)
    }
    if end.status != 0, !once { session.say("vault: warning: the program ended with status \(end.status)") }
    return end
  }

  private func write(_ changes: [ItemChange], _ session: Session) throws(Failure) {
    for change in changes {
      if json {
        var json = JSONWriter(session.output)
        try json.object { (json) throws(Failure) in
          try json.string("name", change.name.description)
          try json.number("version", orNull: change.version)
        }
      } else {
        let name = UTF8Text.onOneLine(change.name.description)
        try session.output.write("\(name)\t\(change.version.map { String($0) } ?? "-")\n")
      }
    }
    try session.output.flush()
  }
}
