public import Foundation
// One import provides the store, its typed values and their archives.
@_exported public import KeyedArchives
@_exported public import SecureCoding
@_exported public import Vault

/// Foundation's `localizedDescription` then says what ``VaultError/message`` says.
extension VaultError: LocalizedError {
  public var errorDescription: String? { message }

  /// What the caller can do about a refused archive, if anything.
  public var recoverySuggestion: String? {
    if case .archive(let error) = self { error.hint } else { nil }
  }
}
