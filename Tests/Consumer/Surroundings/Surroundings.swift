import Foundation
import VaultFoundation

// What the blocks of the documents take for granted.

/// Any library that takes a password.
func connect(password: borrowing Span<UInt8>) {}

/// Puts a recovery code where its owner can write it down.
func showOnce(_ code: borrowing Span<UInt8>) {}

/// What somebody typed.
let typed = ""

/// An archive from somewhere.
let data = Data()

final class Address: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

final class Person: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  override init() {}
  init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

/// Somebody.
nonisolated(unsafe) let person = Person()
