public import Foundation
import KeyedArchives
public import Vault

/// A value that is stored as text or bytes that every program can read, together with its kind.
///
/// `String`, `Data`, `[UInt8]`, `Bool`, `Date`, `URL` and `UUID` conform, and the numbers that 64 bits hold: `Double`,
/// `Float`, `Int`, and the integers of a fixed width but `UInt64`. `UInt`, `UInt64`, `Decimal` and larger numbers are
/// archived, as every other Swift value.
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

// A number is read from an item of its kind if its type can hold it, whichever type it was written as.

extension SecretScalar where Self: FixedWidthInteger {
  public static var secretKind: SecretKind { .int }
}

extension Int: SecretScalar {}
extension Int8: SecretScalar {}
extension Int16: SecretScalar {}
extension Int32: SecretScalar {}
extension Int64: SecretScalar {}
extension UInt8: SecretScalar {}
extension UInt16: SecretScalar {}
extension UInt32: SecretScalar {}

extension Double: SecretScalar {
  public static var secretKind: SecretKind { .double }
}

/// Stored as the shortest decimal number that reads back to the same `Float`.
extension Float: SecretScalar {
  public static var secretKind: SecretKind { .double }
  public init?(secretBytes: UnsafeRawBufferPointer) {
    guard let text = unsafe Float.text(secretBytes), let wide = Double(text), let value = Float(text) else {
      return nil
    }
    // Rounding is allowed, but a number does not become infinite.
    guard value.isFinite || !wide.isFinite else { return nil }
    self = value
  }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    // In the form of a `Double`, which is that of its kind.
    try unsafe (Double(String(self)) ?? Double(self)).withSecretBytes(body)
  }
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
