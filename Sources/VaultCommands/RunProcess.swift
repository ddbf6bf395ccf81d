import CVaultSystem
import Glibc
internal import Vault

/// Runs this process's command on its own streams. A crash leaves no trace of its memory.
///
/// The executable's name matters: as `git-credential-vault` it is git's helper.
///
/// - Returns: the exit status.
public func runProcess() -> Int32 {
  csystem_restore_environment()
  hardenProcess()
  guard let arguments = decodedArguments() else {
    let failure = Failure(.usage, "an argument is not UTF-8")
    try? Descriptor.write(ErrorReport(failure).words(Style(descriptor: 2, environment: [:])), to: 2)
    return failure.status.rawValue
  }
  return run(arguments: arguments, environment: environmentVariables())
}

/// `CommandLine.arguments` replaces bytes that are not UTF-8, so two names could become one.
private func decodedArguments() -> [String]? {
  var arguments: [String] = []
  if let program = unsafe csystem_argument(0) {
    arguments = unsafe ProgramName.command(of: String(cString: program))
  }
  for number in 1..<max(1, csystem_argument_count()) {
    guard let argument = unsafe csystem_argument(number), let text = unsafe String(validatingCString: argument)
    else { return nil }
    arguments.append(text)
  }
  return arguments
}

/// Only the environment variables that the command reads, because the rest may be large.
private func environmentVariables() -> [String: String] {
  var variables: [String: String] = [:]
  for name in Session.variables {
    if let value = unsafe getenv(name) { variables[name] = unsafe String(cString: value) }
  }
  return variables
}
