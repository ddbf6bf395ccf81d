import Foundation
import KeyedArchives

extension ValueClass {
  /// Errors, notifications and person names.
  static let records = [
    ValueClass(
      "NSError", NSError.self,
      adding: ClassSite.propertyList + [NSURL.self, NSUUID.self, NSNull.self, NSError.self], build: error),
    ValueClass("NSNotification", NSNotification.self, adding: ClassSite.propertyList, build: notification),
    ValueClass("NSPersonNameComponents", NSPersonNameComponents.self) { fields throws(ArchiveError) in
      let name = try fields.objectIfPresent("NS.nameComponentsPrivate", of: NSPersonNameComponents.self)
      if let name { return name }
      return try personName(fields)
    },
    ValueClass(FoundationClasses.personName, NSPersonNameComponents.self, build: personName),
  ]

  private static func error(_ fields: Fields) throws(ArchiveError) -> Any {
    let information = try fields.objectIfPresent("NSUserInfo")
    let (domain, code) = (try fields.text("NSDomain"), try fields.integer("NSCode"))
    // Asking Foundation on Linux for the description of a POSIX error beyond 32 bits ends the process.
    guard domain != NSPOSIXErrorDomain || Int32(exactly: code) != nil else {
      throw fields.invalid("its code is not a POSIX code")
    }
    return NSError(
      domain: domain, code: code,
      userInfo: try information.map { object throws(ArchiveError) in try strings(object, "NSUserInfo", fields) })
  }

  private static func notification(_ fields: Fields) throws(ArchiveError) -> Any {
    let name = NSNotification.Name(try fields.text("NS.name"))
    let object = try fields.objectIfPresent("NS.object")
    let information = try fields.objectIfPresent("NS.userinfo")
    return NSNotification(
      name: name, object: object,
      userInfo: try information.map { object throws(ArchiveError) in try strings(object, "NS.userinfo", fields) })
  }

  /// The dictionary with string keys under `key`, as a Swift dictionary.
  private static func strings(
    _ object: Any, _ key: String, _ fields: Fields
  ) throws(ArchiveError) -> [String: Any] {
    try fields.coder.budget.take(comparisons: fields.conversion(of: key), at: fields.coder.here)
    guard let dictionary = object as? NSDictionary else { throw fields.invalid("its information is not a dictionary") }
    var strings: [String: Any] = [:]
    for key in dictionary.allKeys {
      guard let text = key as? NSString else { throw fields.invalid("a key of its information is not a string") }
      strings[String(describing: text)] = dictionary.object(forKey: key)
    }
    return strings
  }

  /// A name from its parts. Apple's systems archive them in an object of a class of their own, Foundation on Linux in
  /// the name itself.
  private static func personName(_ fields: Fields) throws(ArchiveError) -> Any {
    let name = NSPersonNameComponents()
    name.namePrefix = try fields.textIfPresent("NS.namePrefix")
    name.givenName = try fields.textIfPresent("NS.givenName")
    name.middleName = try fields.textIfPresent("NS.middleName")
    name.familyName = try fields.textIfPresent("NS.familyName")
    name.nameSuffix = try fields.textIfPresent("NS.nameSuffix")
    name.nickname = try fields.textIfPresent("NS.nickname")
    let phonetic = try fields.objectIfPresent("NS.phoneticRepresentation", of: NSPersonNameComponents.self)
    name.phoneticRepresentation = phonetic.map { $0 as PersonNameComponents }
    return name
  }
}

extension ValueWriter {
  /// Errors, notifications and person names.
  static let records = [
    ValueWriter(NSError.self, "NSError") { error, fields throws(ArchiveError) in
      fields.object("NSDomain", error.domain)
      fields.integer("NSCode", error.code)
      fields.object("NSUserInfo", error.userInfo.isEmpty ? nil : error.userInfo)
    },
    ValueWriter(NSNotification.self, "NSNotification") { notification, fields throws(ArchiveError) in
      fields.object("NS.name", notification.name.rawValue)
      fields.object("NS.object", notification.object)
      fields.object("NS.userinfo", notification.userInfo)
    },
    ValueWriter(NSPersonNameComponents.self, "NSPersonNameComponents") { name, fields throws(ArchiveError) in
      let parts = PersonNameParts(name)
      fields.object("NS.nameComponentsPrivate", parts)
      // Foundation on Linux requires these.
      for (key, text) in parts.texts { fields.object(key, text) }
    },
    ValueWriter(PersonNameParts.self, FoundationClasses.personName) { parts, fields throws(ArchiveError) in
      for (key, text) in parts.texts { fields.object(key, text) }
      fields.object("NS.phoneticRepresentation", parts.phonetic)
    },
  ]
}

/// The parts of a person's name, in the order in which Apple's systems archive them.
final class PersonNameParts: NSObject {
  let texts: [(key: String, text: NSString?)]
  let phonetic: NSPersonNameComponents?

  init(_ name: NSPersonNameComponents) {
    texts = [
      ("NS.givenName", name.givenName), ("NS.familyName", name.familyName), ("NS.middleName", name.middleName),
      ("NS.namePrefix", name.namePrefix), ("NS.nameSuffix", name.nameSuffix), ("NS.nickname", name.nickname),
    ].map { ($0, $1.map { NSString(string: $0) }) }
    phonetic = name.phoneticRepresentation.map { $0 as NSPersonNameComponents }
  }
}
