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

// What a printed value shows: names, numbers and kinds, but no value of an item, no label and no attribute.

extension Item: CustomStringConvertible {
  /// The name, the version and the kind of the value: `'db/password', version 3, string`.
  public var description: String { "'\(name)', version \(version), \(isRemoved ? "removed" : kind.name)" }
}

/// Without this, `dump` and whatever else reflects would show the label and the attributes.
extension Item: CustomReflectable {
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretKind: CustomStringConvertible {
  /// The kind's name.
  public var description: String { name }
}

extension Member: CustomStringConvertible {
  /// Who it is, and their rights: `com.example.web, read`.
  public var description: String {
    switch who {
    case .owner: "owner, \(rights)"
    case .application(let id, _): "\(id), \(rights)"
    }
  }
}

extension Slot: CustomStringConvertible {
  /// The number and the kind: `slot 2, key file`.
  public var description: String { "slot \(number), \(kind.name)" }
}
