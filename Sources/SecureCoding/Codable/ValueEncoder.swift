import Foundation
import KeyedArchives

/// Converts a Swift value to property-list objects in the form of Foundation's `PropertyListEncoder`: nil is the string
/// `$null`, and dates and data are objects of their own.
///
/// Foundation's own encoder has no depth limit, merges keys that are canonically equivalent, and puts values into its
/// errors.
struct ValueEncoder: Encoder {
  let place: CodedPlace
  let codingPath: [any CodingKey]
  let depth: Int
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The objects for `value`.
  ///
  /// - Parameter depth: how many more levels of nesting are allowed.
  static func object(_ value: some Encodable, _ path: [any CodingKey], depth: Int) throws -> AnyObject {
    guard depth > 0 else { throw Failure.tooDeep(path) }
    switch value {
    case let text as String:
      // This string would read back as nil.
      guard text != null else { throw Failure.noForm(path) }
      return NSString(string: text)
    case let data as Data: return NSData(data: data)
    case let date as Date: return NSDate(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate)
    case let flag as Bool: return NSNumber(value: flag)
    case let number as Int: return NSNumber(value: number)
    case let number as Double: return NSNumber(value: number)
    case let number as Float: return NSNumber(value: number)
    // These would not be read back: `CodedRules`.
    case let locale as Locale where !locale.identifier.utf8.allSatisfy({ $0 < 0x80 }): throw Failure.noForm(path)
    case let calendar as Calendar where !(1...7 ~= calendar.firstWeekday && 1...7 ~= calendar.minimumDaysInFirstWeek):
      throw Failure.noForm(path)
    case let rule as Calendar.RecurrenceRule
    where rule.interval < 1
      || rule.weekdays.contains { if case .nth(let n, _) = $0 { !(CodedRules.places ~= n) } else { false } }:
      throw Failure.noForm(path)
    case let components as DateComponents where components.month == .min: throw Failure.noForm(path)
    case let interval as DateInterval where interval.end.timeIntervalSince1970.isNaN: throw Failure.noForm(path)
    default: break
    }
    let place = CodedPlace()
    try value.encode(to: ValueEncoder(place: place, codingPath: path, depth: depth - 1))
    // A value that encodes nothing is an empty dictionary, as in Foundation.
    return place.value ?? CodedDictionary()
  }

  static let null = "$null"

  /// Why a value cannot be encoded. It contains no part of the value.
  enum Failure: Error {
    case tooDeep([any CodingKey])
    case noForm([any CodingKey])
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let dictionary = place.value as? CodedDictionary ?? CodedDictionary()
    place.value = dictionary
    return KeyedEncodingContainer(Keyed(dictionary: dictionary, encoder: self))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    let array = place.value as? CodedArray ?? CodedArray()
    place.value = array
    return Unkeyed(array: array, encoder: self)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(encoder: self) }

  fileprivate func object(_ value: some Encodable, _ key: any CodingKey) throws -> AnyObject {
    try Self.object(value, codingPath + [key], depth: depth)
  }

  fileprivate func nested(_ key: any CodingKey) -> ValueEncoder {
    ValueEncoder(place: CodedPlace(), codingPath: codingPath + [key], depth: depth - 1)
  }
}

/// A position in an array, or the key of a superclass's values.
struct PlainKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
  init(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }

  static let parent = PlainKey(stringValue: "super")
}

private struct Keyed<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let dictionary: CodedDictionary
  let encoder: ValueEncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) throws { dictionary.set(key.stringValue, NSString(string: ValueEncoder.null)) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    dictionary.set(key.stringValue, try encoder.object(value, key))
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    let nested = dictionary.container(key.stringValue, orNew: CodedDictionary())
    return KeyedEncodingContainer(Keyed<Nested>(dictionary: nested, encoder: encoder.nested(key)))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    let nested = dictionary.container(key.stringValue, orNew: CodedArray())
    return Unkeyed(array: nested, encoder: encoder.nested(key))
  }

  func superEncoder() -> any Encoder { superEncoder(PlainKey.parent) }
  func superEncoder(forKey key: Key) -> any Encoder { superEncoder(key as any CodingKey) }

  private func superEncoder(_ key: any CodingKey) -> any Encoder {
    let nested = encoder.nested(key)
    dictionary.set(key.stringValue, nested.place)
    return nested
  }
}

private struct Unkeyed: UnkeyedEncodingContainer {
  let array: CodedArray
  let encoder: ValueEncoder
  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { array.elements.count }
  private var next: PlainKey { PlainKey(intValue: count) }

  func encodeNil() throws { array.elements.append(NSString(string: ValueEncoder.null)) }
  func encode<Value: Encodable>(_ value: Value) throws { array.elements.append(try encoder.object(value, next)) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    let (nested, key) = (CodedDictionary(), next)
    array.elements.append(nested)
    return KeyedEncodingContainer(Keyed<Nested>(dictionary: nested, encoder: encoder.nested(key)))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let (nested, key) = (CodedArray(), next)
    array.elements.append(nested)
    return Unkeyed(array: nested, encoder: encoder.nested(key))
  }

  func superEncoder() -> any Encoder {
    let nested = encoder.nested(next)
    array.elements.append(nested.place)
    return nested
  }
}

/// A single value. If it is set more than once the last one counts, while Foundation's encoder ends the process.
private struct Single: SingleValueEncodingContainer {
  let encoder: ValueEncoder
  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() throws { encoder.place.value = NSString(string: ValueEncoder.null) }
  func encode(_ value: Bool) throws { put(NSNumber(value: value)) }
  func encode(_ value: Double) throws { put(NSNumber(value: value)) }
  func encode(_ value: Float) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int8) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int16) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int32) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int64) throws { put(NSNumber(value: value)) }
  func encode(_ value: UInt) throws { put(NSNumber(value: value)) }
  func encode(_ value: UInt8) throws { put(NSNumber(value: value)) }
  func encode(_ value: UInt16) throws { put(NSNumber(value: value)) }
  func encode(_ value: UInt32) throws { put(NSNumber(value: value)) }
  func encode(_ value: UInt64) throws { put(NSNumber(value: value)) }
  func encode(_ value: Int128) throws { throw ValueEncoder.Failure.noForm(codingPath) }
  func encode(_ value: UInt128) throws { throw ValueEncoder.Failure.noForm(codingPath) }

  func encode<Value: Encodable>(_ value: Value) throws {
    put(try ValueEncoder.object(value, codingPath, depth: encoder.depth))
  }

  private func put(_ object: AnyObject) { encoder.place.value = object }
}
