import Foundation
// How Foundation on Linux keeps the elements of its containers is told by reflection alone.
@_spi(Reflection) internal import Swift

/// The very objects in Foundation's containers.
///
/// Their public calls give Swift values for the objects that have a Swift counterpart: what was one object twice becomes two,
/// what could be changed no longer can, and a counted set comes out empty. So the stored objects are looked at, where they
/// are as expected; a container of another making is read by the public calls.
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

/// A stored property of some classes of Foundation, where each has it by this name and of exactly this type.
private struct StoredProperty<Value>: Sendable {
  private let offsets: [ObjectIdentifier: Int]

  init(_ name: String, of classes: [AnyClass]) {
    var offsets: [ObjectIdentifier: Int] = [:]
    for type in classes {
      // The option for classes, whose name the compiler calls shared mutable state.
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
