internal import Exchange
internal import Vault

/// `vault env`
struct PrintEnvironment: Command {
  static let about = About(
    "Write a group's items as variables, for a shell, a JSON reader or an env file.",
    usage: """
      vault env [-g GROUP] [--prefix P] [--only NAMES] [--env-prefix TEXT] [--trust-names]
                [--shell bash|fish|json|yaml|dotenv|docker|github]
      """,
    more: """
      Without -g and similar options, env uses the .vault of the folder or of one above it, as vault run does, and \
      otherwise the group default. db/password becomes DB_PASSWORD, and token becomes TOKEN. A name that is already a \
      valid variable with a capital or _ in it, such as http_port or TF_VAR_region, stays the same. Two items with \
      the same variable are an error. A group that anyone besides its owner and you can write is refused, because every writer of a group \
      chooses names in it: list the variables with --only, give them a prefix with --env-prefix, or accept all names \
      with --trust-names. An item whose variable can hijack a program (PATH, LD_PRELOAD) is refused in any group, \
      unless it is listed or trusted.

      bash, the default, is for every POSIX shell: values are in single quotes and never executed, but put the $( ) \
      around vault env in double quotes. fish is for fish: vault env --shell fish | source. docker is for docker's \
      --env-file, which has no quotes: a value with a line break is refused. github is for $GITHUB_ENV. json is one \
      object of strings, and so is yaml. dotenv is for env files; some readers replace ${NAME} even in quotes, so a value that \
      contains one causes a warning. Values with a zero byte are refused, and for json, yaml and dotenv so are values \
      that are not text.

      A program with the values in its environment passes them to every program that it starts. vault run passes \
      them to only one.
      """,
    example: """
      eval "$(vault env --group team.shared --prefix db/)"
      """)

  enum Form: String, CaseIterable { case bash, zsh, sh, fish, json, yaml, dotenv, docker, github }

  let group: String?
  let variables: VariableOptions
  let shell: Form
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    group = arguments.group()
    variables = VariableOptions(&arguments)
    shell = try arguments.choice(
      "--shell", value: "shell",
      "The reader of the output: bash (or zsh or sh), fish, json, yaml, dotenv, docker or github.",
      else: .bash)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    var environment = ProgramEnvironment(References(session, key))
    if group == nil, variables.isEmpty, let project = try ProjectFile.allowed(in: session) {
      try environment.add(project)
    } else {
      try environment.add(
        variables.selection(of: group), hint: "choose items with --prefix, or variables with --only")
    }
    // VariableName converts every name to ASCII.
    let variables = environment.variables.map { (name: String(decoding: $0.key, as: UTF8.self), value: $0.value) }
      .sorted { $0.name < $1.name }
    if shell != .json && shell != .yaml {
      for (_, value) in variables { try session.output.requireTextIfTerminal(value, hint: "pipe it") }
    }
    switch shell {
    case .bash, .zsh, .sh: for (name, value) in variables { try writeForShell(name, value, to: session.output) }
    case .json: try writeJSON(variables, to: session.output)
    case .yaml:
      let lines = try variables.map { (name, value) throws(Failure) in YAMLLine.of(name, try text(value, of: name)) }
      for line in lines { try session.output.write(line) }
    case .fish: for (name, value) in variables { try writeForFish(name, value, to: session.output) }
    case .docker: try writeForDocker(variables, to: session.output)
    case .github: try writeForGitHub(variables, to: session.output)
    case .dotenv: try writeEnvironmentFile(variables, session)
    }
  }

  private func writeForShell(_ name: String, _ value: [UInt8], to output: Output) throws(Failure) {
    try output.write("export \(name)='")
    for byte in value {
      // Within single quotes a shell interprets no byte except the closing quote.
      if byte == UInt8(ascii: "'") { try output.write(#"'\''"#) } else { try output.write(byte) }
    }
    try output.write("'\n")
  }

  private func writeForFish(_ name: String, _ value: [UInt8], to output: Output) throws(Failure) {
    try output.write("set -gx \(name) '")
    for byte in value {
      if byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\\") { try output.write(UInt8(ascii: "\\")) }
      try output.write(byte)
    }
    try output.write("'\n")
  }

  /// Docker takes everything after the first equals sign literally.
  private func writeForDocker(_ variables: [(name: String, value: [UInt8])], to output: Output) throws(Failure) {
    let lines = try variables.map { (name, value) throws(Failure) in
      let text = try text(value, of: name)
      guard !value.contains(0x0A), value.last != 0x0D else {
        throw Failure(
          .conflict, "\(name): a docker env file cannot contain a line break",
          hint: "vault run -- docker run -e \(name)")
      }
      return "\(name)=\(text)\n"
    }
    for line in lines { try output.write(line) }
  }

  /// Writes each value between two lines with a random delimiter, which no value can contain.
  private func writeForGitHub(_ variables: [(name: String, value: [UInt8])], to output: Output) throws(Failure) {
    let lines = try variables.map { (name, value) throws(Failure) in
      let text = try text(value, of: name)
      guard value.last != 0x0D else {
        throw Failure(.conflict, "\(name): the value ends with a carriage return, which $GITHUB_ENV would lose")
      }
      let words = (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }
      let end = "vault-\(words.joined())"
      return "\(name)<<\(end)\n\(text)\n\(end)\n"
    }
    for line in lines { try output.write(line) }
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
      _ = try text(value, of: name)
      do throws(EnvironmentFile.Line.Fault) {
        let line = try EnvironmentFile.Line(name, value.span)
        for warning in line.warnings(of: name) { session.warn(warning) }
        return line
      } catch {
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
