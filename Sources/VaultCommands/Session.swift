import Glibc
internal import Vault

/// One run of the command: its streams and environment, and what it has to say on stderr.
final class Session {
  let line: TypedLine
  let environment: [String: String]
  let streams: Streams
  let output: Output
  private var warnings: [String] = []
  private var endActions: [(Session) -> Void] = []
  private let started: ContinuousClock.Instant
  private var showsProgress = false
  /// The group that the command opened last: where a name was looked for.
  var openedGroup: AccessGroup?
  /// What was, or will be, asked for while the store is open.
  var question: Question?

  /// Every environment variable that is looked at.
  static let variables = [
    "VAULT_HOME", "VAULT_STATE", "VAULT_GROUP", "VAULT_KEY_FILE", "VAULT_CREDENTIAL", "CREDENTIALS_DIRECTORY",
    "PASSWORD_STORE_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME", "NO_COLOR", "TERM", "VISUAL",
    "EDITOR", "XDG_RUNTIME_DIR",
  ]

  init(
    arguments: [String], environment: [String: String], streams: Streams, started: ContinuousClock.Instant = .now
  ) throws(Failure) {
    self.started = started
    line = TypedLine(arguments)
    self.environment = environment
    self.streams = streams
    output = try Output(descriptor: streams.output)
  }

  /// Whether errors are told as JSON. Also known when the arguments were not understood.
  private var wantsJSON: Bool { line.arguments.prefix { $0 != "--" }.contains("--json") }

  /// An environment variable; one that is empty counts as not set.
  func variable(_ name: String) -> String? {
    guard let value = environment[name], !value.isEmpty else { return nil }
    return value
  }

  /// Has something done when the command has ended, well or not: the store's notices are told then.
  func atEnd(_ action: @escaping (Session) -> Void) { endActions.append(action) }

  /// Keeps a warning until the command has ended: with `--json`, stderr holds an error's object and nothing else.
  func warn(_ message: String) { warnings.append(message) }

  /// Says something that is neither data nor an error, on stderr.
  func say(_ message: String) { tell(UTF8Text.onOneLine(message) + "\n") }

  /// Shows how far a long command has come: on a terminal only, from its second second on, on one line that the next
  /// call writes over and the end of the command clears.
  func showProgress(_ text: @autoclosure () -> String) {
    guard started.duration(to: .now) > .seconds(1), isatty(streams.errors) == 1 else { return }
    showsProgress = true
    tell("\r\u{1B}[K\(UTF8Text.onOneLine(text()))")
  }

  func endProgress() {
    guard showsProgress else { return }
    showsProgress = false
    tell("\r\u{1B}[K")
  }

  /// How data is written to stdout.
  var outputStyle: Style { Style(descriptor: streams.output, environment: environment) }

  /// Writes out everything.
  func finish() throws(Failure) {
    endProgress()
    try output.flush()
    tellWarnings()
  }

  /// Tells the error.
  ///
  /// - Returns: the exit status.
  func end(with error: any Error) -> Int32 {
    endProgress()
    // The library knows only its own errors; what went wrong at the terminal is the one to tell.
    let error = question?.failure ?? near(error)
    let report = ErrorReport(error)
    if let failure = error as? Failure, failure.isSilent { return report.status }
    // What was written before the error was found is data that was asked for; a failing pipe is not the error to tell.
    try? output.flush()
    if wantsJSON {
      tell(report)
    } else {
      tellWarnings()
      tell(report.words(style))
      if report.status == ExitStatus.usage.rawValue, report.isAboutArguments {
        tell(line.command.usage)
      }
    }
    return report.status
  }

  /// Says in which group an item was not found, and which one may be meant. What was typed is not repeated.
  private func near(_ error: any Error) -> any Error {
    guard case VaultError.notFound(.item) = error, let group = openedGroup else { return error }
    let message = "no such item in '\(group.name)'"
    let hint = VaultError.notFound(.item).hint
    // In a large group a search would take longer than it helps.
    guard let count = try? group.info().itemCount, count <= 10_000, let items = try? group.items() else {
      return Failure(.notFound, message, hint: hint)
    }
    let names = items.map(\.name.description)
    let typed = line.rest.filter { !$0.hasPrefix("-") && !names.contains($0) }
    guard let meant = typed.lazy.compactMap({ Closeness.nearestName(to: $0, among: names) }).first else {
      return Failure(.notFound, message, hint: hint)
    }
    return Failure(.notFound, message, hint: "did you mean '\(UTF8Text.onOneLine(meant))'?")
  }

  private var style: Style { Style(descriptor: streams.errors, environment: environment) }

  private func tellWarnings() {
    for action in endActions { action(self) }
    for warning in warnings { tell(style.yellow("vault: warning:") + " \(UTF8Text.onOneLine(warning))\n") }
    warnings = []
  }

  private func tell(_ text: String) { try? Descriptor.write(text, to: streams.errors) }

  private func tell(_ report: ErrorReport) {
    guard let errors = try? Output(descriptor: streams.errors) else { return }
    try? report.write(to: errors)
  }
}
