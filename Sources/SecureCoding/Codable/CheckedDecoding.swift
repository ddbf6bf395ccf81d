import Foundation

/// Reads a Swift value from any decoder, such as Foundation's for JSON, but refuses what would crash Foundation's types.
package struct CheckedValue<Value: Decodable>: Decodable {
  package let value: Value

  package init(from decoder: any Decoder) throws {
    if CheckedDecoder.leaves.contains(ObjectIdentifier(Value.self)) {
      value = try decoder.singleValueContainer().decode(Value.self)
      return
    }
    if let reason = try CodedRules.broken(by: Value.self, in: decoder) {
      throw DecodingError.dataCorrupted(
        DecodingError.Context(codingPath: decoder.codingPath, debugDescription: reason))
    }
    value = try Value(from: CheckedDecoder(decoder: decoder))
  }
}

private struct CheckedDecoder: Decoder {
  let decoder: any Decoder
  var codingPath: [any CodingKey] { decoder.codingPath }
  var userInfo: [CodingUserInfoKey: Any] { decoder.userInfo }

  /// The types that a decoder reads itself, in a form of its own or without asking the type.
  static let leaves = Set(
    ([
      Bool.self, String.self, Double.self, Float.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self,
      Int128.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self, Date.self, Data.self,
      URL.self, Decimal.self,
    ] as [Any.Type]).map { ObjectIdentifier($0) })

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(CheckedFields(container: try decoder.container(keyedBy: type)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    CheckedElements(container: try decoder.unkeyedContainer())
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    CheckedSingle(container: try decoder.singleValueContainer())
  }
}

private struct CheckedSingle: SingleValueDecodingContainer {
  let container: any SingleValueDecodingContainer
  var codingPath: [any CodingKey] { container.codingPath }

  func decodeNil() -> Bool { container.decodeNil() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try container.decode(CheckedValue<Value>.self).value
  }
}

private struct CheckedFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let container: KeyedDecodingContainer<Key>
  var codingPath: [any CodingKey] { container.codingPath }
  var allKeys: [Key] { container.allKeys }

  func contains(_ key: Key) -> Bool { container.contains(key) }
  func decodeNil(forKey key: Key) throws -> Bool { try container.decodeNil(forKey: key) }
  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try container.decode(CheckedValue<Value>.self, forKey: key).value
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(CheckedFields<Nested>(container: try container.nestedContainer(keyedBy: type, forKey: key)))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    CheckedElements(container: try container.nestedUnkeyedContainer(forKey: key))
  }

  func superDecoder() throws -> any Decoder { CheckedDecoder(decoder: try container.superDecoder()) }
  func superDecoder(forKey key: Key) throws -> any Decoder {
    CheckedDecoder(decoder: try container.superDecoder(forKey: key))
  }
}

private struct CheckedElements: UnkeyedDecodingContainer {
  var container: any UnkeyedDecodingContainer
  var codingPath: [any CodingKey] { container.codingPath }
  var count: Int? { container.count }
  var isAtEnd: Bool { container.isAtEnd }
  var currentIndex: Int { container.currentIndex }

  mutating func decodeNil() throws -> Bool { try container.decodeNil() }
  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try container.decode(CheckedValue<Value>.self).value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    KeyedDecodingContainer(CheckedFields(container: try container.nestedContainer(keyedBy: type)))
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    CheckedElements(container: try container.nestedUnkeyedContainer())
  }

  mutating func superDecoder() throws -> any Decoder { CheckedDecoder(decoder: try container.superDecoder()) }
}
