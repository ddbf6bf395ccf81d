public import Foundation
import KeyedArchives

/// Methods that Apple's `NSCoder` has and Foundation on Linux lacks. With a ``SecureUnarchiver`` they work as
/// described. With any other coder, `decodeBytes` returns nil and containers are decoded by that coder's own methods.
extension NSCoder {
  /// The array under `key`, whose elements must all have class `cls`. Nested containers are refused.
  public func decodeArrayOfObjects<T>(ofClass cls: T.Type, forKey key: String) -> [T]? where T: NSObject, T: NSCoding {
    guard let objects = decodeArrayOfObjects(ofClasses: [cls], forKey: key) else { return nil }
    return objects as? [T] ?? refused(cls, key)
  }

  /// The array under `key`, whose elements must each have one of `classes`. A nested container is refused unless its
  /// class is one of them.
  public func decodeArrayOfObjects(ofClasses classes: [AnyClass], forKey key: String) -> [Any]? {
    guard let unarchiver = self as? SecureUnarchiver else {
      return (decodeObject(of: [NSArray.self] + classes, forKey: key) as? NSArray).map(Array.init)
    }
    return unarchiver.array(of: classes, key)
  }

  /// The dictionary under `key`, whose keys and values must all have these classes. Nested containers are refused.
  public func decodeDictionary<K, V>(
    withKeyClass keyCls: K.Type, objectClass: V.Type, forKey key: String
  ) -> [K: V]? where K: NSObject, K: NSCoding, V: NSObject, V: NSCoding {
    guard let pairs = pairs([keyCls], [objectClass], key) else { return nil }
    var dictionary: [K: V] = [:]
    for (foundKey, foundValue) in pairs {
      guard let foundKey = foundKey as? K else { return refused(keyCls, key) }
      guard let foundValue = foundValue as? V else { return refused(objectClass, key) }
      dictionary[foundKey] = foundValue
    }
    return dictionary
  }

  /// The dictionary under `key`, whose keys and values must each have one of these classes. A key that Swift has a type
  /// for, such as a string, a date or a UUID, is of that type, so `dictionary["name"]` finds it, as on Apple's systems;
  /// a number is an `NSNumber`.
  public func decodeDictionary(
    withKeyClasses keyClasses: [AnyClass], objectClasses: [AnyClass], forKey key: String
  ) -> [AnyHashable: Any]? {
    guard let pairs = pairs(keyClasses, objectClasses, key) else { return nil }
    var dictionary: [AnyHashable: Any] = [:]
    for (key, value) in pairs {
      let bridged = NSSet(object: key) as? Set<AnyHashable>
      dictionary[bridged?.first ?? AnyHashable(key)] = value
    }
    return dictionary
  }

  /// The bytes under `key`, valid as long as the coder exists; nil if there are none.
  public func decodeBytes(
    forKey key: String, returnedLength length: UnsafeMutablePointer<Int>?
  ) -> UnsafePointer<UInt8>? {
    let bytes = (self as? SecureUnarchiver)?.lentBytes(key)
    unsafe length?.pointee = bytes?.count ?? 0
    return unsafe bytes?.constantPointer
  }

  /// Records that an object under `key` is no `type`, which happens if classes are accepted as on Apple's systems.
  private func refused<Value>(_ type: AnyClass, _ key: String) -> Value? {
    if let unarchiver = self as? SecureUnarchiver { unarchiver.fail(unarchiver.otherClass(than: type, key)) }
    return nil
  }

  private func pairs(_ keyClasses: [AnyClass], _ classes: [AnyClass], _ key: String) -> [(NSObject, Any)]? {
    if let unarchiver = self as? SecureUnarchiver { return unarchiver.elementPairs(keyClasses, classes, key) }
    guard let dictionary = decodeObject(of: [NSDictionary.self] + keyClasses + classes, forKey: key) as? NSDictionary
    else { return nil }
    return dictionary.allKeys.compactMap { key in
      guard let object = key as? NSObject, let value = dictionary.object(forKey: key) else { return nil }
      return (object, value)
    }
  }
}

extension SecureUnarchiver {
  /// The elements of the array under `key`, each checked against `classes` alone.
  func array(of classes: [AnyClass], _ key: String) -> [Any]? {
    attempt(nil) { () throws(ArchiveError) -> [Any]? in
      guard let fields = try container(key, NSArray.self, site: try site(of: classes)) else { return nil }
      let elements = try fields.members().map(\.object)
      leaveContainer()
      return elements
    }
  }

  /// The keys and values of the dictionary under `key`, in the archive's order.
  func elementPairs(_ keyClasses: [AnyClass], _ classes: [AnyClass], _ key: String) -> [(NSObject, Any)]? {
    attempt(nil) { () throws(ArchiveError) -> [(NSObject, Any)]? in
      let site = try site(of: classes)
      guard let fields = try container(key, NSDictionary.self, site: site) else { return nil }
      let (keys, values) = try fields.pairs(keysAt: try self.site(of: keyClasses))
      let objects = try hashable(keys, in: .keys, fields)
      guard Set(objects).count == objects.count else { throw fields.twice }
      leaveContainer()
      return Array(zip(objects, values.map(\.object)))
    }
  }

  /// Enters the Foundation container under `key`; nil if it is absent or nil.
  private func container(_ key: String, _ type: AnyClass, site: ClassSite) throws(ArchiveError) -> Fields? {
    guard let position = node(forKey: key) else { return nil }
    path.append(.key(key))
    let node = table.list.nodes[position]
    guard node.kind == .uid else { throw .wrongType(expected: "an object", found: node.words, at: here) }
    let number = Int(node.payload)
    switch table.records[number] {
    case .null:
      path.removeLast()
      return nil
    case .instance(let position):
      guard case .value(let value) = entries[position], value.type == type || value.immutable == type else { break }
      guard !isBeingBuilt[number] else { throw .cycle(at: here) }
      guard frames.count <= limits.effectiveDepth else {
        throw .overLimit(.depth, allowed: limits.effectiveDepth, at: here)
      }
      isBeingBuilt[number] = true
      frames.append(Frame(dictionary: table.node(ofObject: number), site: site))
      entered.append(number)
      return Fields(coder: self, object: number, className: value.name, site: site)
    default: break
    }
    throw .classRefused(name: className(ofObject: number), allowed: [ClassNames.name(of: type)], at: here)
  }

  private func leaveContainer() {
    frames.removeLast()
    path.removeLast()
    if let number = entered.popLast() { isBeingBuilt[number] = false }
  }

  /// The name of the class of the object archived under `root`; nil if that is nil or absent.
  package var rootClassName: String? {
    guard let position = node(forKey: "root"), table.list.nodes[position].kind == .uid else { return nil }
    let number = Int(table.list.nodes[position].payload)
    if case .null = table.records[number] { return nil }
    return className(ofObject: number)
  }

  private func className(ofObject number: Int) -> String {
    if case .instance(let position) = table.records[number] { return table.classes[position].name }
    return ValueClass.of(table.list.nodes[table.node(ofObject: number)]).name
  }

  /// The bytes under `key`, at an address that is valid as long as this unarchiver exists.
  fileprivate func lentBytes(_ key: String) -> LentBytes? {
    guard let bytes = inlineBytes(key) else { return nil }
    return attempt(nil) { () throws(ArchiveError) -> LentBytes? in
      try budget.take(bytes: bytes.count, at: here)
      let copy = LentBytes(bytes)
      lent.append(copy)
      return copy
    }
  }
}
