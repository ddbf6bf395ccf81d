public import Foundation
public import KeyedArchives

extension SecureUnarchiver {
  func typedObject<T: NSObject>(_ type: T.Type, _ key: String) -> T? {
    attempt(nil) { () throws(ArchiveError) -> T? in
      guard let object = try decode(key, of: [type]) else { return nil }
      guard let typed = object as? T else { throw otherClass(than: type, key) }
      return typed
    }
  }

  func otherClass(than type: AnyClass, _ key: String) -> ArchiveError {
    .wrongType(expected: ClassNames.name(of: type), found: "an object of another class", at: here.appending(.key(key)))
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

  /// The object under `key`, of class `type`; nil if it is absent. Throws the first failure.
  public func decode<T>(_ type: T.Type, forKey key: String) throws(ArchiveError) -> T? where T: NSObject, T: NSCoding {
    let object = typedObject(type, key)
    try finish()
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
    if site.isInherited { frames[frames.count - 1].heirs.append(UInt32(node)) }
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
    table.value(under: key, in: frames[frames.count - 1].dictionary)
  }
}

extension SecureUnarchiver {
  /// The number under `key`; `absent` if there is none, or after a failure.
  func number<T>(
    _ key: String, _ absent: T, _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T
  ) -> T {
    attempt(absent) { () throws(ArchiveError) -> T in
      guard let position = node(forKey: key) else { return absent }
      return try number(table.list.nodes[position], .key(key), read)
    }
  }

  /// The number that a node holds.
  func number<T>(
    _ node: Node, _ step: ArchivePath.Step, _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T
  ) throws(ArchiveError) -> T {
    do {
      return try read(node, table.list)
    } catch .type {
      throw .wrongType(expected: "a number that converts to \(T.self)", found: node.words, at: here.appending(step))
    } catch {
      throw .numberDoesNotFit(type: "\(T.self)", at: here.appending(step))
    }
  }

  /// The inline data under `key`.
  func inlineBytes(_ key: String) -> ArraySlice<UInt8>? {
    attempt(nil) { () throws(ArchiveError) -> ArraySlice<UInt8>? in
      guard let position = node(forKey: key) else { return nil }
      let node = table.list.nodes[position]
      guard node.kind == .data else {
        throw .wrongType(expected: "data", found: node.words, at: here.appending(.key(key)))
      }
      return table.list.rawBytes(node)
    }
  }

  /// A string, number or data as an object.
  func scalar(_ node: Node) throws(ArchiveError) -> Any {
    switch node.kind {
    case .bool: return NSNumber(value: node.payload != 0)
    case .integer: return NSNumber(value: Int64(bitPattern: node.payload))
    case .unsigned: return NSNumber(value: node.payload)
    case .real:
      let value = Double(bitPattern: node.payload)
      return node.size == 4 ? NSNumber(value: Float(value)) : NSNumber(value: value)
    case .data: return NSData(data: try data(node))
    case .ascii, .utf8, .utf16:
      if let known = strings[node.start], known.node.kind == node.kind, known.node.size == node.size {
        return known.string
      }
      let string = NSString(string: try text(node))
      if node.size > 64 { strings[node.start] = (node, string) }
      return string
    case .wide: throw .numberDoesNotFit(type: "NSNumber", at: here)
    default: throw .wrongType(expected: "a string, number or data", found: node.words, at: here)
    }
  }

  /// The text of a string, charged to the budget.
  func text(_ node: Node) throws(ArchiveError) -> String {
    guard node.isString else { throw .wrongType(expected: "a string", found: node.words, at: here) }
    try budget.take(bytes: node.size, at: here)
    guard let text = table.list.text(node) else {
      throw .invalidValue(ofClass: "NSString", reason: "it holds a lone surrogate", at: here)
    }
    return text
  }

  /// The bytes of data, charged to the budget.
  func data(_ node: Node) throws(ArchiveError) -> Data {
    guard node.kind == .data else { throw .wrongType(expected: "data", found: node.words, at: here) }
    try budget.take(bytes: node.size, at: here)
    return Data(table.list.rawBytes(node))
  }
}

extension SecureUnarchiver {
  /// The next object without a key.
  func nextObject(_ classes: [AnyClass]?) -> Any? {
    attempt(nil) { () throws(ArchiveError) -> Any? in
      let site = try site(of: classes)
      guard let (position, step) = nextNode() else { return nil }
      path.append(step)
      let object = try value(position, at: site)
      path.removeLast()
      return object
    }
  }

  /// The next data without a key, inline or as an object.
  func nextData() -> Data? {
    (nextObject([NSData.self]) as? NSData).map { Data(referencing: $0) }
  }

  /// Writes the next number without a key to `target`, in the width of `type`. For other types, and after a failure,
  /// nothing is written.
  func nextValue(_ type: UnsafePointer<Int8>, into target: UnsafeMutableRawPointer) {
    let code = unsafe UInt8(bitPattern: type[0])
    guard unsafe code != 0 && type[1] == 0 else {
      return fail(.unsupportedCall("decodeValue(ofObjCType:at:) of more than one value", at: here))
    }
    switch code {
    case UInt8(ascii: "c"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int8.self))
    case UInt8(ascii: "C"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt8.self))
    case UInt8(ascii: "s"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int16.self))
    case UInt8(ascii: "S"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt16.self))
    case UInt8(ascii: "i"), UInt8(ascii: "l"):
      unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int32.self))
    case UInt8(ascii: "I"), UInt8(ascii: "L"):
      unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt32.self))
    case UInt8(ascii: "q"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: Int64.self))
    case UInt8(ascii: "Q"): unsafe next(Numbers.integer, into: target.assumingMemoryBound(to: UInt64.self))
    case UInt8(ascii: "f"): unsafe next(Numbers.float, into: target.assumingMemoryBound(to: Float.self))
    case UInt8(ascii: "d"): unsafe next(Numbers.double, into: target.assumingMemoryBound(to: Double.self))
    case UInt8(ascii: "B"): unsafe next(Numbers.bool, into: target.assumingMemoryBound(to: Bool.self))
    default: fail(.unsupportedCall("decodeValue(ofObjCType:at:) of this type", at: here))
    }
  }

  private func next<T>(
    _ read: (Node, PropertyList) throws(Numbers.Mismatch) -> T, into target: UnsafeMutablePointer<T>
  ) {
    let value = attempt(nil) { () throws(ArchiveError) -> T? in
      guard let (position, step) = nextNode() else { return nil }
      return try number(table.list.nodes[position], step, read)
    }
    if let value { unsafe target.pointee = value }
  }

  /// The position of the next value without a key; nil if there are no more.
  private func nextNode() -> (position: Int, step: ArchivePath.Step)? {
    let last = frames.count - 1
    let key = "$\(frames[last].unkeyed)"
    guard let position = node(forRawKey: key) else { return nil }
    frames[last].unkeyed += 1
    return (position, .key(key))
  }
}
