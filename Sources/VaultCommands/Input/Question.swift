internal import Synchronization
internal import Vault

/// Asks for a secret when the library needs one.
final class Question: Sendable {
  private let answer: @Sendable (_ isOpen: Bool) throws -> Secret
  private let state = Mutex<(failure: Failure?, isOpen: Bool)>((nil, false))

  /// - Parameter answer: receives whether the store is already open and only the owner's key is missing.
  init(_ answer: @escaping @Sendable (_ isOpen: Bool) throws -> Secret) { self.answer = answer }

  /// The error at the terminal or descriptor. The library can throw only its own errors.
  var failure: Failure? { state.withLock { $0.failure } }

  /// From now on a prompt is for an operation that an open store alone does not permit.
  func storeIsOpen() { state.withLock { $0.isOpen = true } }

  func ask() throws(VaultError) -> Secret {
    do {
      return try answer(state.withLock { $0.isOpen })
    } catch let error as VaultError {
      throw error
    } catch {
      let failure = error as? Failure ?? Failure(.unexpected, "something unexpected happened")
      state.withLock { $0.failure = failure }
      throw .locked(.nobodyToAsk(failure.message))
    }
  }

  /// - Parameter reason: why the store stays locked if there is no terminal.
  static func ask(_ prompt: String, on path: String, else reason: String) throws -> Secret {
    guard let terminal = Terminal(path: path) else { throw VaultError.locked(.nobodyToAsk(reason)) }
    return try terminal.ask(prompt).secret()
  }
}
