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
  // A terminal narrower than a line would break it anywhere.
  let columns = output.isTerminal ? min(max(Table.width(of: output.descriptor), 60), 100) : 100
  try output.write(Help.page(of: line.command, columns: columns))
}
