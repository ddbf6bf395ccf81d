import Foundation
import KeyedArchives

/// The names of classes, without any lookup in the runtime.
///
/// Foundation's `NSStringFromClass` ends the process for a nested class, so it is not used.
package enum ClassNames {
  /// `Module.Person`; for Foundation's own classes the name used in archives, such as `NSArray`.
  package static func name(of type: Any.Type) -> String {
    let name = _typeName(type, qualified: true)
    return name.hasPrefix(foundation) ? String(name.dropFirst(foundation.count)) : name
  }

  package static func isFoundation(_ type: AnyClass) -> Bool {
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

/// The names of Swift types in archives.
enum TypeNames {
  /// The key, next to `root`, under which an archive names the Swift type that it holds.
  static let key = "vault.type"

  /// `Module.Person`; `nil` for a private, local or generic type, whose name does not mean the same in another program.
  ///
  /// Standard containers have a name if their elements have one: `Swift.Array<Module.Person>`.
  static func stable(_ type: Any.Type) -> String? {
    let name = canonical(_typeName(type, qualified: true))
    guard !name.contains("("), !name.contains(" in ") else { return nil }
    var rest = name[...]
    while let bracket = rest.firstIndex(of: "<") {
      let head = rest[..<bracket].split { "<,> ".contains($0) }.last ?? ""
      guard containers.contains(String(head)) else { return nil }
      rest = rest[rest.index(after: bracket)...]
    }
    return name
  }

  /// The name with `Foundation` in place of the modules that Foundation consists of.
  ///
  /// Which of them declares a type differs between toolchains: `FoundationEssentials.Date` was `Foundation.Date`.
  static func canonical(_ name: String) -> String {
    var result = ""
    var rest = name[...]
    while !rest.isEmpty {
      if let part = foundationParts.first(where: rest.hasPrefix) {
        result += "Foundation."
        rest = rest.dropFirst(part.count)
      }
      // The next name begins after a bracket, a comma or a space.
      let next = rest.firstIndex { "<, ".contains($0) }.map(rest.index(after:)) ?? rest.endIndex
      result += rest[..<next]
      rest = rest[next...]
    }
    return result
  }

  /// The name of a type in error messages.
  static func shown(_ type: Any.Type) -> String {
    let name = canonical(_typeName(type, qualified: true))
    if name == "Foundation.__SwiftValue" { return "Swift value" }
    // The name of a local type contains a memory address.
    return name.split(separator: ".").filter { !$0.hasPrefix("(unknown context") }.joined(separator: ".")
  }

  private static let foundationParts = ["FoundationEssentials.", "FoundationInternationalization."]
  private static let containers: Set<String> = ["Swift.Array", "Swift.Dictionary", "Swift.Optional", "Swift.Set"]
}

/// The classes that one decoding call accepts.
struct ClassSite {
  let classes: [AnyClass]
  let matching: ClassMatching
  /// Whether the classes are those of an enclosing call.
  var isInherited = false

  /// Whether the call accepts an object of `type`. `immutable` is the class that `type` is the mutable variant of. A
  /// class that is not on the list of allowed classes is never accepted as a subclass of another.
  func accepts(_ type: AnyClass, variantOf immutable: AnyClass?, isListed: @autoclosure () -> Bool = true) -> Bool {
    for allowed in classes where allowed == type || allowed == immutable { return true }
    guard matching == .asOnApple else { return false }
    for implicit in ClassSite.implicit where implicit == type || implicit == immutable { return true }
    guard isListed() else { return false }
    return ClassSite.implicit.contains { ClassNames.descends(type, from: $0) }
      || classes.contains { ClassNames.descends(type, from: $0) }
  }

  /// The site of calls inside an object that name no class. It accepts the classes `added` as well.
  func inherited(adding added: [AnyClass]) -> ClassSite {
    let missing = added.filter { type in !classes.contains { $0 == type } }
    return ClassSite(
      classes: missing.isEmpty ? classes : classes + missing, matching: matching, isInherited: true)
  }

  func hasSameClasses(as other: ClassSite) -> Bool { classes.elementsEqual(other.classes) { $0 == $1 } }

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
