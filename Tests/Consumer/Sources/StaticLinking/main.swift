import Foundation
import KeychainItems
import SecureCoding
import VaultFoundation

// Linked with `--static-swift-stdlib`, a program has only those parts of Foundation that something in it names. What
// the library looks up at run time must be there all the same. So this program casts from `Any` alone: a direct cast,
// such as of an NSArray to [String], would name what it should find missing.

nonisolated(unsafe) var failures = 0

@MainActor func fail(_ text: String) {
  print("not as in a dynamic program: \(text)")
  failures += 1
}

/// Archives a value and reads it back as its own type.
@MainActor @inline(never) func trip<Value: Equatable>(_ value: Value, _ classes: [AnyClass]) {
  trip("\(Value.self)", value, classes) { ($0 as? Value) == value }
}

@MainActor @inline(never) func trip(
  _ name: String, _ value: Any, _ classes: [AnyClass], isSame: (Any) -> Bool
) {
  do {
    let data = try SecureArchiver.archivedData(withRootObject: value)
    guard let read = try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: data) else {
      return fail("\(name) is nil")
    }
    if !isSame(read) { fail("\(name) is read as \(type(of: read))") }
  } catch {
    fail("\(name): \(error)")
  }
}

let date = Date(timeIntervalSinceReferenceDate: 7)
let all: [AnyClass] = [
  NSArray.self, NSDictionary.self, NSSet.self, NSString.self, NSNumber.self, NSData.self, NSDate.self, NSURL.self,
  NSUUID.self, NSNull.self, NSDecimalNumber.self,
]

// Swift's values.
trip(["a", "b"], all)
trip([["a": 1], ["b": 2]], all)
trip(["a": ["b", "c"]], all)
trip(["a": Data([1])], all)
trip([1: "a"], all)
trip(Set(["a", "b"]), all)
trip("text", all)
trip("text".prefix(2), all)
trip(Data([1, 2]), all)
trip(date, all)
trip([URL(string: "https://example.com/")], all)
trip(URL(string: "https://example.com/"), all)
trip(UUID(), all)
trip(Decimal(12345), all)
trip([Decimal(12345), 1], all)
trip(true, all)
trip(Int8(-1), all)
trip(Int16(-1), all)
trip(Int32(-1), all)
trip(Int64(-1), all)
trip(-1, all)
trip(UInt8(1), all)
trip(UInt16(1), all)
trip(UInt32(1), all)
trip(UInt64.max, all)
trip(UInt(1), all)
trip(Float(0.5), all)
trip(0.5, all)
trip(IndexPath(indexes: [1, 2]), [NSIndexPath.self])
trip(IndexSet([1, 2, 7]), [NSIndexSet.self])
trip(DateInterval(start: date, duration: 3), [NSDateInterval.self])
trip(DateComponents(year: 2026, month: 11), [NSDateComponents.self])
trip(Locale(identifier: "de_DE"), [NSLocale.self])
trip(TimeZone(identifier: "Asia/Tokyo"), [NSTimeZone.self])
trip(CharacterSet(charactersIn: "abc"), [NSCharacterSet.self])
trip(Measurement(value: 3, unit: UnitLength.kilometers), [NSMeasurement.self])
trip("Calendar", Calendar(identifier: .gregorian), [NSCalendar.self]) {
  ($0 as? Calendar)?.identifier == .gregorian
}
var person = PersonNameComponents()
person.givenName = "Ada"
trip(person, [NSPersonNameComponents.self])
trip("Notification", Notification(name: Notification.Name("n"), userInfo: ["a": 1]), [NSNotification.self]) {
  ($0 as? Notification)?.name.rawValue == "n"
}
trip("CocoaError", CocoaError(.fileNoSuchFile), [NSError.self]) { ($0 as? CocoaError)?.code == .fileNoSuchFile }
trip("an array of any", [NSNull(), 1, "a", [true]] as [Any], all) { ($0 as? [Any])?.count == 4 }
trip("a dictionary of any", ["a": NSNull(), "b": [1]] as [String: Any], all) {
  (($0 as? [String: Any])?["b"] as? [Int]) == [1]
}

// Foundation's objects.
trip(NSArray(array: [NSString("a"), NSNumber(value: 1)]), all)
trip(NSMutableArray(array: [NSString("a")]), all)
trip(NSDictionary(object: NSString("a"), forKey: NSString("b")), all)
trip(NSSet(array: [NSString("a")]), all)
trip(NSOrderedSet(array: [NSString("a")]), [NSOrderedSet.self, NSString.self])
trip(NSCountedSet(array: [NSString("a"), NSString("a")]), [NSCountedSet.self, NSString.self])
trip(NSDecimalNumber(string: "1.5"), all)
trip(NSValue(range: NSRange(location: 1, length: 2)), [NSValue.self])
trip(NSValue(point: NSPoint(x: 1, y: 2)), [NSValue.self])
trip(NSIndexPath(index: 3), [NSIndexPath.self])
trip(NSIndexSet(index: 3), [NSIndexSet.self])
trip(NSUUID(), all)
trip(NSError(domain: "d", code: 1, userInfo: ["a": ["b"]]), [NSError.self])
trip("NSRegularExpression", try NSRegularExpression(pattern: "a+"), [NSRegularExpression.self]) {
  ($0 as? NSRegularExpression)?.pattern == "a+"
}
let match = try NSRegularExpression(pattern: "a+").firstMatch(in: "aa", range: NSRange(location: 0, length: 2))
trip("NSTextCheckingResult", match as Any, [NSTextCheckingResult.self]) {
  ($0 as? NSTextCheckingResult)?.range.length == 2
}
trip("NSAttributedString", NSAttributedString(string: "a"), [NSAttributedString.self]) {
  ($0 as? NSAttributedString)?.string == "a"
}
trip("NSMeasurement", NSMeasurement(doubleValue: 1, unit: UnitMass.grams), [NSMeasurement.self]) {
  ($0 as? NSMeasurement)?.doubleValue == 1
}
trip("keys of many kinds", [UUID(): 1, date: 2, 3: 4] as [AnyHashable: Any], all) {
  ($0 as? [AnyHashable: Any])?[date] as? Int == 2
}

