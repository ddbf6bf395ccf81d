internal import Synchronization
internal import Vault

/// Asks for a secret when the library needs one.
final class Question: Sendable {
  private let prompt: @Sendable (_ isOpen: Bool) -> String
  private let path: String
  private let state = Mutex<(failure: Failure?, isOpen: Bool, hasRest: Bool)>((nil, false, false))

  /// - Parameters:
  ///   - path: of the terminal.
  ///   - prompt: receives whether the store is already open and only the owner's key is missing.
  init(on path: String, _ prompt: @escaping @Sendable (_ isOpen: Bool) -> String) {
    (self.path, self.prompt) = (path, prompt)
  }

  /// The error at the terminal or descriptor. The library can throw only its own errors.
  var failure: Failure? { state.withLock { $0.failure } }

  /// Whether more than the answer had been typed when it was read.
  var hasRest: Bool { state.withLock { $0.hasRest } }

  /// From now on a prompt is for an operation that an open store alone does not permit.
  func storeIsOpen() { state.withLock { $0.isOpen = true } }

  func ask() throws(VaultError) -> Secret {
    guard let terminal = Terminal(path: path) else {
      throw .locked(.nobodyToAsk("there is no terminal to ask for the passphrase"))
    }
    defer { state.withLock { $0.hasRest = terminal.hasRest } }
    do {
      return try terminal.ask(prompt(state.withLock { $0.isOpen })).secret()
    } catch let error as VaultError {
      throw error
    } catch {
      let failure = error as? Failure ?? Failure(.unexpected, "something unexpected happened")
      state.withLock { $0.failure = failure }
      throw .locked(.nobodyToAsk(failure.message))
    }
  }
}
