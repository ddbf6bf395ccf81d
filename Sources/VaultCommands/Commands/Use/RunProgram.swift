import ArgumentParser
internal import VaultStore

/// `vault run -- COMMAND ARG...`
struct RunProgram: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a program with secrets in its environment; nothing of the store stays behind.",
    usage: """
      vault run [--env-file FILE]... [--set NAME=REFERENCE]...
                [--group GROUP [--prefix P]] -- COMMAND ARG...
      """,
    discussion: """
      References (vault://GROUP/NAME) in the environment, in env files and behind --set become values before the program \
      starts; if one cannot be read, nothing starts. --group gives each item its own variable: db/password becomes \
      DB_PASSWORD. What is named later wins: environment, env files, group, --set. VAULT_* and CREDENTIALS_DIRECTORY do \
      not reach the program, and its core dumps stay off. Its exit status is its own; 127 and 126 say that it was not \
      found or not executable.

      Example:
        vault run --set DB_PASSWORD=vault://team.shared/db/password -- ./server
      """)

  @Option(
    name: .customLong("env-file"),
    help: ArgumentHelp("Take the variables of this file, with references in it.", valueName: "file"))
  var files: [String] = []

  @Option(
    name: .customLong("set"), help: ArgumentHelp("Set a variable to a value.", valueName: "name=reference"))
  var assignments: [String] = []

  @Option(
    name: .customLong("group"), help: ArgumentHelp("Set a variable for each item of a group.", valueName: "group"))
  var group: String?

  @Option(help: ArgumentHelp("Only items that begin with this, which is left off.", valueName: "prefix"))
  var prefix: String?

  @Argument(parsing: .postTerminator, help: ArgumentHelp("The program and its arguments.", valueName: "command"))
  var command: [String] = []

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    guard let program = command.first else { throw Failure.usage("COMMAND is missing", hint: "it stands behind --") }
    guard prefix == nil || group != nil else { throw Failure.usage("--prefix needs --group") }
    var variables = ProgramEnvironment(References(session, key.source))
    try variables.takeInherited()
    for file in files { try variables.add(file: file) }
    if let group { try variables.add(group: group, prefix: prefix ?? "") }
    for assignment in assignments { try variables.add(assignment: assignment) }
    try session.finish()
    throw ProgramStart.replaceProcess(program, command, variables.variables)
  }
}
