import Foundation

@testable import SecureCoding

/// A class for the archives in `cases`, with every field optional.
final class Dummy: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var number = 0
  var text: NSString?
  var flag: NSNumber?
  var array: [String]?
  var url: NSURL?
  var expression: NSRegularExpression?
  var keys: [String] = []

  override init() {}

  required init?(coder: NSCoder) {
    if coder.containsValue(forKey: "typeString") {
      text = coder.decodeObject(of: NSString.self, forKey: "typeString")
      flag = coder.decodeObject(of: NSNumber.self, forKey: "typeBool")
      number = coder.decodeObject(of: NSNumber.self, forKey: "typeInt")?.intValue ?? 0
    }
    if coder.containsValue(forKey: "foo") { text = coder.decodeObject(of: NSString.self, forKey: "foo") }
    array = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "arrayOfStrings") as? [String]
    url = coder.decodeObject(of: NSURL.self, forKey: "url")
    expression = coder.decodeObject(of: NSRegularExpression.self, forKey: "regex")
  }

  func encode(with coder: NSCoder) {}
}

final class Address: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let city: String

  init(city: String) { self.city = city }

  required init?(coder: NSCoder) {
    guard let city = coder.decodeObject(of: NSString.self, forKey: "city") else { return nil }
    self.city = city as String
  }

  func encode(with coder: NSCoder) { coder.encode(city as NSString, forKey: "city") }
}

final class Person: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let age: Int
  let address: Address?

  init(name: String, age: Int, address: Address?) {
    self.name = name
    self.age = age
    self.address = address
  }

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = name as String
    age = coder.decodeInteger(forKey: "age")
    address = coder.decodeObject(of: Address.self, forKey: "address")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name as NSString, forKey: "name")
    coder.encode(age, forKey: "age")
    coder.encode(address, forKey: "address")
  }
}

class Village: NSObject, NSSecureCoding {
  class var supportsSecureCoding: Bool { true }
  let city: String

  init(city: String) { self.city = city }

  required init?(coder: NSCoder) {
    guard let city = coder.decodeObject(of: NSString.self, forKey: "city") else { return nil }
    self.city = city as String
  }

  func encode(with coder: NSCoder) { coder.encode(city as NSString, forKey: "city") }
}

/// A subclass that archives do not name.
final class Disguised: Village { override var classForCoder: AnyClass { Village.self } }
/// A subclass that keyed archives do not name.
final class DisguisedInKeyedArchives: Village { override var classForKeyedArchiver: AnyClass? { Village.self } }
/// A class that names no other class for keyed archives.
final class Undisguised: Village { override var classForKeyedArchiver: AnyClass? { nil } }
