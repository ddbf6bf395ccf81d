public import Foundation
import KeyedArchives
public import Vault

/// A value that is stored as text or bytes that every program can read, together with its kind.
///
/// `String`, `Data`, `[UInt8]`, `Bool`, `Int`, `Double`, `Date`, `URL` and `UUID` conform.
public protocol SecretScalar: SecretValue, Codable {
  /// The kind of such a value.
  static var secretKind: SecretKind { get }

  /// Reads the form that ``SecretValue/withSecretBytes(_:)`` lends; nil for anything else.
  init?(secretBytes: UnsafeRawBufferPointer)
}

extension SecretScalar {
  public var secretKind: SecretKind { Self.secretKind }

  /// Throws if the stored form would not read back.
  func requireReadable() throws(VaultError) {
    guard unsafe withSecretBytes({ unsafe Self(secretBytes: $0) != nil }) else {
      throw .invalid("this \(secretKind.name) has no text that could be read back")
    }
  }

  fileprivate static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
    unsafe String(validating: bytes, as: UTF8.self)
  }
}

extension SecretScalar where Self: LosslessStringConvertible {
  /// Reads the value's description.
  public init?(secretBytes: UnsafeRawBufferPointer) {
    guard let text = unsafe Self.text(secretBytes) else { return nil }
    self.init(text)
  }
}

extension String: SecretScalar {
  public static var secretKind: SecretKind { .string }
}

extension [UInt8]: SecretScalar {
  public static var secretKind: SecretKind { .bytes }
  public init?(secretBytes: UnsafeRawBufferPointer) { unsafe self.init(secretBytes) }
}

extension Data: SecretScalar {
  public static var secretKind: SecretKind { .bytes }
  public init?(secretBytes: UnsafeRawBufferPointer) { unsafe self.init(secretBytes) }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe withUnsafeBytes { try unsafe body($0) }
  }
}

extension Bool: SecretScalar {
  public static var secretKind: SecretKind { .bool }
}

extension Int: SecretScalar {
  public static var secretKind: SecretKind { .int }
}

extension Double: SecretScalar {
  public static var secretKind: SecretKind { .double }
}

/// Stored as ISO 8601 text in UTC, exact to the last bit, for years 1 to 8000.
extension Date: SecretScalar {
  public static var secretKind: SecretKind { .date }
  public init?(secretBytes: UnsafeRawBufferPointer) {
    guard let moment = unsafe Date.text(secretBytes).flatMap(UTCDate.moment) else { return nil }
    self.init(timeIntervalSinceReferenceDate: moment.secondsSince2001)
  }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe UTCDate.text(secondsSince2001: timeIntervalSinceReferenceDate).withSecretBytes(body)
  }
}

extension URL: SecretScalar {
  public static var secretKind: SecretKind { .url }
  public init?(secretBytes: UnsafeRawBufferPointer) {
    guard let url = unsafe URL.text(secretBytes).flatMap({ URL(string: $0) }) else { return nil }
    self = url
  }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe absoluteString.withSecretBytes(body)
  }
}

extension UUID: SecretScalar {
  public static var secretKind: SecretKind { .uuid }
  public init?(secretBytes: UnsafeRawBufferPointer) {
    guard let uuid = unsafe UUID.text(secretBytes).flatMap(UUID.init(uuidString:)) else { return nil }
    self = uuid
  }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe uuidString.withSecretBytes(body)
  }
}
