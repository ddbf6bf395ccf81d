import Foundation
import KeyedArchives

/// The classes that one decoding call accepts.
struct ClassSite {
  let classes: [AnyClass]
  let matching: ClassMatching

  /// Whether the call accepts an object of `type`. `immutable` is the class that `type` is the mutable variant of.
  func accepts(_ type: AnyClass, variantOf immutable: AnyClass?) -> Bool {
    for allowed in classes where allowed == type || allowed == immutable { return true }
    guard matching == .asOnApple else { return false }
    return ClassSite.implicit.contains { ClassNames.descends(type, from: $0) }
      || classes.contains { ClassNames.descends(type, from: $0) }
  }

  /// A site that accepts the classes `added` as well.
  func with(_ added: [AnyClass]) -> ClassSite { ClassSite(classes: classes + added, matching: matching) }

  var names: [String] { classes.map(ClassNames.name(of:)) }

  static let propertyList: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
  ]
  /// Classes that Apple's decoders accept without being asked for them.
  private static let implicit: [AnyClass] = [NSString.self, NSNumber.self, NSData.self, NSDate.self]
}

/// How the class of an archived object is compared with the classes that a decoding call names.
public enum ClassMatching: Sendable {
  /// Accepts the named classes, and the mutable variant of a named Foundation class. Strings, numbers and data are
  /// accepted only if named.
  case exact
  /// Behaves like Foundation on Apple's systems: also accepts subclasses of a named class, if they are on the list of
  /// ``AllowedClasses``, and strings, numbers, data and dates anywhere. This makes type confusion in your classes
  /// possible.
  case asOnApple
}
