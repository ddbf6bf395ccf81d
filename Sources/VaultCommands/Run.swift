import CVaultProcess
import Glibc
internal import Vault

/// Runs one `vault` command.
///
/// - Parameters:
///   - arguments: the command line without the program's name.
///   - environment: the environment that contains VAULT_HOME and other variables.
///   - streams: the input and output. All output has been written when this returns.
/// - Returns: the exit status, as in `ExitStatus`.
public func run(arguments: [String], environment: [String: String], streams: Streams = Streams()) -> Int32 {
  let session: Session
  do throws(Failure) {
    session = try Session(arguments: arguments, environment: environment, streams: streams)
  } catch {
    try? Descriptor.write(ErrorReport(error).words(Style(descriptor: -1, environment: [:])), to: streams.errors)
    return error.status.rawValue
  }
  do {
    try perform(session.line, session)
    try session.finish()
    return ExitStatus.success.rawValue
  } catch {
    return session.end(with: error)
  }
}

private func perform(_ line: TypedLine, _ session: Session) throws {
  if line.arguments == ["--version"] { return try Versions.write(to: session.output) }
  let command: (any Command)?
  do throws(ArgumentFault) { command = try line.parsed() } catch { throw error.failure(at: line.command) }
  if let command { return try command.run(in: session) }
  let output = session.output
  let columns = Table.textWidth(at: output.descriptor, or: session.streams.terminal)
  try output.write(Help.page(of: line.command, columns: columns))
}

/// The typed words, parsed with the table.
struct TypedLine {
  /// The typed words, without the program's name.
  let arguments: [String]
  let command: NamedCommand
  /// Whether `help` precedes the command.
  let asksForHelp: Bool
  /// The number of words before the command that open the store.
  private let leadingCount: Int

  init(_ arguments: [String]) {
    self.arguments = arguments
    leadingCount = TypedLine.leadingCount(arguments)
    asksForHelp = arguments.dropFirst(leadingCount).first == "help"
    command = NamedCommand(arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0)))
  }

  /// The words after the command.
  var rest: ArraySlice<String> { arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0) + command.wordCount) }

  /// The words after the command without its options and their values.
  var operands: [String] {
    let parameters = command.type?.parameters ?? []
    var operands: [String] = []
    var option: Parameter?
    for word in rest.prefix(while: { $0 != "--" }) {
      if Arguments.isOption(word) {
        option = parameters.first { $0.names.contains(word) }
      } else {
        if option?.takes(word) != true { operands.append(word) }
        option = nil
      }
    }
    return operands + rest.drop { $0 != "--" }.dropFirst()
  }

  /// The words for the command, including options before it that open the store.
  var words: [String] { leadingCount == 0 ? Array(rest) : Array(arguments.prefix(leadingCount) + rest) }

  /// `--help` counts in any position except after `--`.
  var hasHelpOption: Bool { rest.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" } }

  /// - Returns: nil if help is asked for.
  /// - Throws: an `ArgumentFault`.
  func parsed() throws(ArgumentFault) -> (any Command)? {
    if asksForHelp {
      guard rest.isEmpty || hasHelpOption else { throw unknownCommand }
      return nil
    }
    if hasHelpOption { return nil }
    guard let type = command.type else { throw unknownCommand }
    return try type.parsed(words)
  }

  private var unknownCommand: ArgumentFault {
    guard let word = rest.first else { return .missingCommand }
    if command.wordCount == 0, ["-v", "-V", "version"].contains(word) { return .unknownVersion }
    let names = command.subcommands.map(\.name)
    guard Arguments.isOption(word) else { return .unknownCommand(meant: Closeness.nearest(to: word, among: names)) }
    if let meant = Closeness.nearest(to: word, among: ["--help", "--version"]) { return .unknownOption(meant: meant) }
    return rest.contains(where: names.contains) ? .commandAfterOption : .missingCommand
  }

  private static func leadingCount(_ words: [String]) -> Int {
    guard let first = words.first, Arguments.isOption(first) else { return 0 }
    var arguments = Arguments()
    _ = try? KeySource(&arguments)
    let names = arguments.parameters.compactMap(\.long)
    var count = 0
    while count < words.count {
      let word = words[count]
      if names.contains(word), count + 1 < words.count {
        count += 2
      } else if names.contains(where: { word.hasPrefix($0 + "=") }) {
        count += 1
      } else {
        break
      }
    }
    return count
  }
}

