internal import Synchronization
internal import Vault

/// Asks for a secret when the library needs one.
final class Question: Sendable {
  private let prompt: @Sendable (_ isOpen: Bool) -> String
  private let path: String
  private let descriptor: Int32?
  private let reason: String
  private let state = Mutex(State())

  // A structure, because a tuple's type is made at run time: a hundredth of a whole get.
  private struct State {
    var failure: Failure?
    var isOpen = false
    var hasRest = false
  }

  /// - Parameters:
  ///   - path: the path of the terminal.
  ///   - descriptor: what the passphrase is read from instead, if anything.
  ///   - reason: why the store stays locked if there is no terminal.
  ///   - prompt: receives whether the store is already open and only the owner's key is missing.
  init(
    on path: String, or descriptor: Int32? = nil,
    else reason: String = "there is no terminal to ask for the passphrase",
    _ prompt: @escaping @Sendable (_ isOpen: Bool) -> String
  ) {
    (self.path, self.descriptor, self.reason, self.prompt) = (path, descriptor, reason, prompt)
  }

  /// The error at the terminal or descriptor. The library can throw only its own errors.
  var failure: Failure? { state.withLock { $0.failure } }

  /// Whether the user had typed more than the answer when it was read.
  var hasRest: Bool { state.withLock { $0.hasRest } }

  /// From now on a prompt is for an operation that an open store alone does not permit.
  func storeIsOpen() { state.withLock { $0.isOpen = true } }

  func ask() throws(VaultError) -> Secret {
    do {
      if let descriptor { return try KeySource.passphrase(descriptor: descriptor) }
      guard let terminal = Terminal(path: path) else { throw VaultError.locked(.nobodyToAsk(reason)) }
      defer { state.withLock { $0.hasRest = terminal.hasRest } }
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
