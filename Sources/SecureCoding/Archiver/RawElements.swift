import Foundation
// Only reflection shows how Foundation on Linux stores the elements of its containers.
@_spi(Reflection) internal import Swift

/// The original objects in Foundation's containers.
///
/// The public methods convert objects that have a Swift counterpart to Swift values. Then one object that occurs twice
/// becomes two, mutable objects become immutable, and a counted set comes out empty. So the stored objects are read
/// directly if the storage has the expected layout. Other containers are read by their public methods.
enum RawElements {
  static func of(_ array: NSArray) -> [AnyObject] {
    storedArray.value(in: array) ?? array.map { $0 as AnyObject }
  }

  static func of(_ set: NSSet) -> [AnyObject] {
    storedSet.value(in: set).map(Array.init) ?? set.allObjects.map { $0 as AnyObject }
  }

  static func of(_ set: NSOrderedSet) -> [AnyObject] {
    storedOrder.value(in: set).map(of) ?? set.array.map { $0 as AnyObject }
  }

  static func of(_ dictionary: NSDictionary) -> [(key: AnyObject, value: AnyObject)] {
    if let pairs = storedPairs.value(in: dictionary) { return pairs.map { ($0.key, $0.value) } }
    return dictionary.map { ($0.key as AnyObject, $0.value as AnyObject) }
  }

  private static let storedArray = StoredProperty<[AnyObject]>("_storage", of: [NSArray.self, NSMutableArray.self])
  private static let storedSet = StoredProperty<Set<NSObject>>(
    "_storage", of: [NSSet.self, NSMutableSet.self, NSCountedSet.self])
  private static let storedOrder = StoredProperty<NSArray>(
    "_orderedStorage", of: [NSOrderedSet.self, NSMutableOrderedSet.self])
  private static let storedPairs = StoredProperty<[NSObject: AnyObject]>(
    "_storage", of: [NSDictionary.self, NSMutableDictionary.self])
}

/// A stored property of some Foundation classes, used only if a class has it by this name and with exactly this type.
private struct StoredProperty<Value>: Sendable {
  private let offsets: [ObjectIdentifier: Int]

  init(_ name: String, of classes: [AnyClass]) {
    var offsets: [ObjectIdentifier: Int] = [:]
    for type in classes {
      // 1 is the option for classes. Its named constant cannot be used, because the compiler treats it as shared
      // mutable state.
      _ = unsafe _forEachField(of: type, options: _EachFieldOptions(rawValue: 1)) { field, offset, fieldType, _ in
        guard fieldType == Value.self, unsafe String(cString: field) == name else { return true }
        offsets[ObjectIdentifier(type)] = offset
        return false
      }
    }
    self.offsets = offsets
  }

  func value(in object: AnyObject) -> Value? {
    guard let offset = offsets[ObjectIdentifier(Swift.type(of: object))] else { return nil }
    return withExtendedLifetime(object) {
      unsafe Unmanaged.passUnretained(object).toOpaque().load(fromByteOffset: offset, as: Value.self)
    }
  }
}
