import Glibc
internal import Ground
internal import Vault

/// One run of the command: its streams, its environment, and its messages on stderr.
final class Session {
  let line: TypedLine
  let environment: [String: String]
  let streams: Streams
  let output: Output
  private var warnings: [String] = []
  private var endActions: [(Session) -> Void] = []
  private let started: Duration
  private var showsProgress = false
  /// The group that the command opened last, in which it looked for a name.
  var openedGroup: AccessGroup?
  /// The name of the group that the command wanted last, even if it did not open.
  private(set) var soughtGroup: String?
  /// What the hint of an error can name.
  var circumstances = Circumstances()
  /// The prompt that the open store may still need.
  var question: Question?
  private var openTerminal: Terminal?

  /// Every environment variable that the command reads.
  static let variables = [
    "VAULT_HOME", "VAULT_STATE", "VAULT_GROUP", "VAULT_KEY_FILE", "VAULT_CREDENTIAL", "CREDENTIALS_DIRECTORY",
    "VAULT_SOCKET", "PASSWORD_STORE_DIR", "SOPS_AGE_KEY_FILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
    "HOME", "NO_COLOR", "TERM", "VISUAL", "EDITOR", "PATH", "XDG_RUNTIME_DIR", "SSH_ASKPASS_PROMPT", "SUDO_USER",
  ]

  init(
    arguments: [String], environment: [String: String], streams: Streams,
    started: Duration = SystemClock.monotonic()
  ) throws(Failure) {
    self.started = started
    line = TypedLine(arguments)
    self.environment = environment
    self.streams = streams
    output = try Output(descriptor: streams.output)
    output.willWrite = { [unowned self] in self.endProgress() }
  }

  /// Whether errors are reported as JSON. This is known even if the arguments were not understood.
  private var wantsJSON: Bool { line.arguments.prefix { $0 != "--" }.contains("--json") }

  /// An environment variable. An empty one counts as unset.
  func variable(_ name: String) -> String? {
    guard let value = environment[name], !value.isEmpty else { return nil }
    return value
  }

  /// The terminal for prompts; nil if there is none.
  var terminal: Terminal? {
    endProgress()
    openTerminal = openTerminal ?? Terminal(path: streams.terminal)
    return openTerminal
  }

  /// Runs something when the command has ended, successfully or not. The store's notices are printed then.
  func atEnd(_ action: @escaping (Session) -> Void) { endActions.append(action) }

  /// Keeps a warning until the command has ended, because with `--json` stderr contains only the object of an error.
  func warn(_ message: String) { warnings.append(message) }

  /// Prints a message that is neither data nor an error on stderr.
  func say(_ message: String) {
    endProgress()
    tell(UTF8Text.onOneLine(message) + "\n")
  }

  /// Shows the progress of a long command, only on a terminal and from its second second on. The next call overwrites
  /// the line. Messages, output and questions clear it.
  func showProgress(_ text: @autoclosure () -> String) {
    guard SystemClock.monotonic() - started > .seconds(1), isatty(streams.errors) == 1 else { return }
    showsProgress = true
    tell("\r\u{1B}[K\(UTF8Text.onOneLine(text()))")
  }

  private func endProgress() {
    guard showsProgress else { return }
    showsProgress = false
    tell("\r\u{1B}[K")
  }

  /// The style of data on stdout.
  var outputStyle: Style { Style(descriptor: streams.output, environment: environment) }

  /// Writes what a command found, and then throws `problem`, if there is one, which decides the exit status even if the
  /// reader of the output has gone. It is asked for after the writing, which may have found it.
  func report(_ problem: @autoclosure () -> (any Error)?, _ write: () throws -> Void) throws {
    var end: (any Error)?
    do { try write() } catch let failure as Failure where failure.isSilent { end = failure }
    if let decisive = problem() ?? end { throw decisive }
  }

  /// Writes out everything.
  func finish() throws(Failure) {
    endProgress()
    dropTypedRest()
    try output.flush()
    tellWarnings()
  }

  /// Reports the error.
  ///
  /// - Returns: the exit status.
  func end(with error: any Error) -> Int32 {
    endProgress()
    dropTypedRest()
    // The library can throw only its own errors. An error at the terminal is the one to report.
    let error = question?.failure ?? near(withoutNamedPath(error))
    if case VaultError.locked = error { circumstances.lacksPassphrase = !hasPassphrase }
    if case VaultError.denied = error { circumstances.closedUnixGroup = closedUnixGroup }
    circumstances.isSudo = geteuid() == 0 && variable("VAULT_HOME") == nil && variable("SUDO_USER") ?? "root" != "root"
    if let home = try? StoreLocation(environment: environment).home { circumstances.store = UTF8Text.onOneLine(home) }
    let report = ErrorReport(error, in: circumstances)
    if let failure = error as? Failure, failure.isSilent { return report.status }
    // Data written before the error is still wanted output. A failing pipe must not hide the error.
    try? output.flush()
    if wantsJSON {
      tell(report)
    } else {
      tellWarnings()
      tell(report.words(style, columns: columns))
      if report.status == ExitStatus.usage.rawValue, report.isAboutArguments {
        tell(line.command.usage(columns: Table.textWidth(at: streams.errors, or: streams.terminal)))
      }
    }
    return report.status
  }

