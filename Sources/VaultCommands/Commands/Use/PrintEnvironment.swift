import ArgumentParser
internal import Exchange
internal import VaultStore

/// `vault env`
struct PrintEnvironment: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "env",
    abstract: "Write a group's items as variables, for a shell, a JSON reader or an env file.",
    usage: """
      vault env [-g GROUP] [--prefix P] [--only NAMES] [--env-prefix TEXT] [--trust-names]
                [--shell bash|json|dotenv]
      """,
    discussion: """
      db/password becomes DB_PASSWORD, and a name that is a variable's already, such as http_proxy or TF_VAR_region, stays as \
      it is; two items with one variable are an error. A group that somebody besides its owner and you may write is \
      refused, because every writer of a group chooses names in it: --only lists the variables, --env-prefix puts \
      something of yours in front, and --trust-names takes whatever is there. An item from whose variable programs take \
      orders (PATH, LD_PRELOAD) is refused in any group, unless it is listed or trusted.

      bash, the default, is for every POSIX shell: values stand in single quotes and are never executed, but let the shell \
      read all of it, in double quotes. json is one object of strings. dotenv is for env files; some of their readers \
      replace ${NAME} even in quotes, so a value that holds one is warned of. Values with a zero byte are refused, and for \
      json and dotenv those that are not text.

      What has the values in its environment gives them to every program that it starts. vault run gives them to one.

      Example:
        eval "$(vault env --group team.shared --prefix db/)"
      """)

  enum Form: String, CaseIterable, ExpressibleByArgument { case bash, json, dotenv }

  @OptionGroup var group: GroupOptions
  @OptionGroup var variables: VariableOptions
  @Option(help: ArgumentHelp("Who will read it: bash, json or dotenv.", valueName: "shell")) var shell: Form = .bash
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    var environment = ProgramEnvironment(References(session, key.source))
    try environment.add(
      variables.selection(of: group.group), hint: "--prefix picks the items, and --only the variables")
    // VariableName makes ASCII of every name.
    let variables = environment.variables.map { (name: String(decoding: $0.key, as: UTF8.self), value: $0.value) }
      .sorted { $0.name < $1.name }
    switch shell {
    case .bash: for (name, value) in variables { try writeForShell(name, value, to: session.output) }
    case .json: try writeJSON(variables, to: session.output)
    case .dotenv: try writeEnvironmentFile(variables, session)
    }
  }

  private func writeForShell(_ name: String, _ value: [UInt8], to output: Output) throws(Failure) {
    try output.write("export \(name)='")
    for byte in value {
      // In single quotes a shell takes every byte as it is, and only the quote ends them.
      if byte == UInt8(ascii: "'") { try output.write(#"'\''"#) } else { try output.write(byte) }
    }
    try output.write("'\n")
  }

  private func writeJSON(_ variables: [(name: String, value: [UInt8])], to output: Output) throws(Failure) {
    let texts = try variables.map { (name, value) throws(Failure) in (name, try text(value, of: name)) }
    var json = JSONWriter(output)
    try json.object { (json) throws(Failure) in
      for (name, value) in texts { try json.member(name, value) }
    }
  }

  private func writeEnvironmentFile(_ variables: [(name: String, value: [UInt8])], _ session: Session) throws(Failure) {
    let lines = try variables.map { (name, value) throws(Failure) in
      if try text(value, of: name).contains("${") {
        session.warn("the value of \(name) holds '${', which some readers of env files replace")
      }
      do throws(EnvironmentFile.Line.Fault) { return try EnvironmentFile.Line(name, value.span) } catch {
        throw Failure(.conflict, "\(name) does not fit into an env file: \(error.words)", hint: "--shell json")
      }
    }
    for (line, variable) in zip(lines, variables) {
      try line.write(variable.value.span) { (byte) throws(Failure) in try session.output.write(byte) }
    }
  }

  private func text(_ value: [UInt8], of name: String) throws(Failure) -> String {
    guard let text = String(validating: value, as: UTF8.self) else {
      throw Failure(.usage, "\(name): the value is not UTF-8 text, as \(shell.rawValue) needs it")
    }
    return text
  }
}
