internal import Exchange
internal import Vault

/// `vault run -- COMMAND ARG...`
struct RunProgram: Command {
  static let about = About(
    "Run a program with secrets in its environment.",
    usage: """
      vault run [--env-file FILE]... [--set NAME=REFERENCE]...
                [-g GROUP] [--prefix P] [--only NAMES] [--env-prefix TEXT] [--trust-names]
                [--as-file NAME=REFERENCE]... [--mask] -- COMMAND ARG...
      """,
    more: """
      References (vault://GROUP/NAME) in the environment, in env files and behind --set become values before the program \
      starts; if one cannot be read, nothing starts. -g gives each item of a group its own variable: db/password becomes \
      DB_PASSWORD, and a name that is a variable's already, such as http_proxy, stays as it is; with --prefix and its like \
      alone the group is VAULT_GROUP, or else the default. What is named later wins: environment, env files, group, --set, \
      --as-file. The variables in which vault reads where the store is and what opens it do not reach the program, and its \
      core dumps stay off. The exit status is the program's; 127 and 126 say that it was not found or not executable.

      A group that somebody besides its owner and you may write is \
      refused, because every writer of a group chooses names in it: --only lists the variables, --env-prefix puts \
      something of yours in front, and --trust-names takes whatever is there. An item from whose variable programs take \
      orders (PATH, LD_PRELOAD) is refused in any group, unless it is listed or trusted.

      --as-file gives the path of a file that lies in memory and holds the value. It can be read as often as one likes, \
      by the program and by what inherits its descriptors, and never changed. After a change of user (sudo) it cannot be \
      opened.

      --mask stays beside the program and writes \(Masker.placeholder) in place of the values in its stdout and \
      stderr: also of their single lines (of 8 bytes and more), of the texts in JSON values but for the members name, \
      username and url (without '@'), and in base64, percent-encoding and JSON. Values of fewer than 4 bytes are not \
      masked, and neither is what the program writes anywhere else, /dev/tty included. On a terminal the program sees \
      one, but full-screen programs are for running without --mask. What may be the beginning of a value is held back; \
      after a pause at most 4 bytes of it are shown. A program that a signal ends, ends this one, too; what it left \
      running in the background can write nothing then.
      """,
    example: """
      vault run --set DB_PASSWORD=vault://team.shared/db/password -- ./server
      vault run --mask --as-file KEY=vault:///deploy -- sh -c 'ssh -i $KEY host'
      """)

  let files: [String]
  let assignments: [String]
  let group: String?
  let groupVariables: VariableOptions
  let fileAssignments: [String]
  let mask: Bool
  let command: [String]
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    files = arguments.options(
      "--env-file", value: "file", "Take the variables of this file, with references in it.", completes: .files)
    assignments = arguments.options("--set", value: "name=reference", "Set a variable to a value.")
    group = arguments.option(
      "--group", short: "-g", value: "group", "Set a variable for each item of a group.", completes: .groups)
    groupVariables = VariableOptions(&arguments)
    fileAssignments = arguments.options(
      "--as-file", value: "name=reference", "Set a variable to the path of a file that holds the value.")
    mask = arguments.flag("--mask", "Replace the values in what the program writes.")
    command = arguments.wordsBehindDashes("command", "The program and its arguments.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard let program = command.first else { throw Failure.usage("COMMAND is missing", hint: "it stands behind --") }
    var variables = ProgramEnvironment(References(session, key))
    try variables.takeInherited()
    for file in files { try variables.add(file: file) }
    if group != nil || !groupVariables.isEmpty {
      let hint = "--prefix picks the items, and one of them alone: --set NAME=vault://GROUP/ITEM"
      try variables.add(groupVariables.selection(of: group), hint: hint)
    }
    for assignment in assignments { try variables.add(assignment: assignment) }
    for assignment in fileAssignments { try variables.add(fileAssignment: assignment) }
    if mask {
      for (value, place) in variables.secrets where MaskPatterns.isTooShort(value) {
        session.warn("\(place): the value is shorter than \(MaskPatterns.shortestValue) bytes, and not masked")
      }
    }
    try session.finish()
    if mask {
      let secrets = variables.secrets.map(\.value)
      try MaskedProgram.run(program, command, variables.variables, hiding: secrets, session.streams).endProcess()
    }
    throw ProgramStart.replaceProcess(program, command, variables.variables)
  }
}