/// Runs this process's command on its own streams. A crash leaves no trace of its memory.
///
/// The executable's name matters: as `git-credential-vault` it is git's helper.
///
/// - Returns: the exit status.
public func runProcess() -> Int32 {
  hardenProcess()
  ContainerLibrary.serveOneCommand()
  do { return run(arguments: try decodedArguments(), environment: try environmentVariables()) } catch {
    try? Descriptor.write(ErrorReport(error).words(Style(descriptor: 2, environment: [:])), to: 2)
    return error.status.rawValue
  }
}

/// `CommandLine.arguments` replaces bytes that are not UTF-8, so two names could become one.
private func decodedArguments() throws(Failure) -> [String] {
  var arguments: [String] = []
  var count: CInt = 0
  let given = unsafe cprocess_arguments(&count)
  for number in 0..<Int(count) {
    guard let argument = unsafe given?[number] else { continue }
    if number == 0 {
      arguments = unsafe ProgramName.command(of: String(cString: argument))
    } else if let text = unsafe String(validatingCString: argument) {
      arguments.append(text)
    } else {
      throw Failure(.usage, "an argument is not UTF-8")
    }
  }
  return arguments
}

/// Only the environment variables that the command reads, because the rest may be large.
private func environmentVariables() throws(Failure) -> [String: String] {
  var variables: [String: String] = [:]
  for name in Session.variables {
    guard let value = unsafe getenv(name) else { continue }
    if let text = unsafe String(validatingCString: value) {
      variables[name] = text
    } else if ["NO_COLOR", "TERM", "VISUAL", "EDITOR", "PATH", "SSH_ASKPASS_PROMPT"].contains(name) {
      variables[name] = unsafe String(cString: value)
    } else if name != "HOME" {
      // With its bytes replaced, it would name another file or folder.
      throw Failure(.usage, "\(name) is not UTF-8")
    }
  }
  return variables
}

/// Maps the executable's name to a command. Git, docker and cargo find their helpers by file name, and ssh and sudo run
/// a program without further arguments.
enum ProgramName {
  /// The words of the command that a program with this name runs. Empty for any other name.
  ///
  /// - Parameter path: the process's first argument, which is a name or a path that ends in it.
  static func command(of path: String) -> [String] {
    // This compares bytes and uses no tables: every process runs it, and initializing types would cost more than the
    // comparison.
    let path = path.utf8
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] } ?? path[...]
    if name.count > 15, name.starts(with: "git-credential-".utf8) { return ["credential", "git"] }
    if name.count > 18, name.starts(with: "docker-credential-".utf8) { return ["credential", "docker"] }
    if name.count > 8, name.suffix(8).elementsEqual("-askpass".utf8) { return ["askpass", "--"] }
    if name.count > 17, name.starts(with: "cargo-credential-".utf8) { return ["credential", "cargo"] }
    return []
  }
}

/// The descriptors that a run of the command reads and writes. It uses no other global state of the process, so tests
/// can run commands in-process.
public struct Streams: Sendable {
  public var input: Int32
  public var output: Int32
  public var errors: Int32

  /// The path of the terminal for prompts.
  public var terminal: String

  public init(input: Int32 = 0, output: Int32 = 1, errors: Int32 = 2, terminal: String = "/dev/tty") {
    self.input = input
    self.output = output
    self.errors = errors
    self.terminal = terminal
  }
}

/// The output of `vault --version`: our version, the format's, and those of the libraries in a static build.
enum Versions {
  static let vault = BuildVersions.vault

  static func write(to output: Output) throws(Failure) {
    try output.write(
      """
      vault \(vault)
      format \(FormatVersion.known.read)
      libsodium \(BuildVersions.sodium)
      SQLite \(ContainerLibrary.version)

      """)
  }
}
