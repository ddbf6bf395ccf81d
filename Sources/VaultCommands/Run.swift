import ArgumentParser
internal import Vault

/// Runs one `vault` command.
///
/// - Parameters:
///   - arguments: the command line without the program's name.
///   - environment: what VAULT_HOME and its like are read from.
///   - streams: what is read and written. Nothing is left in a buffer when this returns.
/// - Returns: the exit status, a number of `ExitStatus`.
public func run(arguments: [String], environment: [String: String], streams: Streams = Streams()) -> Int32 {
  let arguments = Aliases.resolved(LeadingOptions.moved(arguments))
  let session: Session
  do throws(Failure) {
    session = try Session(arguments: arguments, environment: environment, streams: streams)
  } catch {
    try? Descriptor.write(ErrorReport(error).words(Style(descriptor: -1, environment: [:])), to: streams.errors)
    return error.status.rawValue
  }
  do {
    try perform(arguments, session)
    try session.finish()
    return ExitStatus.success.rawValue
  } catch {
    return session.end(with: error)
  }
}

private func perform(_ arguments: [String], _ session: Session) throws {
  if arguments == ["--version"] { return try Versions.write(to: session.output) }
  if RootHelp.isAsked(by: arguments) { return try session.output.write(RootHelp.text) }
  if let form = PlainForm(arguments) { return try form.run(in: session) }
  try parse(arguments, session)?.run(in: session)
}

/// - Returns: nil if the arguments asked for help or the like, which has been written.
func parse(_ arguments: [String], _ session: Session) throws -> (any SessionCommand)? {
  // The parser would find `-h` in `-dash`, and print its help in place of a value.
  if arguments.prefix(while: { $0 != "--" }).contains(where: {
    $0.hasPrefix("-") && !$0.hasPrefix("--") && $0.count > 2
  }) {
    throw ArgumentErrors.beginsWithHyphen(arguments)
  }
  if arguments.first == "help" { try ArgumentErrors.requireCommand(Array(arguments.dropFirst())) }
  do {
    var command = try CommandLineTree.parseAsRoot(arguments)
    if let command = command as? any SessionCommand {
      if let option = RepeatedOption.first(in: arguments) { throw ArgumentErrors.repeated(option, arguments) }
      return command
    }
    if command is any CommandFamily { throw ArgumentErrors.missingCommand(arguments) }
    // The parser's own help command: it throws the help.
    try command.run()
  } catch let failure as Failure {
    throw failure
  } catch {
    guard CommandLineTree.exitCode(for: error) == .success else {
      throw ArgumentErrors.failure(for: error, arguments: arguments)
    }
    // The parser breaks lines between words; a terminal that is narrower would do it anywhere.
    let output = session.output
    let columns = output.isTerminal ? min(max(Table.width(of: output.descriptor), 60), 100) : 100
    try output.write(CommandLineTree.fullMessage(for: error, columns: columns) + "\n")
  }
  return nil
}

/// A command that does something.
protocol SessionCommand: ParsableCommand {
  /// Does it; what it prints on stdout need not be flushed.
  ///
  /// - Throws: a `VaultError`, or a `Failure` of the command line itself.
  func run(in session: Session) throws
}

/// A command that only has commands below it.
protocol CommandFamily: ParsableCommand {}