// A class of the program's own, whose initializer casts what it decodes.
final class Song: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let tags: [String]
  let singers: Set<String>
  let price: Decimal

  init(tags: [String], singers: Set<String>, price: Decimal) {
    (self.tags, self.singers, self.price) = (tags, singers, price)
  }

  init?(coder: NSCoder) {
    guard let tags = coder.decodeObject(of: [NSArray.self, NSString.self], forKey: "tags") as? [String],
      let singers = coder.decodeObject(of: [NSSet.self, NSString.self], forKey: "singers") as? Set<String>,
      let price = coder.decodeObject(of: [NSDecimalNumber.self], forKey: "price") as? Decimal
    else { return nil }
    (self.tags, self.singers, self.price) = (tags, singers, price)
  }

  func encode(with coder: NSCoder) {
    coder.encode(tags, forKey: "tags")
    coder.encode(singers, forKey: "singers")
    coder.encode(price, forKey: "price")
  }

  override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? Song else { return false }
    return (tags, singers, price) == (other.tags, other.singers, other.price)
  }
}

let song = Song(tags: ["a", "b"], singers: ["c"], price: Decimal(7))
trip(song, [Song.self])

// A value of Swift's with everything that Foundation's types are coded as.
struct Record: Codable, Equatable {
  var name = "n"
  var tags: [String: [Int]] = ["a": [1, 2]]
  var price = Decimal(12345)
  var due = Date(timeIntervalSinceReferenceDate: 7)
  var link = URL(string: "https://example.com/")
  var id = UUID()
  var data = Data([1])
  var range = DateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 2)
  var path = IndexPath(indexes: [1, 2])
  var set = IndexSet([1, 2])
  var zone = TimeZone(identifier: "Asia/Tokyo")
  var locale = Locale(identifier: "de_DE")
  var parts = DateComponents(year: 2026)
  var length = Measurement(value: 3, unit: UnitLength.meters)
}
let record = Record()
do {
  let data = try SecureArchiver.archivedData(encoding: record, named: "record")
  if try SecureUnarchiver.decoded(Record.self, named: "record", from: data) != record { fail("a structure") }
} catch {
  fail("a structure: \(error)")
}

// A group of the store that the environment names, and its keychain.
@MainActor func storeValues() throws {
  let group = try SecretStore.open().group("default")
  try group.set("song", to: song)
  if try group.get("song", as: Song.self) != song { fail("a stored object") }
  try group.set("songs", to: [song, song])
  if try group.get("songs", as: [Song].self) != [song, song] { fail("a stored array of objects") }
  try group.set("any", to: ["a": ["b", "c"], "d": Decimal(1)] as [String: Any])
  let any = try group.get("any", ofClasses: all) as? [String: Any]
  if any?["a"] as? [String] != ["b", "c"] || any?["d"] as? Decimal != 1 { fail("a stored dictionary") }
  try group.set("record", to: record)
  if try group.get("record", as: Record.self) != record { fail("a stored structure") }
  try group.set("texts", to: ["a", "b"])
  if try group.get("texts", as: [String].self) != ["a", "b"] { fail("stored texts") }
  let query: CFDictionary = [kSecClass: kSecClassGenericPassword, kSecAttrService: "s", kSecAttrAccount: "a"]
  var item = query
  item[kSecValueData] = NSData(data: Data([1, 2]))
  item[kSecAttrLabel] = NSString("label")
  var status = SecItemAdd(item, nil)
  if status != errSecSuccess { fail("SecItemAdd: \(status)") }
  var search = query
  search[kSecReturnData] = NSNumber(value: true)
  search[kSecReturnAttributes] = NSNumber(value: true)
  var found: CFTypeRef?
  status = SecItemCopyMatching(search, &found)
  let attributes = found as? [String: Any]
  if status != errSecSuccess || attributes?[kSecValueData] as? Data != Data([1, 2]) { fail("SecItemCopyMatching") }
  search[kSecMatchLimit] = kSecMatchLimitAll
  status = SecItemCopyMatching(search, &found)
  if status != errSecSuccess || (found as? [[String: Any]])?.count != 1 { fail("SecItemCopyMatching of all") }
}
do { try storeValues() } catch { fail("the store: \(error)") }

guard failures == 0 else { exit(1) }
print("every value is read as in a dynamic program")
