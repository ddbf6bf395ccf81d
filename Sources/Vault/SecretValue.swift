internal import GroupFile

/// A value that an item can hold: text, bytes, or a scalar, each with a kind that stands in the sealed attributes.
public protocol SecretValue {
  /// What the value is.
  var secretKind: SecretKind { get }

  /// Lends the value's bytes.
  func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

/// What an item's value is. The numbers stand in files and never change.
public struct SecretKind: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bytes of no declared type.
  public static let bytes = SecretKind(rawValue: 1)
  /// UTF-8 text.
  public static let string = SecretKind(rawValue: 2)
  /// `true` or `false`.
  public static let bool = SecretKind(rawValue: 3)
  /// A decimal integer of 64 bits.
  public static let int = SecretKind(rawValue: 4)
  /// A decimal number that reads back to the same bits.
  public static let double = SecretKind(rawValue: 5)

  /// The kind's name, as `vault info` shows it.
  public var name: String {
    switch self {
    case .bytes: "bytes"
    case .string: "string"
    case .bool: "bool"
    case .int: "int"
    case .double: "double"
    default: "kind \(rawValue)"
    }
  }
}

extension String: SecretValue {
  public var secretKind: SecretKind { .string }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    var copy = self
    return try copy.withUTF8 { try unsafe body(UnsafeRawBufferPointer($0)) }
  }
}

extension [UInt8]: SecretValue {
  public var secretKind: SecretKind { .bytes }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe withUnsafeBytes { try unsafe body($0) }
  }
}

extension Bool: SecretValue {
  public var secretKind: SecretKind { .bool }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe (self ? "true" : "false").withSecretBytes(body)
  }
}

extension Int: SecretValue {
  public var secretKind: SecretKind { .int }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe String(self).withSecretBytes(body)
  }
}

extension Double: SecretValue {
  public var secretKind: SecretKind { .double }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe String(self).withSecretBytes(body)
  }
}
