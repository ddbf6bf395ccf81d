public import Foundation
public import KeyedArchives

extension SecureUnarchiver {
  func typedObject<T: NSObject>(_ type: T.Type, _ key: String) -> T? {
    attempt(nil) { () throws(ArchiveError) -> T? in
      guard let object = try decode(key, of: [type]) else { return nil }
      guard let typed = object as? T else {
        throw .wrongType(
          expected: ClassNames.name(of: type), found: "an object of another class", at: here.appending(.key(key)))
      }
      return typed
    }
  }

  func anyObject(_ classes: [AnyClass]?, _ key: String) -> Any? {
    attempt(nil) { () throws(ArchiveError) -> Any? in try decode(key, of: classes) }
  }

  /// The object under `key` of the object being decoded. Throws where the other calls return nil, for use in throwing
  /// initializers and at the top.
  public func require<T>(_ type: T.Type, forKey key: String) throws(ArchiveError) -> T where T: NSObject, T: NSCoding {
    let object = typedObject(type, key)
    if let failure { throw failure }
    guard let object else {
      let error = ArchiveError.missingValue(at: here.appending(.key(key)))
      fail(error)
      throw error
    }
    return object
  }

  /// The object under `key`, of one of `classes`; nil if it is absent. Throws the first failure.
  public func decode(_ classes: [AnyClass], forKey key: String) throws(ArchiveError) -> Any? {
    let object = anyObject(classes, key)
    try finish()
    return object
  }

  /// The value under `key`, checked against `classes`, or against the inherited classes if nil.
  func decode(_ key: String, of classes: [AnyClass]?) throws(ArchiveError) -> Any? {
    let site = try site(of: classes)
    guard let node = node(forKey: key) else { return nil }
    path.append(.key(key))
    let object = try value(node, at: site)
    path.removeLast()
    return object
  }

  /// The value of a node, which is a reference or an inline string, number or data.
  func value(_ node: Int, at site: ClassSite) throws(ArchiveError) -> Any? {
    let value = table.list.nodes[node]
    switch value.kind {
    case .uid: return try object(Int(value.payload), at: site)
    case .array, .dictionary, .date: throw .wrongType(expected: "an object", found: value.words, at: here)
    default:
      try check(ValueClass.of(value), at: site)
      return try scalar(value)
    }
  }

  /// The site of a call. Throws if it names `NSObject`, which would allow everything.
  func site(of classes: [AnyClass]?) throws(ArchiveError) -> ClassSite {
    guard let classes else { return frames[frames.count - 1].site }
    for type in classes where ObjectIdentifier(type) == ClassNames.rootClass {
      throw .unusableClass(name: "NSObject", reason: .everyClass)
    }
    return ClassSite(classes: classes, matching: matching)
  }

  /// The node under a key of the current fields. Archives put an extra `$` before keys that begin with one.
  func node(forKey key: String) -> Int? {
    node(forRawKey: key.utf8.first == UInt8(ascii: "$") ? "$" + key : key)
  }

  /// The node under a key in its archived spelling.
  func node(forRawKey key: String) -> Int? {
    guard let number = table.keys.number(of: key) else { return nil }
    return table.keys.value(number, at: frames[frames.count - 1].dictionary, in: table.list)
  }
}