  /// Drops the rest of a text that was pasted at the prompt for a secret, because a shell would run it.
  private func dropTypedRest() {
    if openTerminal?.hasRest == true || question?.hasRest == true { terminal?.dropInput() }
  }

  private var style: Style { Style(descriptor: streams.errors, environment: environment) }

  /// The width of the terminal that shows errors and warnings; nil if it is none.
  private var columns: Int? {
    isatty(streams.errors) == 1 ? Table.textWidth(at: streams.errors, or: streams.terminal) : nil
  }

  private func tellWarnings() {
    for action in endActions { action(self) }
    for warning in warnings {
      let title = "vault: warning:"
      tell(style.yellow(title) + Help.wrapped(UTF8Text.onOneLine(warning), after: title, columns))
    }
    warnings = []
  }

  private func tell(_ text: String) { try? Descriptor.write(text, to: streams.errors) }

  private func tell(_ report: ErrorReport) {
    guard let errors = try? Output(descriptor: streams.errors) else { return }
    try? report.write(to: errors)
  }
}

/// Opens the store and the group of a command.
extension Session {
  /// - Throws: `noStore`, `locked`, `wrongKey` and other errors of opening a store; `usage` if two sources are named.
  func openStore(_ key: KeySource) throws -> SecretStore {
    let store = try opening(with: key) { (location) in
      try SecretStore.open(at: location, unlocking: unlocking(key, asking: true))
    }
    circumstances.isApplication = store.application != nil
    question?.storeIsOpen()
    atEnd { session in
      for notice in store.takeNotices() { session.warn(notice.message) }
    }
    return store
  }

  /// - Parameter name: the name on the command line; nil means VAULT_GROUP or the store's default.
  func openGroup(_ name: String?, _ key: KeySource) throws -> AccessGroup {
    let store = try openStore(key)
    circumstances.group = name
    let group = try self.group(name, of: store)
    openedGroup = group
    return group
  }

  /// - Parameter name: as for `openGroup`.
  func group(_ name: String?, of store: SecretStore) throws(VaultError) -> AccessGroup {
    let name = groupName(name, of: store)
    soughtGroup = name
    return try store.group(name)
  }

  /// - Parameter name: as for `openGroup`.
  func groupName(_ name: String?, of store: SecretStore) -> String {
    name ?? variable("VAULT_GROUP") ?? store.defaultGroupName
  }

  /// The status of the store, found without a prompt, and that of its copies of published groups.
  func status(_ key: KeySource) throws -> (StoreStatus, [String: CopyStatus]) {
    try opening(with: key) { (location) in
      do {
        let store = try SecretStore.open(at: location, unlocking: unlocking(key, asking: false))
        let status = try store.status()
        warnOfSealedService(store)
        return (status, store.copyStatus(of: status.groups.filter(\.isVerified).map(\.name)))
      } catch VaultError.locked(let reason) {
        return (try SecretStore.lockedStatus(location, .locked(reason)), [:])
      }
    }
  }

  /// Runs `body`, which opens the store with `key`.
  ///
  /// - Throws: what `body` throws; `locked` if no source was named and the identity belongs to another user, because
  ///   then a service lacks its credential.
  private func opening<Result>(with key: KeySource, _ body: (StoreLocation) throws -> Result) throws -> Result {
    let location = try StoreLocation(environment: environment)
    do { return try body(location) } catch let error as VaultError {
      guard case .denied(.file(_, .denied)) = error, try !namesSource(key), !owns(location.home) else {
        throw withoutNamedPath(error)
      }
      var place = "nor is CREDENTIALS_DIRECTORY"
      if let folder = variable("CREDENTIALS_DIRECTORY") {
        let names = (try? Folder(folder, .visible(), followingLink: true).names(limit: 10)) ?? []
        let found = names.isEmpty ? "" : " (it has: \(UTF8Text.onOneLine(names.joined(separator: ", "))))"
        place = "and $CREDENTIALS_DIRECTORY has no file 'vault'\(found)"
      }
      throw Failure(
        .locked, "locked: another user owns this store, VAULT_CREDENTIAL is not set, \(place)",
        hint:
          "name an application's credential: VAULT_CREDENTIAL, --credential FILE, or in its unit LoadCredential=vault:FILE; the owner uses their own account"
      )
    }
  }

