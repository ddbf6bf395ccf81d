import Foundation

/// The names of classes, without any lookup in the runtime.
///
/// Foundation's `NSStringFromClass` ends the process for a nested class, so it is not used.
enum ClassNames {
  /// `Module.Person`; for Foundation's own classes the name used in archives, such as `NSArray`.
  static func name(of type: AnyClass) -> String {
    let name = _typeName(type, qualified: true)
    return name.hasPrefix(foundation) ? String(name.dropFirst(foundation.count)) : name
  }

  static func isFoundation(_ type: AnyClass) -> Bool {
    let name = _typeName(type, qualified: true)
    return name.hasPrefix(foundation) || name.hasPrefix("FoundationNetworking.") || name.hasPrefix("FoundationXML.")
  }

  /// Whether `type` is `ancestor` or inherits from it.
  static func descends(_ type: AnyClass, from ancestor: AnyClass) -> Bool {
    var next: AnyClass? = type
    while let current = next {
      if current == ancestor { return true }
      next = _getSuperclass(current)
    }
    return false
  }

  /// The nearest superclass that Foundation defines; nil if there is none or it is `NSObject`.
  static func foundationBase(of type: AnyClass) -> AnyClass? {
    var next: AnyClass? = _getSuperclass(type)
    while let current = next {
      if isFoundation(current) { return ObjectIdentifier(current) == rootClass ? nil : current }
      next = _getSuperclass(current)
    }
    return nil
  }

  private static let foundation = "Foundation."
  static let rootClass = ObjectIdentifier(NSObject.self)
}
