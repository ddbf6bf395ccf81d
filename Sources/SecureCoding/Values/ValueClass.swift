import Foundation
import KeyedArchives

/// A Foundation class that this module builds itself, under one of its names in archives.
///
/// The `init(coder:)` of these classes requires Foundation's own unarchiver and ends the process on unexpected fields.
/// So each object is built here from its fields, which are checked first.
struct ValueClass: Sendable {
  let name: String
  let type: AnyClass
  /// The class that this is the mutable variant of.
  let immutable: AnyClass?
  /// The classes that its contents may have besides those of the decoding call.
  let added: [AnyClass]
  let build: @Sendable (Fields) throws(ArchiveError) -> Any

  init(
    _ name: String, _ type: AnyClass, variantOf immutable: AnyClass? = nil, adding added: [AnyClass] = [],
    build: @escaping @Sendable (Fields) throws(ArchiveError) -> Any
  ) {
    self.name = name
    self.type = type
    self.immutable = immutable
    self.added = added
    self.build = build
  }

  /// The names of other classes in its archived form.
  var parts: [String] { FoundationClasses.parts(of: name) }
  /// Whether an archive may hold it even if it is not on the list.
  var isAlwaysKnown: Bool { FoundationClasses.alwaysKnown.contains(name) }

  /// All classes that this module builds.
  static let everything: [ValueClass] =
    texts + collections + hashedCollections + plainValues + decimals + times + calendars + values + indexes
    + characterSets + attributedTexts + expressions + measurements + records

  static func named(_ name: String) -> ValueClass? { byName[name] }

  /// The entries for `type`: one for each of its names, and those of its mutable variant.
  static func all(for type: AnyClass) -> [ValueClass] { byType[ObjectIdentifier(type)] ?? [] }

  /// The class of a string, number or data that is archived without one.
  static func of(_ node: Node) -> ValueClass {
    switch node.kind {
    case .data: data
    case .ascii, .utf8, .utf16: string
    default: number
    }
  }

  private static let byName = Dictionary(everything.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  private static let byType: [ObjectIdentifier: [ValueClass]] = {
    var byType: [ObjectIdentifier: [ValueClass]] = [:]
    for value in everything {
      byType[ObjectIdentifier(value.type), default: []].append(value)
      if let immutable = value.immutable { byType[ObjectIdentifier(immutable), default: []].append(value) }
    }
    return byType
  }()

  private static let data = ValueClass("NSData", NSData.self) { fields throws(ArchiveError) in
    NSData(data: try fields.data("NS.data"))
  }
  private static let string = ValueClass("NSString", NSString.self) { fields throws(ArchiveError) in
    NSString(string: try textField(fields))
  }
  private static let number = ValueClass("NSNumber", NSNumber.self) { fields throws(ArchiveError) in
    throw fields.invalid("a number cannot be an object with fields")
  }

  private static let texts = [
    string, data, number,
    ValueClass("NSMutableString", NSMutableString.self, variantOf: NSString.self) {
      fields throws(ArchiveError) in
      NSMutableString(string: try textField(fields))
    },
    ValueClass("NSMutableData", NSMutableData.self, variantOf: NSData.self) {
      fields throws(ArchiveError) in
      NSMutableData(data: fields.has("NS.data") ? try fields.data("NS.data") : try fields.data("NS.bytes"))
    },
  ]

  /// `NS.string`, or UTF-8 in `NS.bytes`.
  private static func textField(_ fields: Fields) throws(ArchiveError) -> String {
    if fields.has("NS.bytes") {
      guard let text = String(validating: try fields.data("NS.bytes"), as: UTF8.self) else {
        throw fields.invalid("'NS.bytes' is not UTF-8")
      }
      return text
    }
    return try fields.text("NS.string")
  }
}

/// Archives objects of a Foundation class with the keys and types that Apple's systems use.
///
/// The `encode(with:)` of these classes requires Foundation's own archiver and ends the process with any other.
struct ValueWriter: Sendable {
  let type: AnyClass
  /// The names of the class and its superclasses in archives.
  let chain: [String]
  let write: @Sendable (AnyObject, FieldsWriter) throws(ArchiveError) -> Void

  init<Object: NSObject>(
    _ type: Object.Type, _ names: String...,
    write: @escaping @Sendable (Object, FieldsWriter) throws(ArchiveError) -> Void
  ) {
    self.type = type
    chain = names + ["NSObject"]
    self.write = { (object, fields) throws(ArchiveError) in
      guard let object = object as? Object else { throw fields.refused(.notWritten) }
      try write(object, fields)
    }
  }

  private static let everything: [ValueWriter] =
    plain + containers + times + numbers + indexes + texts + records + measurements + own

  private static let byType = Dictionary(
    everything.map { (ObjectIdentifier($0.type), $0) }, uniquingKeysWith: { first, _ in first })

  /// The writer for a Foundation class, which may be a private subclass of a known one.
  static func of(_ type: AnyClass) -> ValueWriter? {
    var next: AnyClass? = type
    while let current = next {
      if let writer = byType[ObjectIdentifier(current)] { return writer }
      next = _getSuperclass(current)
    }
    return nil
  }
}
