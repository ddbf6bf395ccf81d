import Foundation
import KeyedArchives

extension SecureArchiver {
  /// The fields of one object, or of the archive's top.
  struct Frame {
    private(set) var keys: [UInt32] = []
    private(set) var values: [UInt32] = []
    private var positions: [UInt32: Int] = [:]
    /// The number of values without keys encoded so far.
    var unkeyed = 0

    /// Sets the value under `key` and replaces a previous one, as on Apple's systems.
    mutating func set(_ key: UInt32, _ value: UInt32) {
      if let present = positions[key] {
        values[present] = value
      } else {
        positions[key] = keys.count
        keys.append(key)
        values.append(value)
      }
    }
  }

  var here: ArchivePath { ArchivePath(path) }

  /// Records `error` if it is the first.
  func fail(_ error: ArchiveError) {
    if failure == nil { failure = error }
  }

  /// Sets the value under a key of the current object to the result of `make`. Keys that begin with `$` get an extra
  /// one.
  func field(_ key: String, _ make: () throws(ArchiveError) -> UInt32) {
    set(key.utf8.first == UInt8(ascii: "$") ? "$" + key : key, make)
  }

  /// Sets the value under the next number of the current object to the result of `make`.
  func unkeyed(_ make: () throws(ArchiveError) -> UInt32) {
    let last = frames.count - 1
    let key = "$\(frames[last].unkeyed)"
    frames[last].unkeyed += 1
    set(key, make)
  }

  /// Sets the value under a key, given in its archived spelling, to the result of `make`.
  func set(_ rawKey: String, _ make: () throws(ArchiveError) -> UInt32) {
    guard failure == nil else { return }
    guard !isFinished else { return fail(.unsupportedCall("encoding into a finished archive", at: here)) }
    path.append(.key(rawKey))
    do {
      let value = try make()
      frames[frames.count - 1].set(builder.add(text: rawKey), value)
      path.removeLast()
    } catch {
      fail(error)
    }
  }

  // MARK: Objects

  /// A reference to `value`, which is archived on first use.
  func reference(to value: Any?) throws(ArchiveError) -> UInt32 {
    guard let value = value.flatMap(Self.unwrapped) else { return builder.add(uid: 0) }
    try requireConvertible(value)
    return builder.add(uid: try number(of: value as AnyObject, Swift.type(of: value)))
  }

  /// Refuses what ends the process when it is converted to an object: Swift sets and dictionaries with elements or keys
  /// that have no hash as objects, URL components that form no URL, and containers beyond the limits.
  private func requireConvertible(_ value: Any) throws(ArchiveError) {
    var count = 0
    try requireConvertible(value, depth: 0, &count)
  }

