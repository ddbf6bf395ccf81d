/// A value as the archive holds it; no object has been built from it.
public enum InspectedValue: Sendable, Equatable {
  case null
  case boolean(Bool)
  /// An integer of up to 128 bits.
  case integer(Int128)
  case real(Double)
  /// Text. `isDamaged` if the archive's text holds a lone surrogate, which is replaced by U+FFFD here.
  case string(String, isDamaged: Bool)
  case data([UInt8])
  /// A time, in seconds since the beginning of 2001, UTC. Keyed archives hold times as objects instead.
  case date(Double)
  /// An inline array of values.
  case array([InspectedValue])
  /// Inline values under keys.
  case dictionary([InspectedField])
  /// An object, by its number.
  case reference(Int)
}

/// A value under a key.
public struct InspectedField: Sendable, Equatable {
  public let key: String
  public let value: InspectedValue
}

/// An entry of an archive's table of objects.
public enum InspectedObject: Sendable, Equatable {
  /// The entry at 0, which represents nil.
  case null
  /// A string, number or data.
  case value(InspectedValue)
  /// An object with fields; `$class` is not among them.
  case instance(of: InspectedClass, fields: [InspectedField])
  /// The description of a class.
  case classDescription(InspectedClass)
}

/// What an archive says about a class.
public struct InspectedClass: Sendable, Equatable {
  /// The number of its description in the table of objects.
  public let number: Int
  public let name: String
  /// The class and its superclasses, if the archive lists them.
  public let chain: [String]
  /// Classes that may be used instead of it, if the archive names any.
  public let hints: [String]
}
