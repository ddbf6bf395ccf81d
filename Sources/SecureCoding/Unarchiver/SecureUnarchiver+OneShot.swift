public import Foundation
public import KeyedArchives

extension SecureUnarchiver {
  /// The object that `data` archives under `root`; nil where it archives nil.
  ///
  /// - Parameters:
  ///   - type: the class that the object must have.
  ///   - allowed: further classes of yours that the archive holds.
  ///   - data: a binary or XML keyed archive.
  ///   - limits: what the archive may ask for.
  ///
  /// Throws ``ArchiveError``.
  public static func unarchivedObject<T>(
    of type: T.Type, allowing allowed: [AnyClass] = [], from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> T? where T: NSObject, T: NSCoding {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [type] + allowed, limits: limits)
    let object = try unarchiver.decodeRoot([type])
    guard let object else { return nil }
    guard let typed = object as? T else {
      throw .wrongType(expected: ClassNames.name(of: type), found: "another object", at: ArchivePath([.key("root")]))
    }
    return typed
  }

  /// The object that `data` archives under `root`, of one of `classes`, which also apply to what containers hold; nil
  /// where it archives nil. Throws ``ArchiveError``.
  public static func unarchivedObject(
    ofClasses classes: [AnyClass], from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> Any? {
    try SecureUnarchiver(reading: data, allowing: classes, limits: limits).decodeRoot(classes)
  }

  /// The array that `data` archives under `root`, whose elements all have class `type`; no arrays in it.
  /// Throws ``ArchiveError``.
  public static func unarchivedArrayOfObjects<T>(
    ofClass type: T.Type, allowing allowed: [AnyClass] = [], from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [T]? where T: NSObject, T: NSCoding {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [type] + allowed, limits: limits)
    let objects = unarchiver.decodeArrayOfObjects(ofClass: type, forKey: "root")
    try unarchiver.finish()
    return objects
  }

  /// The dictionary that `data` archives under `root`, whose keys and values have these classes; no containers in it.
  /// Throws ``ArchiveError``.
  public static func unarchivedDictionary<K, V>(
    ofKeyClass keyType: K.Type, objectClass type: V.Type, allowing allowed: [AnyClass] = [], from data: Data,
    limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [K: V]? where K: NSObject, K: NSCoding, V: NSObject, V: NSCoding {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [keyType, type] + allowed, limits: limits)
    let objects = unarchiver.decodeDictionary(withKeyClass: keyType, objectClass: type, forKey: "root")
    try unarchiver.finish()
    return objects
  }

  /// What `root` holds; throws where the archive has no such key.
  private func decodeRoot(_ classes: [AnyClass]) throws(ArchiveError) -> Any? {
    guard containsValue(forKey: "root") else { throw .missingValue(at: ArchivePath([.key("root")])) }
    return try decode(classes, forKey: "root")
  }
}
