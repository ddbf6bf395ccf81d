internal import Synchronization
internal import VaultStore

/// Asks for a secret when the library finds that it needs one.
final class Question: Sendable {
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
