internal import Vault

/// Opens the store and the group of a command.
extension Session {
  /// - Throws: `noStore`, `locked`, `wrongKey` and other errors of opening a store; `usage` if two sources are named.
  func openStore(_ key: KeySource) throws -> SecretStore {
    let location = try StoreLocation(environment: environment)
    let store = try SecretStore.open(at: location, unlocking: unlocking(key, asking: true))
    question?.storeIsOpen()
    atEnd { session in
      for notice in store.takeNotices() { session.warn(notice.message) }
    }
    return store
  }

  /// - Parameter name: the name on the command line; nil means VAULT_GROUP or the store's default.
  func openGroup(_ name: String?, _ key: KeySource) throws -> AccessGroup {
    let store = try openStore(key)
    let group = try store.group(name ?? variable("VAULT_GROUP") ?? store.defaultGroupName)
    openedGroup = group
    return group
  }

  /// The status of the store, found without a prompt.
  func status(_ key: KeySource) throws -> StoreStatus {
    let location = try StoreLocation(environment: environment)
    return try SecretStore.status(at: location, unlocking: unlocking(key, asking: false))
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
    case .recoveryCode(let descriptor)?: return .recoveryCode(try KeySource.recoveryCode(descriptor: descriptor))
    case .credential(let path)?: return .credential(path, passphrase: credentialPrompt(key, asking, shown(path)))
    case .credentialBytes(let descriptor)?:
      let bytes = try KeySource.credential(descriptor: descriptor)
      return .credentialBytes(bytes, passphrase: credentialPrompt(key, asking, "the credential"))
    case nil:
      guard asking else {
        return .automatic(prompt: { () throws(VaultError) in
          throw .locked(.nobodyToAsk("the store opens with a passphrase, and this command does not ask for one"))
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
    let store = (try? StoreLocation(environment: environment)).map { shown($0.home) } ?? "the store"
    let purpose =
      switch line.command.path {
      case "vault credential git": "git"
      case "vault credential docker": "docker"
      case "vault credential cargo": "cargo"
      case let path: "'\(path)'"
      }
    if variable("VAULT_CREDENTIAL") != nil { return { _ in "passphrase of the credential, for \(purpose): " } }
    return { isOpen in
      isOpen
        ? "the store is unlocked only for items, and \(purpose) needs its owner\npassphrase of \(store): "
        : "passphrase of \(store), for \(purpose): "
    }
  }

  /// Asks for one line on the terminal, without showing it.
  ///
  /// - Parameter reason: why the store stays locked if there is no terminal.
  func askSecret(_ prompt: String, else reason: String) throws -> Secret {
    guard let terminal = Terminal(path: streams.terminal) else { throw VaultError.locked(.nobodyToAsk(reason)) }
    defer { hasTypedRest = terminal.hasRest }
    return try terminal.ask(prompt).secret()
  }

  /// A path for people, with `~` for the home folder.
  func shown(_ path: String) -> String {
    guard let home = variable("HOME"), home.count > 1, path.hasPrefix(home + "/") else {
      return UTF8Text.onOneLine(path)
    }
    return UTF8Text.onOneLine("~" + path.dropFirst(home.count))
  }

  /// Whether a passphrase would open the store.
  var hasPassphrase: Bool {
    let slots = try? StoreLocation(environment: environment).identity().slots
    return slots?.contains { $0.kind == .passphrase } ?? false
  }

  /// A time in a sentence: in the machine's time zone on a terminal, elsewhere in UTC to the second.
  func told(_ time: Timestamp) -> String { output.isTerminal ? time.localText : time.text }

  /// A time in a table: in the machine's time zone on a terminal, elsewhere in UTC.
  func shown(_ time: Timestamp?) -> String {
    guard let time else { return "" }
    return output.isTerminal ? time.localText : time.shortText
  }
}
