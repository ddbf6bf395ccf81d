internal import Synchronization
internal import VaultStore

/// How a command comes to its store and its group.
extension Session {
  /// - Throws: `noStore`, `locked`, `wrongKey` and whatever else keeps a store from being opened; `usage` for two sources.
  func openStore(_ key: KeySource) throws -> SecretStore {
    let location = try StoreLocation(environment: environment)
    let question = Question { [terminal = streams.terminal] in
      try Question.ask("passphrase: ", on: terminal, else: "there is no terminal to ask for the passphrase on")
    }
    let store: SecretStore
    do {
      store = try SecretStore.open(at: location, unlocking: unlocking(key, question))
    } catch {
      throw question.failure ?? error
    }
    atEnd { session in
      for notice in store.takeNotices() { session.warn(notice.message) }
    }
    return store
  }

  /// - Parameter name: as the command line named it; nil means VAULT_GROUP, or else the store's default.
  func openGroup(_ name: String?, _ key: KeySource) throws -> AccessGroup {
    let store = try openStore(key)
    return try store.group(name ?? variable("VAULT_GROUP") ?? store.defaultGroupName)
  }

  /// Opens a backup with its recovery code, which comes from a descriptor or is asked for.
  func openRecovery(from backup: String, descriptor: Int32?) throws -> StoreRecovery {
    let location = try StoreLocation(environment: environment)
    let question = Question { [terminal = streams.terminal] in
      if let descriptor { return try KeySource.recoveryCode(descriptor: descriptor) }
      return try Question.ask(
        "recovery code: ", on: terminal, else: "there is no terminal to ask for the recovery code on (--recovery-fd N)")
    }
    do {
      return try StoreRecovery(from: backup, at: location) { () throws(VaultError) in try question.ask() }
    } catch {
      throw question.failure ?? error
    }
  }

  /// What can be said of the store without asking anybody.
  func status(_ key: KeySource) throws -> StoreStatus {
    let location = try StoreLocation(environment: environment)
    return try SecretStore.status(at: location, unlocking: unlocking(key, nil))
  }

  /// - Parameter question: nil if nobody shall be asked.
  private func unlocking(_ key: KeySource, _ question: Question?) throws -> Unlocking {
    switch try key.named() {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?: return .passphrase(try KeySource.passphrase(descriptor: descriptor))
    case .recoveryCode(let descriptor)?: return .recoveryCode(try KeySource.recoveryCode(descriptor: descriptor))
    case .credential(let path)?: return .credential(path)
    case nil:
      guard let question else {
        return .automatic(prompt: { () throws(VaultError) in
          throw .locked("the store opens with a passphrase, which this command does not ask for")
        })
      }
      return .automatic(prompt: { () throws(VaultError) in try question.ask() })
    }
  }
}

/// Asks for a secret when the library finds that it needs one.
private final class Question: Sendable {
  private let answer: @Sendable () throws -> Secret
  private let failed = Mutex<Failure?>(nil)

  init(_ answer: @escaping @Sendable () throws -> Secret) { self.answer = answer }

  /// What went wrong at the terminal or the descriptor: the library knows only its own errors.
  var failure: Failure? { failed.withLock { $0 } }

  func ask() throws(VaultError) -> Secret {
    do {
      return try answer()
    } catch let error as VaultError {
      throw error
    } catch {
      let failure = error as? Failure ?? Failure(.unexpected, "something unexpected happened")
      failed.withLock { $0 = failure }
      throw .locked(failure.message)
    }
  }

  /// - Parameter reason: why the store stays locked where there is no terminal.
  static func ask(_ prompt: String, on path: String, else reason: String) throws -> Secret {
    guard let terminal = Terminal(path: path) else { throw VaultError.locked(reason) }
    return try terminal.ask(prompt).secret()
  }
}