  private func requireConvertible(_ value: Any, depth: Int, _ count: inout Int) throws(ArchiveError) {
    if Swift.type(of: value) is AnyClass || value is String || value is Int || value is Data { return }
    if let components = value as? URLComponents, components.string == nil {
      throw .notArchivable(type: "URLComponents", reason: .notWritten, at: here)
    }
    guard depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: here)
    }
    count += 1
    guard count <= limits.references else { throw .overLimit(.references, allowed: limits.references, at: here) }
    var elements: [AnyHashable] = []
    var parts: [Any] = []
    if let set = value as? Set<AnyHashable> {
      elements = Array(set)
    } else if let dictionary = value as? [AnyHashable: Any] {
      elements = Array(dictionary.keys)
      parts = Array(dictionary.values)
    } else if let array = value as? [Any] {
      parts = array
    }
    for part in parts + elements.map(\.base) { try requireConvertible(part, depth: depth + 1, &count) }
    for element in elements where !HashedKind.hasHash(element.base) {
      throw .notArchivable(type: TypeNames.shown(Swift.type(of: value)), reason: .unusableElement, at: here)
    }
  }

  func conditionalReference(to value: Any?) throws(ArchiveError) -> UInt32 {
    guard let value = value.flatMap(Self.unwrapped) else { return builder.add(uid: 0) }
    let object = value as AnyObject
    if isBeingEncoded.contains(numbers[ObjectIdentifier(object)] ?? 0) { throw .cycle(at: here) }
    let reference = builder.add(uid: 0)
    kept.append(object)
    conditional.append((reference, object))
    return reference
  }

  /// Unwraps an optional that is hidden inside `Any`.
  private static func unwrapped(_ value: Any) -> Any? {
    guard let optional = value as? any Wrapping else { return value }
    return optional.wrappedValue.flatMap(unwrapped)
  }

  /// The number of `object` in the archive, which is archived on first use.
  private func number(of object: AnyObject, _ type: Any.Type) throws(ArchiveError) -> Int {
    if let place = object as? CodedPlace { return try number(of: place.value ?? CodedDictionary(), type) }
    if let number = numbers[ObjectIdentifier(object)] {
      guard !isBeingEncoded.contains(number) else { throw .cycle(at: here) }
      return number
    }
    if let own = object as? NSObject, !ClassNames.isFoundation(Swift.type(of: own)) {
      let replacement = own.replacementObject(for: standIn).flatMap(Self.unwrapped)
      if replacement as AnyObject !== own { return try number(of: own, replacedBy: replacement) }
    }
    return try number(ofNew: object, type)
  }

  /// The number of what is archived instead of `object`; 0 for nil. The replacement is not replaced again.
  private func number(of object: NSObject, replacedBy replacement: Any?) throws(ArchiveError) -> Int {
    kept.append(object)
    guard let replacement else {
      // The elements of containers cannot be nil.
      needsRehearsal = true
      numbers[ObjectIdentifier(object)] = 0
      return 0
    }
    try requireConvertible(replacement)
    let other = replacement as AnyObject
    let number = numbers[ObjectIdentifier(other)] ?? objects.count
    // Set before the replacement is archived, because that may refer back to the object.
    numbers[ObjectIdentifier(object)] = number
    if number == objects.count { return try self.number(ofNew: other, Swift.type(of: replacement)) }
    guard !isBeingEncoded.contains(number) else { throw .cycle(at: here) }
    return number
  }

  /// The number of an object that is not in the archive yet, and is archived now.
  private func number(ofNew object: AnyObject, _ type: Any.Type) throws(ArchiveError) -> Int {
    let number = objects.count
    objects.append(0)
    numbers[ObjectIdentifier(object)] = number
    kept.append(object)
    if let scalar = try scalar(object) {
      objects[number] = scalar
      return number
    }
    guard depth <= limits.effectiveDepth else {
      throw .overLimit(.depth, allowed: limits.effectiveDepth, at: here)
    }
    isBeingEncoded.insert(number)
    frames.append(Frame())
    let (chain, codedClass): ([String], AnyClass) = try encodeFields(of: object, type)
    if let failure { throw failure }
    try claim(chain[0], for: codedClass)
    var frame = frames.removeLast()
    isBeingEncoded.remove(number)
    frame.set(builder.add(text: "$class"), builder.add(uid: self.number(ofClass: chain)))
    objects[number] = builder.add(keys: frame.keys, values: frame.values)
    return number
  }

  /// Encodes an object's fields.
  ///
  /// - Returns: the names of its class and of its superclasses, and the class, which may be the one that the object
  ///   names for coders.
  private func encodeFields(
    of object: AnyObject, _ type: Any.Type
  ) throws(ArchiveError) -> (chain: [String], codedClass: AnyClass) {
    func refused(_ reason: ArchiveError.NotArchivable) -> ArchiveError {
      .notArchivable(type: TypeNames.shown(type), reason: reason, at: here)
    }
    let ownClass: AnyClass = Swift.type(of: object)
    if ClassNames.isFoundation(ownClass) || object is CodedDictionary || object is CodedArray
      || object is OldStyleArray || object is PersonNameParts
    {
      guard let writer = ValueWriter.of(ownClass) else {
        let isBoxed = TypeNames.shown(ownClass) == "Swift value"
        throw refused(isBoxed ? .swiftValue : ownClass is any NSCoding.Type ? .notWritten : .notCoding)
      }
      if !Self.alwaysReadable.contains(writer.chain[0]) { needsRehearsal = true }
      try writer.write(object, FieldsWriter(archiver: self, className: writer.chain[0]))
      return (writer.chain, ownClass)
    }
    guard let coding = object as? any NSCoding else { throw refused(.notCoding) }
    guard ClassNames.foundationBase(of: ownClass) == nil else { throw refused(.notWritten) }
    let codedClass: AnyClass = (object as? NSObject)?.classForKeyedArchiver ?? ownClass
    if codedClass != ownClass {
      // Readers see only this class, so it must be one that they can build.
      guard !ClassNames.isFoundation(codedClass), ClassNames.foundationBase(of: codedClass) == nil,
        codedClass is any NSCoding.Type
      else { throw refused(.classForCoder) }
    }
    if requiresSecureCoding {
      for type in [ownClass, codedClass] {
        guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
          throw refused(.notSecure)
        }
      }
    }
    let chain = try chain(of: codedClass)
    coding.encode(with: self)
    return (chain, codedClass)
  }

  /// Classes whose objects can always be read if their contents can. For dictionaries, that also depends on their keys.
  private static let alwaysReadable: Set<String> = [
    "NSArray", "NSMutableArray", "NSDictionary", "NSMutableDictionary", "NSNull", "NSUUID", "NSDate",
  ]

  /// A string, number or data is archived as itself; `nil` for anything else.
  private func scalar(_ object: AnyObject) throws(ArchiveError) -> UInt32? {
    let ownClass: AnyClass = Swift.type(of: object)
    guard ClassNames.isFoundation(ownClass) else { return nil }
    switch object {
    case is NSMutableString, is NSMutableData, is NSDecimalNumber: return nil
    case let text as NSString: return builder.add(text: String(describing: text))
    case let data as NSData:
      dataObjectBytes = dataObjectBytes.saturatingSum(data.length)
      return builder.add(data: Data(referencing: data))
    case let number as NSNumber: return builder.add(number)
    // The one number of Swift's that Foundation on Linux does not make an object of.
    case let number as CGFloat: return builder.add(real: Double(number))
    default: return nil
    }
  }

  // MARK: Classes

  /// The names of one of the caller's classes and of its superclasses.
  private func chain(of type: AnyClass) throws(ArchiveError) -> [String] {
    if let name = classNames[ObjectIdentifier(type)] { return [name, "NSObject"] }
    var names: [String] = []
    var next: AnyClass? = type
    while let current = next {
      if ClassNames.isFoundation(current) { break }
      guard let name = classNames[ObjectIdentifier(current)] ?? TypeNames.stable(current) else {
        throw .noStableName(type: TypeNames.shown(current))
      }
      names.append(name)
      next = _getSuperclass(current)
    }
    return names + ["NSObject"]
  }

  /// Throws if another class was archived under `name`, because both would be read as one class.
  private func claim(_ name: String, for type: AnyClass) throws(ArchiveError) {
    if ClassNames.isFoundation(type) || ValueWriter.of(type) != nil { return }
    guard
      (claimed.updateValue(ObjectIdentifier(type), forKey: name) ?? ObjectIdentifier(type)) == ObjectIdentifier(type)
    else { throw .unusableClass(name: name, reason: .nameTaken) }
  }

  /// The number of the description of a class. The description follows the first object of the class and everything
  /// that this object holds.
  private func number(ofClass chain: [String]) -> Int {
    if let number = classNumbers[chain[0]] { return number }
    let names = chain.map { builder.add(text: $0) }
    let keys = [builder.add(text: "$classname"), builder.add(text: "$classes")]
    let number = objects.count
    objects.append(builder.add(keys: keys, values: [names[0], builder.add(array: names)]))
    classNumbers[chain[0]] = number
    return number
  }
}

extension PropertyListBuilder {
  /// Adds a number with its own width and kind.
  mutating func add(_ number: NSNumber) -> UInt32 {
    if number.isBoolean { return add(bool: number.boolValue) }
    switch unsafe UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "f"): return add(real: number.floatValue)
    case UInt8(ascii: "d"): return add(real: number.doubleValue)
    case UInt8(ascii: "Q"): return add(unsigned: number.uint64Value)
    default: return add(integer: number.int64Value)
    }
  }
}

/// Gives access to the value of an optional without knowing its type.
private protocol Wrapping {
  var wrappedValue: Any? { get }
}

extension Optional: Wrapping {
  fileprivate var wrappedValue: Any? { self }
}
