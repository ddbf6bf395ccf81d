internal import Exchange
internal import Vault

/// `vault run -- COMMAND ARG...`
struct RunProgram: Command {
  static let about = About(
    "Run a program with secrets in its environment.",
    usage: """
      vault run [--env-file FILE]... [--set NAME=REFERENCE]...
                [-g GROUP] [--prefix P] [--only NAMES] [--env-prefix TEXT] [--trust-names]
                [--as-file NAME=REFERENCE]... [--netrc HOST=REFERENCE]... [--mask] -- COMMAND ARG...
      """,
    more: """
      References (vault://GROUP/NAME) in the environment, in env files and after --set are replaced by values before \
      the program starts; if one cannot be read, it does not start. -g sets a variable for each item of a group: \
      db/password becomes DB_PASSWORD, and token becomes TOKEN. A name that is already a valid variable with a \
      capital or _ in it, such as http_port, stays the same. With only --prefix or a similar option, the group is \
      VAULT_GROUP or the default. Later sources take precedence: environment, env files, group, --set, --as-file, \
      --netrc. The program does not get the variables that tell vault where the store is and what opens it, and its \
      core dumps stay off. Without -g and similar options, run uses the .vault of the folder or of one above it, once \
      it was allowed (vault allow). The exit status is the program's; 127 and 126 mean that it was not found or is not \
      executable.

      Logins that vault stored for git, docker, cargo and Python are left out of a whole group; --prefix and --only \
      take them, too.

      A group that anyone besides its owner and you can write is refused, because every writer of a group chooses \
      names in it: list the variables with --only, give them a prefix with --env-prefix, or accept all names with \
      --trust-names. An item whose variable can hijack a program (PATH, LD_PRELOAD) is refused in any group, unless \
      it is listed or trusted.

      --as-file sets a variable to the path of a file in memory with the value. The program and its children that \
      inherit its descriptors can read the file any number of times but not change it. After a change of user (sudo) \
      it cannot be opened, and neither can it by programs that close what they inherit, such as ssh and what Python's \
      subprocess starts. Give ssh a key with ssh-add.

      --netrc makes such a file of user names and passwords, as curl --netrc-file reads it, and sets NETRC to its \
      path. Each reference names an item with the fields username and password, as imports and git's helper store \
      them.

      --mask keeps vault running and replaces the values with \(Masker.placeholder) in the program's stdout and \
      stderr. This includes single lines of a value (of 8 bytes and more), the texts in JSON values except the \
      fields name, username and url (without '@'), and the values in base64, percent-encoding and JSON. Values of \
      fewer than 4 bytes are not masked, and neither is output elsewhere, such as /dev/tty. On a terminal the \
      program gets a terminal too, but run full-screen programs without --mask. Text that may be the start of a \
      value is held back; after a pause at most 4 bytes of it are shown. If a signal ends the program, vault ends in \
      the same way, and background processes of the program can no longer write.
      """,
    example: """
      vault run --set DB_PASSWORD=vault://team.shared/db/password -- ./server
      vault run --netrc api.example.com=vault:///api/login -- \\
        sh -c 'curl --netrc-file "$NETRC" https://api.example.com/'
      vault run --as-file KEY=vault:///deploy -- sh -c 'ssh-add -t 1h "$KEY"'
      """)

  static let surplus = surplusProgram(of: "run")

  /// The error for a program without `--` before it.
  static func surplusProgram(of command: String) -> Failure? {
    .usage("the program and its arguments come after --", hint: "vault \(command) -- PROGRAM ARG...")
  }

  let files: [String]
  let assignments: [String]
  let group: String?
  let groupVariables: VariableOptions
  let fileAssignments: [String]
  let netrc: [String]
  let mask: Bool
  let command: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    files = arguments.options(
      "--env-file", value: "file", "Set the variables of this file, which may contain references.", completes: .files)
    assignments = arguments.options(
      "--set", value: "name=reference", "Set a variable to a value.", completes: .assignments)
    group = arguments.option(
      "--group", short: "-g", value: "group", "Set a variable for each item of a group.", completes: .groups)
    groupVariables = VariableOptions(&arguments)
    fileAssignments = arguments.options(
      "--as-file", value: "name=reference", "Set a variable to the path of a file that holds the value.",
      completes: .assignments)
    netrc = arguments.options(
      "--netrc", value: "host=reference",
      "Add a host's user name and password to a netrc file, whose path is in NETRC.",
      completes: .assignments)
    mask = arguments.flag("--mask", "Replace the values in the program's output.")
    command = try arguments.wordsBehindDashes("command", "The program and its arguments.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard let program = command.first else { throw Failure.usage("COMMAND is missing", hint: "write it after --") }
    var variables = ProgramEnvironment(References(session, key))
    try variables.takeInherited()
    for file in files { try variables.add(file: file) }
    if group != nil || !groupVariables.isEmpty {
      let hint = "choose items with --prefix; for a single one: --set NAME=vault://GROUP/ITEM"
      try variables.add(groupVariables.selection(of: group), hint: hint)
    } else if let project = try ProjectFile.allowed(in: session) {
      try variables.add(project)
    }
    for assignment in assignments { try variables.add(assignment: assignment) }
    for assignment in fileAssignments { try variables.add(fileAssignment: assignment) }
    try variables.add(netrc: netrc)
    if mask {
      for (value, place) in variables.secrets where MaskPatterns.isTooShort(value) {
        session.warn("\(place): the value is shorter than \(MaskPatterns.shortestValue) bytes, and not masked")
      }
    }
    if variables.secrets.isEmpty, session.output.isTerminal {
      session.say("the program gets no value: name a group (-g GROUP), a reference (--set), or make a file '.vault'")
    }
    try session.finish()
    if mask {
      let secrets = variables.secrets.map(\.value)
      try MaskedProgram.run(program, command, variables.variables, hiding: secrets, session.streams).endProcess()
    }
    throw ProgramStart.replaceProcess(program, command, variables.variables)
  }
}
