import Foundation
import KeyedArchives

/// Creates a Swift value from the property-list objects that ``ValueEncoder`` or Apple's encoder made.
///
/// A mismatch, such as a number that does not fit or a boolean instead of a string, is an error with the path. The
/// error never contains a value.
struct ValueDecoder: Decoder {
  let object: AnyObject
  /// Where the whole value is in the archive.
  let base: ArchivePath
  /// The way from there to `object`.
  var codingPath: [any CodingKey] = []
  var path: ArchivePath { base.appending(codingPath) }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let dictionary = object as? NSDictionary else { throw wrong("a dictionary") }
    var values: [KeyTable.Key: AnyObject] = [:]
    for (key, value) in RawElements.of(dictionary) {
      guard let key = key as? NSString else { throw wrong("a dictionary whose keys are texts") }
      values[KeyTable.Key(text: String(describing: key))] = value
    }
    return KeyedDecodingContainer(KeyedValues(values: values, decoder: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let array = object as? NSArray else { throw wrong("an array") }
    return UnkeyedValues(elements: RawElements.of(array), decoder: self)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  fileprivate func nested(_ object: AnyObject?, _ key: any CodingKey) throws -> ValueDecoder {
    let codingPath = codingPath + [key]
    guard let object else { throw ArchiveError.missingValue(at: base.appending(codingPath)) }
    return ValueDecoder(object: object, base: base, codingPath: codingPath)
  }

  fileprivate var isNull: Bool { (object as? NSString).map { String(describing: $0) } == ValueEncoder.null }

  fileprivate func wrong(_ expected: String) -> ArchiveError {
    if isNull { return .missingValue(at: path) }
    let found =
      switch object {
      case is NSString: "a text"
      case let number as NSNumber: number.isBoolean ? "a boolean" : "a number"
      case is NSData: "data"
      case is NSDate: "a date"
      case is NSArray: "an array"
      case is NSDictionary: "a dictionary"
      default: "another object"
      }
    return .wrongType(expected: expected, found: found, at: path)
  }

  // MARK: Values

  fileprivate func text() throws -> String {
    guard let text = object as? NSString, !isNull else { throw wrong("a text") }
    return String(describing: text)
  }

  fileprivate func flag() throws -> Bool {
    guard let number = object as? NSNumber, number.isBoolean else { throw wrong("a boolean") }
    return number.boolValue
  }

  fileprivate func integer<Number: FixedWidthInteger>() throws -> Number {
    // A value that may be either is often decoded by trying one after the other, so a boolean must not pass as 0 or 1.
    guard let number = object as? NSNumber, !number.isBoolean else { throw wrong("a number") }
    let exact: Number? =
      switch number.kind {
      case .real: Number(exactly: number.doubleValue)
      case .unsigned: Number(exactly: number.uint64Value)
      case .signed: Number(exactly: number.int64Value)
      }
    guard let exact else { throw ArchiveError.numberDoesNotFit(type: "\(Number.self)", at: path) }
    return exact
  }

  fileprivate func real<Number: BinaryFloatingPoint>() throws -> Number {
    guard let number = object as? NSNumber, !number.isBoolean else { throw wrong("a number") }
    switch number.kind {
    case .real:
      // Rounding to single precision is allowed, but a number that would become infinite is refused.
      let value = Number(number.doubleValue)
      guard value.isFinite || !number.doubleValue.isFinite else {
        throw ArchiveError.numberDoesNotFit(type: "\(Number.self)", at: path)
      }
      return value
    case .unsigned, .signed:
      let exact = number.kind == .signed ? Number(exactly: number.int64Value) : Number(exactly: number.uint64Value)
      guard let exact else { throw ArchiveError.numberDoesNotFit(type: "\(Number.self)", at: path) }
      return exact
    }
  }

  fileprivate func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let made: Any
    switch type {
    case is Data.Type:
      guard let data = object as? NSData else { throw wrong("data") }
      made = Data(referencing: data)
    case is Date.Type:
      guard let date = object as? NSDate else { throw wrong("a date") }
      made = Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    default:
      if let reason = try CodedRules.broken(by: type, in: self) {
        throw ArchiveError.invalidValue(ofClass: TypeNames.shown(type), reason: reason, at: path)
      }
      return try Value(from: self)
    }
    guard let value = made as? Value else { throw wrong(TypeNames.shown(type)) }
    return value
  }
}

extension ValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try flag() }
  func decode(_ type: String.Type) throws -> String { try text() }
  func decode(_ type: Double.Type) throws -> Double { try real() }
  func decode(_ type: Float.Type) throws -> Float { try real() }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }
}

private struct KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let values: [KeyTable.Key: AnyObject]
  let decoder: ValueDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0.text) } }

  func contains(_ key: Key) -> Bool { values[KeyTable.Key(text: key.stringValue)] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try nested(key).isNull }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try nested(key).value(type) }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { try superDecoder(PlainKey.parent) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key as any CodingKey) }

  /// If nothing was encoded for the superclass, it is decoded from nil, as by Foundation's decoder.
  private func superDecoder(_ key: any CodingKey) throws -> any Decoder {
    try decoder.nested(values[KeyTable.Key(text: key.stringValue)] ?? NSString(string: ValueEncoder.null), key)
  }

  private func nested(_ key: any CodingKey) throws -> ValueDecoder {
    try decoder.nested(values[KeyTable.Key(text: key.stringValue)], key)
  }
}

private struct UnkeyedValues: UnkeyedDecodingContainer {
  let elements: [AnyObject]
  let decoder: ValueDecoder
  var codingPath: [any CodingKey] { decoder.codingPath }
  private(set) var currentIndex = 0
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try next().isNull else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next().value(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    let container = try next().container(keyedBy: type)
    currentIndex += 1
    return container
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    let container = try next().unkeyedContainer()
    currentIndex += 1
    return container
  }

  mutating func superDecoder() throws -> any Decoder {
    let decoder = try next()
    currentIndex += 1
    return decoder
  }

  private func next() throws -> ValueDecoder {
    try decoder.nested(isAtEnd ? nil : elements[currentIndex], PlainKey(intValue: currentIndex))
  }
}

extension NSNumber {
  enum Kind { case signed, unsigned, real }

  /// Foundation represents each boolean by a single object.
  var isBoolean: Bool { self === NSNumber(value: true) || self === NSNumber(value: false) }

  var kind: Kind {
    switch unsafe UInt8(bitPattern: objCType.pointee) {
    case UInt8(ascii: "f"), UInt8(ascii: "d"): .real
    case UInt8(ascii: "Q"): .unsigned
    default: .signed
    }
  }
}