  /// Whether something is named that opens the store.
  private func namesSource(_ key: KeySource) throws -> Bool {
    if try key.named() != nil { return true }
    if let folder = variable("CREDENTIALS_DIRECTORY"), unsafe access(folder + "/vault", F_OK) == 0 { return true }
    return ["VAULT_CREDENTIAL", "VAULT_KEY_FILE", "VAULT_SOCKET"].contains { variable($0) != nil }
  }

  func owns(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_uid == geteuid()
  }

  /// The message of an error for a program that shows one line, so that it includes how to open a locked store.
  func line(of error: any Error) -> String {
    let message = UTF8Text.onOneLine(ErrorReport(error).message)
    if case VaultError.locked = error, hasPassphrase { return message + "; first: vault unlock" }
    return message
  }

  /// Lets the kernel keep the store's key for a time.
  func unlock(_ key: KeySource, for duration: Duration) throws -> Timestamp {
    let location = try StoreLocation(environment: environment)
    return try SecretStore.unlock(at: location, unlocking: unlocking(key, asking: true), for: duration)
  }

  /// - Parameter asking: whether to prompt for the passphrase. Even an unlocked store may prompt later, for the owner's
  ///   operations.
  private func unlocking(_ key: KeySource, asking: Bool) throws -> Unlocking {
    switch try key.named() {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?: return .passphrase(try KeySource.passphrase(descriptor: descriptor))
    case .recoveryCode(let descriptor)?:
      return .recoveryCode(
        asking ? try recoveryCode(descriptor: descriptor) : try KeySource.recoveryCode(descriptor: descriptor))
    case .credential(let path)?: return .credential(path, passphrase: credentialPrompt(key, asking, shown(path)))
    case .credentialBytes(let descriptor)?:
      let bytes = try KeySource.credential(descriptor: descriptor)
      return .credentialBytes(bytes, passphrase: credentialPrompt(key, asking, "the credential"))
    case nil:
      guard asking else {
        let subject = variable("VAULT_CREDENTIAL") == nil ? "the store opens with" : "the credential needs"
        return .automatic(prompt: { () throws(VaultError) in
          throw .locked(.nobodyToAsk("\(subject) a passphrase, and this command does not ask for one"))
        })
      }
      let question = Question(on: streams.terminal, passphrasePrompt)
      self.question = question
      return .automatic(prompt: { () throws(VaultError) in try question.ask() })
    }
  }

  /// Asks for the passphrase of a credential, if it is a sealed one.
  func credentialPrompt(
    _ key: KeySource, _ asking: Bool, _ shown: String
  ) -> (@Sendable () throws(VaultError) -> Secret)? {
    guard asking || key.credentialPassphrase != nil else { return nil }
    let question = Question(
      on: streams.terminal, or: key.credentialPassphrase,
      else: "there is no terminal to ask for the credential's passphrase"
    ) { _ in "passphrase of \(shown): " }
    self.question = question
    return { () throws(VaultError) in try question.ask() }
  }

  /// Which store's passphrase is asked for, and why. The prompt may appear in the middle of another program.
  private var passphrasePrompt: @Sendable (_ isOpen: Bool) -> String {
    let purpose =
      switch line.command.path {
      case "vault credential git": "git"
      case "vault credential docker": "docker"
      case "vault credential cargo": "cargo"
      case let path: "'\(path)'"
      }
    if variable("VAULT_CREDENTIAL") != nil { return { _ in "passphrase of the credential, for \(purpose): " } }
    let wanted = line.command.path == "vault passphrase change" ? "present passphrase" : "passphrase"
    return { [environment] isOpen in
      let home = (try? StoreLocation(environment: environment))?.home
      let store = home.map { Session.shown($0, home: environment["HOME"]) } ?? "the store"
      return isOpen
        ? "the store is unlocked only for items, and \(purpose) needs its owner\n\(wanted) of \(store): "
        : "\(wanted) of \(store), for \(purpose): "
    }
  }

  /// A path for people, with `~` for the home folder.
  func shown(_ path: String) -> String { Session.shown(path, home: variable("HOME")) }

  private static func shown(_ path: String, home: String?) -> String {
    let isBelow = home.map { $0.count > 1 && path.hasPrefix($0 + "/") } ?? false
    return UTF8Text.onOneLine(isBelow ? "~" + path.dropFirst(home?.count ?? 0) : path)
  }

  /// Whether a passphrase would open the store.
  var hasPassphrase: Bool {
    let slots = try? StoreLocation(environment: environment).identity().slots
    return slots?.contains { $0.kind == .passphrase } ?? false
  }
}
