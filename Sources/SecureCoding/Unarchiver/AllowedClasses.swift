import Foundation
public import KeyedArchives

/// The closed list of classes that an unarchiver may build, by their names in archives.
///
/// Names in an archive are compared with the names on the list. No class is ever looked up by a name from an archive,
/// and neither subclasses nor the superclasses that an archive claims extend the list. List every class that the
/// archive may hold, at any depth, yours and Foundation's. Only arrays, dictionaries, sets and ordered sets, strings,
/// numbers and decimal numbers, data, dates, `NSURL`, `NSUUID` and `NSNull` may be present in the archive without being
/// listed. Like all other classes, they must be allowed by the call that decodes them.
public struct AllowedClasses: Sendable {
  /// The classes on the list, in the order in which they were added.
  public private(set) var classes: [AnyClass] = []
  private var byName: [String: Entry] = [:]
  /// The names on the list, for an error.
  private(set) var names: [String] = []
  /// Foundation classes that appear in the archived form of those on the list.
  private var needed: Set<String> = []

  /// The meaning of a name.
  enum Entry: Sendable {
    /// A class of Foundation, built by this module.
    case value(ValueClass)
    /// A class whose own `init(coder:)` builds it.
    case user(AnyClass)

    var type: AnyClass {
      switch self {
      case .value(let value): value.type
      case .user(let type): type
      }
    }
  }

  /// Creates an empty list. It admits only the classes that need not be listed, which must still be allowed by the call
  /// that decodes them.
  public init() {}

  /// Creates a list of `classes`, each under its own name. Throws ``ArchiveError/unusableClass(name:reason:)``.
  public init(_ classes: [AnyClass]) throws(ArchiveError) {
    for type in classes { try allow(type) }
  }

  /// Adds `type` under its own name and under `names`, its other names in archives: an Objective-C name, or a name from
  /// before the class was renamed or moved to another module.
  ///
  /// Throws ``ArchiveError/unusableClass(name:reason:)`` if `type` is `NSObject`, does not adopt or support
  /// `NSSecureCoding`, or inherits from a Foundation class (whose `init(coder:)` would end the process), or if a name
  /// belongs to another class. The list is not changed in that case.
  public mutating func allow(_ type: AnyClass, named names: String...) throws(ArchiveError) {
    try add(type, named: names, insecurely: false)
  }

  /// As ``allow(_:named:)``, for a class that adopts only `NSCoding` and so does not check the classes that it decodes:
  /// the writer of the archive decides which objects its fields hold. Only for archives whose writer you trust.
  public mutating func allowInsecurely(_ type: AnyClass, named names: String...) throws(ArchiveError) {
    try add(type, named: names, insecurely: true)
  }

  private mutating func add(_ type: AnyClass, named added: [String], insecurely: Bool) throws(ArchiveError) {
    let ownName = ClassNames.name(of: type)
    let entries = try entries(for: type, named: ownName, insecurely: insecurely)
    var all = entries
    guard let first = entries.first?.entry else { return }
    all += added.map { ($0, first) }
    for (name, entry) in all {
      if let present = byName[name] ?? ValueClass.named(name).map(Entry.value), present.type != entry.type {
        throw .unusableClass(name: name, reason: .nameTaken)
      }
    }
    for (name, entry) in all where byName.updateValue(entry, forKey: name) == nil { names.append(name) }
    for case .value(let value) in all.map(\.entry) { needed.formUnion(value.parts) }
    classes.append(type)
  }

  private func entries(
    for type: AnyClass, named name: String, insecurely: Bool
  ) throws(ArchiveError) -> [(name: String, entry: Entry)] {
    guard ObjectIdentifier(type) != ClassNames.rootClass else { throw .unusableClass(name: name, reason: .everyClass) }
    let values = ValueClass.all(for: type)
    if !values.isEmpty { return values.map { ($0.name, .value($0)) } }
    guard !ClassNames.isFoundation(type) else { throw .unusableClass(name: name, reason: .notBuilt) }
    guard type is any NSCoding.Type else { throw .unusableClass(name: name, reason: .notCoding) }
    guard ClassNames.foundationBase(of: type) == nil else {
      throw .unusableClass(name: name, reason: .foundationSubclass)
    }
    if !insecurely {
      guard let secure = type as? any NSSecureCoding.Type, secure.supportsSecureCoding else {
        throw .unusableClass(name: name, reason: .notSecure)
      }
    }
    return [(name, .user(type))]
  }

  /// The entry for a class name from an archive; nil if it is not on the list.
  func entry(named name: String) -> Entry? {
    if let entry = byName[name] { return entry }
    guard let value = ValueClass.named(name) else { return nil }
    return value.isAlwaysKnown || needed.contains(name) ? .value(value) : nil
  }

  /// Whether the caller listed the class, instead of it being admitted without.
  func lists(_ value: ValueClass) -> Bool { byName[value.name] != nil || needed.contains(value.name) }
}
