import Testing

@testable import VaultCommands

/// A store for one test, which opens with a key file. Commands on it run in this process.
final class TestStore {
  let folder = TemporaryFolder()
  var environment: [String: String]

  init() throws {
    environment = [
      "VAULT_HOME": folder.file("store"), "VAULT_STATE": folder.file("state"), "HOME": folder.path, "TERM": "xterm",
    ]
    let made = Transcript(["init", "--key-file", keyFile], environment: environment)
    try #require(made.status == 0, "\(made.errors)")
  }

  var keyFile: String { folder.file("key") }

  @discardableResult
  func run(_ arguments: String..., input: String = "") -> Transcript {
    Transcript(arguments, input: Array(input.utf8), environment: environment)
  }

  /// Runs a command whose stdout is a terminal. The typed text answers its questions.
  func run(_ arguments: [String], on terminal: PseudoTerminal, input: String = "") -> (status: Int32, errors: String) {
    let errors = Pipe.nameless()
    let streams = Streams(
      input: Pipe.holding(Array(input.utf8)), output: terminal.descriptor, errors: errors, terminal: terminal.path)
    let status = VaultCommands.run(arguments: arguments, environment: environment, streams: streams)
    return (status, String(decoding: Pipe.contents(of: errors), as: UTF8.self))
  }
}
