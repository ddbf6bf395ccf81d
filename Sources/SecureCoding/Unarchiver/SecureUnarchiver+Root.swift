public import Foundation
public import KeyedArchives

/// The calls that decode what an archive holds under `root`, with the names of Apple's unarchiver.
extension SecureUnarchiver {
  /// Decodes the object archived under `root` in `data`; nil if it is nil in the archive.
  ///
  /// - Parameters:
  ///   - type: the class that the object must have or inherit from.
  ///   - allowed: other classes that the archive holds: subclasses of `type`, elements of containers, and classes that
  ///     initializers ask for.
  ///   - data: a binary or XML keyed archive.
  ///   - matching: how each decoding call compares classes.
  ///   - limits: how much the archive may demand.
  ///
  /// Throws ``ArchiveError``.
  public static func unarchivedObject<T>(
    of type: T.Type, allowing allowed: [AnyClass] = [], from data: Data,
    matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> T? where T: NSObject, T: NSCoding {
    let object = try unarchivedObject(ofClasses: [type] + allowed, from: data, matching: matching, limits: limits)
    guard let object else { return nil }
    return try cast(object, to: type, at: ArchivePath([.key("root")]))
  }

  /// Decodes the object archived under `root` in `data`, in the spelling of Apple's unarchiver. Throws ``ArchiveError``.
  public static func unarchivedObject<T>(
    ofClass type: T.Type, from data: Data
  ) throws(ArchiveError) -> T? where T: NSObject, T: NSCoding { try unarchivedObject(of: type, from: data) }

  /// Decodes the object archived under `root` in `data`; nil if it is nil in the archive. The object, and the elements
  /// of containers in it, must be of one of `classes`. Throws ``ArchiveError``.
  public static func unarchivedObject(
    ofClasses classes: [AnyClass], from data: Data,
    matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> Any? {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: classes, matching: matching, limits: limits)
    try unarchiver.requireRoot()
    return try unarchiver.decode(classes, forKey: "root")
  }

  /// Decodes the array archived under `root` in `data`; nil if it is nil in the archive. Its elements must all have class
  /// `type`, or inherit from it and be in `allowed`. Nested arrays are refused. Throws ``ArchiveError``.
  public static func unarchivedArrayOfObjects<T>(
    ofClass type: T.Type, allowing allowed: [AnyClass] = [], from data: Data,
    matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [T]? where T: NSObject, T: NSCoding {
    let classes = [type] + allowed
    let unarchiver = try SecureUnarchiver(reading: data, allowing: classes, matching: matching, limits: limits)
    return try unarchiver.rootArray(of: type, classes)
  }

  /// Decodes the array archived under `root` in `data`; nil if it is nil in the archive. Its elements must each have one
  /// of `classes`. A nested container is refused unless its class is one of them. Throws ``ArchiveError``.
  public static func unarchivedArrayOfObjects(
    ofClasses classes: [AnyClass], from data: Data, matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [Any]? {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: classes, matching: matching, limits: limits)
    try unarchiver.requireRoot()
    let elements = unarchiver.decodeArrayOfObjects(ofClasses: classes, forKey: "root")
    try unarchiver.finish()
    return elements
  }

  /// Decodes the dictionary archived under `root` in `data`; nil if it is nil in the archive. Its keys must have class
  /// `keyType`, and its values class `type`, or inherit from it and be in `allowed`. Nested containers are refused.
  /// Throws ``ArchiveError``.
  public static func unarchivedDictionary<K, V>(
    ofKeyClass keyType: K.Type, objectClass type: V.Type, allowing allowed: [AnyClass] = [], from data: Data,
    matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [K: V]? where K: NSObject, K: NSCoding, V: NSObject, V: NSCoding {
    let unarchiver = try SecureUnarchiver(
      reading: data, allowing: [keyType, type] + allowed, matching: matching, limits: limits)
    return try unarchiver.rootDictionary(of: keyType, type, [type] + allowed)
  }

  /// Decodes the dictionary archived under `root` in `data`; nil if it is nil in the archive. Its keys must each have one
  /// of `keyClasses`, and its values one of `classes`. A nested container is refused unless its class is one of them. A
  /// key that Swift has a type for, such as a string, is of that type. Throws ``ArchiveError``.
  public static func unarchivedDictionary(
    ofKeyClasses keyClasses: [AnyClass], objectClasses classes: [AnyClass], from data: Data,
    matching: ClassMatching = .exact, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [AnyHashable: Any]? {
    let unarchiver = try SecureUnarchiver(
      reading: data, allowing: keyClasses + classes, matching: matching, limits: limits)
    try unarchiver.requireRoot()
    let dictionary = unarchiver.decodeDictionary(
      withKeyClasses: keyClasses, objectClasses: classes, forKey: "root")
    try unarchiver.finish()
    return dictionary
  }

  /// The array under `root`, whose elements must have one of `classes` and be a `T`; nil if it is nil in the archive.
  package func rootArray<T: NSObject>(of type: T.Type, _ classes: [AnyClass]) throws(ArchiveError) -> [T]? {
    try requireRoot()
    let elements = array(of: classes, "root")
    try finish()
    guard let elements else { return nil }
    var objects: [T] = []
    for (index, element) in elements.enumerated() {
      objects.append(try Self.cast(element, to: type, at: ArchivePath([.key("root"), .index(index)])))
    }
    return objects
  }

  /// The dictionary under `root`, whose values must have one of `classes` and be a `V`; nil if it is nil in the archive.
  package func rootDictionary<K: NSObject, V: NSObject>(
    of keyType: K.Type, _ type: V.Type, _ classes: [AnyClass]
  ) throws(ArchiveError) -> [K: V]? {
    try requireRoot()
    let pairs = elementPairs([keyType], classes, "root")
    try finish()
    guard let pairs else { return nil }
    var objects: [K: V] = [:]
    for (index, (key, value)) in pairs.enumerated() {
      let place = ArchivePath([.key("root"), .index(index)])
      objects[try Self.cast(key, to: keyType, at: place)] = try Self.cast(value, to: type, at: place)
    }
    return objects
  }

  /// `object` as a `T`. Throws if its class, which the caller allowed, is neither `type` nor a subclass.
  private static func cast<T: NSObject>(
    _ object: Any, to type: T.Type, at path: ArchivePath
  ) throws(ArchiveError) -> T {
    guard let typed = object as? T else {
      throw .wrongType(
        expected: ClassNames.name(of: type), found: "an object of class \(TypeNames.shown(Swift.type(of: object)))",
        at: path)
    }
    return typed
  }

  private func requireRoot() throws(ArchiveError) {
    guard containsValue(forKey: "root") else { throw .missingValue(at: ArchivePath([.key("root")])) }
  }
}
