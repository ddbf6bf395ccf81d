import Foundation
import KeyedArchives

/// The classes that one decoding call accepts.
struct ClassSite {
  let classes: [AnyClass]
  let matching: ClassMatching

  /// Whether an object of `type` may stand here. `immutable` is the class that `type` is the mutable variant of.
  func accepts(_ type: AnyClass, variantOf immutable: AnyClass?) -> Bool {
    for allowed in classes where allowed == type || allowed == immutable { return true }
    guard matching == .asOnApple else { return false }
    return ClassSite.implicit.contains { ClassNames.descends(type, from: $0) }
      || classes.contains { ClassNames.descends(type, from: $0) }
  }

  /// The site for the elements of what stands here.
  func with(_ added: [AnyClass]) -> ClassSite { ClassSite(classes: classes + added, matching: matching) }

  var names: [String] { classes.map(ClassNames.name(of:)) }

  static let propertyList: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSData.self, NSDate.self,
  ]
  /// What Apple's decoders let pass unasked.
  private static let implicit: [AnyClass] = [NSString.self, NSNumber.self, NSData.self, NSDate.self]
}

/// How the class of an archived object is compared with the classes that a decoding call asks for.
public enum ClassMatching: Sendable {
  /// The classes named, and for Foundation's own the mutable variant where the immutable class is named. Strings,
  /// numbers and data only where they are named.
  case exact
  /// As Foundation does on Apple's systems: also subclasses of a class that is named, as far as they are on the list of
  /// ``AllowedClasses``, and strings, numbers, data and dates anywhere. It makes type confusion in your classes possible.
  case asOnApple
}
