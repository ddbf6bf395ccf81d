import Foundation
import SecureCoding

// Decodes and encodes one archive many times with Foundation and with ours, in turn, and prints the medians as JSON.
//   Archives [PERSONS]     1,000 by default; 6,200 make about 1.5 MB

final class Address: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let street: NSString
  let city: NSString

  init(street: String, city: String) {
    self.street = street as NSString
    self.city = city as NSString
  }

  required init?(coder: NSCoder) {
    guard let street = coder.decodeObject(of: NSString.self, forKey: "street"),
      let city = coder.decodeObject(of: NSString.self, forKey: "city")
    else { return nil }
    self.street = street
    self.city = city
  }

  func encode(with coder: NSCoder) {
    coder.encode(street, forKey: "street")
    coder.encode(city, forKey: "city")
  }
}

final class Person: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: NSString
  let age: Int
  let address: Address

  init(name: String, age: Int, address: Address) {
    self.name = name as NSString
    self.age = age
    self.address = address
  }

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
      let address = coder.decodeObject(of: Address.self, forKey: "address")
    else { return nil }
    self.name = name
    age = coder.decodeInteger(forKey: "age")
    self.address = address
  }

  func encode(with coder: NSCoder) {
    coder.encode(name, forKey: "name")
    coder.encode(age, forKey: "age")
    coder.encode(address, forKey: "address")
  }
}

let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000
let people = (0..<count).map {
  Person(name: "Person \($0)", age: $0 % 90, address: Address(street: "Street \($0)", city: "City \($0 % 50)"))
}
let data = try NSKeyedArchiver.archivedData(withRootObject: people as NSArray, requiringSecureCoding: true)
let classes: [AnyClass] = [NSArray.self, NSString.self, Person.self, Address.self]

func milliseconds<Result>(_ body: () throws -> Result, _ isRight: (Result) -> Bool) rethrows -> Double {
  let start = ContinuousClock.now
  let result = try body()
  let duration = ContinuousClock.now - start
  precondition(isRight(result))
  return duration / .milliseconds(1)
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

var (theirs, ours, theirWriting, ourWriting): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
for _ in 0..<(count > 5_000 ? 7 : 31) {
  let isRight = { (object: Any?) in (object as? NSArray)?.count == count }
  theirs.append(try milliseconds({ try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) }, isRight))
  ours.append(try milliseconds({ try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: data) }, isRight))
  theirWriting.append(
    try milliseconds({ try NSKeyedArchiver.archivedData(withRootObject: people as NSArray, requiringSecureCoding: true) }) {
      $0.count > 20 * count
    })
  ourWriting.append(try milliseconds({ try SecureArchiver.archivedData(withRootObject: people) }) { $0.count > 20 * count })
}
let (their, our) = (median(theirs), median(ours))
let (theirWritten, ourWritten) = (median(theirWriting), median(ourWriting))
print(
  "{\"persons\":\(count),\"bytes\":\(data.count),\"foundation_ms\":\(their),\"securecoding_ms\":\(our),"
    + "\"ratio\":\(our / their),\"encoding_foundation_ms\":\(theirWritten),\"encoding_ms\":\(ourWritten),"
    + "\"encoding_ratio\":\(ourWritten / theirWritten)}"
)
