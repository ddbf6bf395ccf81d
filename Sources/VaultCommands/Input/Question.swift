internal import Synchronization
internal import Vault

/// Asks for a secret when the library finds that it needs one.
final class Question: Sendable {
  private let answer: @Sendable (_ isOpen: Bool) throws -> Secret
  private let state = Mutex<(failure: Failure?, isOpen: Bool)>((nil, false))

  /// - Parameter answer: is told whether the store is open already, and only its owner is missing.
  init(_ answer: @escaping @Sendable (_ isOpen: Bool) throws -> Secret) { self.answer = answer }

  /// What went wrong at the terminal or the descriptor: the library knows only its own errors.
  var failure: Failure? { state.withLock { $0.failure } }

  /// From now on it is asked for what an open store does not do.
  func storeIsOpen() { state.withLock { $0.isOpen = true } }

  func ask() throws(VaultError) -> Secret {
    do {
      return try answer(state.withLock { $0.isOpen })
    } catch let error as VaultError {
      throw error
    } catch {
      let failure = error as? Failure ?? Failure(.unexpected, "something unexpected happened")
      state.withLock { $0.failure = failure }
      throw .locked(failure.message)
    }
  }

  /// - Parameter reason: why the store stays locked where there is no terminal.
  static func ask(_ prompt: String, on path: String, else reason: String) throws -> Secret {
    guard let terminal = Terminal(path: path) else { throw VaultError.locked(reason) }
    return try terminal.ask(prompt).secret()
  }
}
