public import Foundation
public import KeyedArchives

extension SecureUnarchiver {
  /// Decodes the object archived under `root` in `data`; nil if it is nil in the archive.
  ///
  /// - Parameters:
  ///   - type: the class that the object must have.
  ///   - allowed: other classes of yours that the archive holds.
  ///   - data: a binary or XML keyed archive.
  ///   - limits: how much the archive may demand.
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

  /// Decodes the object archived under `root` in `data`; nil if it is nil in the archive. The object, and the elements
  /// of containers in it, must be of one of `classes`. Throws ``ArchiveError``.
  public static func unarchivedObject(
    ofClasses classes: [AnyClass], from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> Any? {
    try SecureUnarchiver(reading: data, allowing: classes, limits: limits).decodeRoot(classes)
  }

  /// Decodes the array archived under `root` in `data`, whose elements must all have class `type`. Nested arrays are
  /// refused. Throws ``ArchiveError``.
  public static func unarchivedArrayOfObjects<T>(
    ofClass type: T.Type, allowing allowed: [AnyClass] = [], from data: Data, limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [T]? where T: NSObject, T: NSCoding {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [type] + allowed, limits: limits)
    let objects = unarchiver.decodeArrayOfObjects(ofClass: type, forKey: "root")
    try unarchiver.finish()
    return objects
  }

  /// Decodes the dictionary archived under `root` in `data`, whose keys and values must have these classes. Nested
  /// containers are refused. Throws ``ArchiveError``.
  public static func unarchivedDictionary<K, V>(
    ofKeyClass keyType: K.Type, objectClass type: V.Type, allowing allowed: [AnyClass] = [], from data: Data,
    limits: ArchiveLimits = .standard
  ) throws(ArchiveError) -> [K: V]? where K: NSObject, K: NSCoding, V: NSObject, V: NSCoding {
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [keyType, type] + allowed, limits: limits)
    let objects = unarchiver.decodeDictionary(withKeyClass: keyType, objectClass: type, forKey: "root")
    try unarchiver.finish()
    return objects
  }

  /// The value under `root`. Throws if the archive has no such key.
  private func decodeRoot(_ classes: [AnyClass]) throws(ArchiveError) -> Any? {
    guard containsValue(forKey: "root") else { throw .missingValue(at: ArchivePath([.key("root")])) }
    return try decode(classes, forKey: "root")
  }
}
