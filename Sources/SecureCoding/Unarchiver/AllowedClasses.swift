import Foundation
public import KeyedArchives

/// The classes that an unarchiver may build, by the names that archives have for them: a closed list.
///
/// Names in an archive are compared with the names on the list; no class is ever looked up by a name that an archive
/// gives, and neither a subclass nor what an archive says about superclasses adds anything. The list names every class of
/// yours that the archive may hold, at any depth. Foundation's property-list classes, `NSURL`, `NSUUID` and `NSNull` need
/// not be listed to be present in the archive; like all others they must be allowed where they are decoded.
public struct AllowedClasses: Sendable {
  /// The classes on the list, in the order in which they were added.
  public private(set) var classes: [AnyClass] = []
  private var byName: [String: Entry] = [:]
  private var names: [String] = []
  /// Classes of Foundation that those on the list consist of.
  private var needed: Set<String> = []

  /// What a name stands for.
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

  /// An empty list: only property-list values, which still must be allowed where they are decoded.
  public init() {}

  /// A list of `classes`, each under its own name. Throws ``ArchiveError/unusableClass(name:reason:)``.
  public init(_ classes: [AnyClass]) throws(ArchiveError) {
    for type in classes { try allow(type) }
  }

  /// Adds `type`, under its own name and under `names`, which archives may have for it: an Objective-C name, or one that
  /// it had before it was renamed or moved to another module.
  ///
  /// Throws ``ArchiveError/unusableClass(name:reason:)`` where `type` is `NSObject`, does not adopt `NSSecureCoding` or
  /// does not support it, descends from a class of Foundation (whose `init(coder:)` would end the process), or where a
  /// name is another class's. The list is not changed then.
  public mutating func allow(_ type: AnyClass, named names: String...) throws(ArchiveError) {
    try add(type, named: names, insecurely: false)
  }

  /// As ``allow(_:named:)``, for a class that adopts `NSCoding` only and so never checks what it decodes: whoever writes
  /// the archive decides what its fields hold. Only for archives whose writer you trust.
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

  /// What an archive's name for a class stands for; nil where it is not on the list.
  func entry(named name: String) -> Entry? {
    if let entry = byName[name] { return entry }
    guard let value = ValueClass.named(name) else { return nil }
    return value.isAlwaysKnown || needed.contains(name) ? .value(value) : nil
  }

  /// The names on the list, for an error.
  var allNames: [String] { names }
}
