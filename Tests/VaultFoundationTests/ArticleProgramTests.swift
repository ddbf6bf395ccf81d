import Foundation
import Testing
import VaultFoundation

/// The programs of "Bringing an iOS app's data to Linux": with a file, through the store, and again after the app's
/// folder was deleted.
@Suite struct ArticleProgramTests {
  private let store = TypedStore()
  private let app = AppFolder()

  @Test func `an array of strings is saved to a file, and survives in the store when the app's folder is deleted`()
    throws
  {
    let names = ["ばら", "ひまわり", "すみれ"]
    try SecureArchiver.archivedData(withRootObject: names).write(to: app.file("names"), options: .atomic)
    let read = try SecureUnarchiver.unarchivedArrayOfObjects(
      ofClass: NSString.self, from: try Data(contentsOf: app.file("names")))
    #expect(read?.map(String.init(describing:)) == names)
    try store.group().set("flowers", to: names)
    try app.reinstall()
    #expect(!FileManager.default.fileExists(atPath: app.file("names").path))
    #expect(try store.group().get("flowers", as: [String].self) == names)
  }

  @Test func `an object with secure coding is stored under its own key`() throws {
    let archiver = SecureArchiver()
    archiver.encode(BuyObject(name: "りんご", price: 120), forKey: "buy")
    try archiver.finishEncoding().write(to: app.file("buy"))
    let unarchiver = try SecureUnarchiver(reading: try Data(contentsOf: app.file("buy")), allowing: [BuyObject.self])
    let buy = try unarchiver.require(BuyObject.self, forKey: "buy")
    #expect(buy.name == "りんご" && buy.price == 120)
    try store.group().set("buy", to: buy)
    try app.reinstall()
    #expect(try store.group().get("buy", as: BuyObject.self).price == 120)
  }

  @Test func `an object with a set is stored, and its class alone is allowed`() throws {
    try store.group().set("song", to: Song(title: "さくら", singers: ["花子", "太郎"]))
    try app.reinstall()
    let song = try store.group().get("song", as: Song.self)
    #expect(song.title == "さくら" && song.singers == ["花子", "太郎"])
  }

  @Test func `a structure and an array of it are read back`() throws {
    let samples = [SampleStruct(), SampleStruct(number: 8, text: "b")]
    let data = try SecureArchiver.archivedData(encoding: samples)
    #expect(try SecureUnarchiver.decoded([SampleStruct].self, from: data) == samples)
    try store.group().set("sample", to: samples[0])
    try store.group().set("samples", to: samples)
    try app.reinstall()
    #expect(try store.group().get("sample", as: SampleStruct.self) == samples[0])
    #expect(try store.group().get("samples", as: [SampleStruct].self) == samples)
  }

  @Test(arguments: ["root", "target"]) func `an object under its Objective-C name is read by a class with another name`(
    key: String
  ) throws {
    let archiver = SecureArchiver(names: [(TargetObject.self, "TargetObject")])
    archiver.encode(TargetObject(isReached: true, count: .min, total: 1 << 40), forKey: key)
    let data = try archiver.finishEncoding()
    #expect(try SecureUnarchiver.inspect(data).classes.map(\.name) == ["TargetObject"])
    var allowed = AllowedClasses()
    try allowed.allow(Goal.self, named: "TargetObject")
    let goal = try SecureUnarchiver(reading: data, allowing: allowed).require(Goal.self, forKey: key)
    #expect(goal.isReached && goal.count == .min && goal.total == 1 << 40)
    guard key == "root" else { return }
    let group = try store.group()
    try group.set("target", to: try Secret(data), kind: .archive, typeName: "TargetObject")
    try app.reinstall()
    #expect(try store.group().get("target", as: Goal.self, allowing: allowed).total == 1 << 40)
  }

  @Test func `a manager loads, adds and saves targets, which survive a reinstall`() throws {
    let manager = TargetManager(group: try store.group())
    #expect(try manager.load().isEmpty)
    try manager.add(Target(title: "走る", isDone: false))
    try manager.add(Target(title: "read", isDone: true))
    try app.reinstall()
    let targets = try TargetManager(group: try store.group()).load()
    #expect(targets.map(\.title) == ["走る", "read"] && targets.map(\.isDone) == [false, true])
  }

  @Test func `a keychain wrapper reads, writes, removes and throws as expected`() throws {
    let keychain = Keychain(group: try store.group())
    #expect(try keychain["user"] == nil)
    try keychain.set("anna", forKey: "user")
    #expect(try keychain["user"] == "anna")
    try keychain.set(nil, forKey: "user")
    try keychain.set(nil, forKey: "user")
    #expect(try keychain["user"] == nil)
    try store.group().set("number", to: 5)
    #expect(throws: VaultError.otherType(found: "int", expected: "string")) { try keychain["number"] }
  }
}

/// The app's own folder, which is deleted with the app.
private final class AppFolder {
  private let path = NSTemporaryDirectory() + "vault-app-\(UUID().uuidString)"

  init() { try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> URL { URL(fileURLWithPath: path).appendingPathComponent(name) }

  func reinstall() throws {
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
}

final class BuyObject: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String
  let price: Int

  init(name: String, price: Int) {
    self.name = name
    self.price = price
  }

  required init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = String(describing: name)
    price = coder.decodeInteger(forKey: "price")
  }

  func encode(with coder: NSCoder) {
    coder.encode(name, forKey: "name")
    coder.encode(price, forKey: "price")
  }
}

final class Song: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let title: String
  let singers: Set<String>

  init(title: String, singers: Set<String>) {
    self.title = title
    self.singers = singers
  }

  init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title"),
      let singers = coder.decodeObject(of: [NSSet.self, NSString.self], forKey: "singers") as? Set<String>
    else { return nil }
    self.title = title as String
    self.singers = singers
  }

  func encode(with coder: NSCoder) {
    coder.encode(title, forKey: "title")
    coder.encode(singers, forKey: "singers")
  }
}

struct SampleStruct: Codable, Equatable {
  var number = 7
  var text = "見本"
}

final class TargetObject: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  private let isReached: Bool
  private let count: Int32
  private let total: Int64

  init(isReached: Bool, count: Int32, total: Int64) {
    (self.isReached, self.count, self.total) = (isReached, count, total)
  }

  required init?(coder: NSCoder) { nil }

  func encode(with coder: NSCoder) {
    coder.encode(isReached, forKey: "isReached")
    coder.encode(count, forKey: "count")
    coder.encode(total, forKey: "total")
  }
}

final class Goal: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let isReached: Bool
  let count: Int32
  let total: Int64

  required init?(coder: NSCoder) {
    isReached = coder.decodeBool(forKey: "isReached")
    count = coder.decodeInt32(forKey: "count")
    total = coder.decodeInt64(forKey: "total")
  }

  func encode(with coder: NSCoder) {}
}

final class Target: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let title: String
  let isDone: Bool

  init(title: String, isDone: Bool) {
    self.title = title
    self.isDone = isDone
  }

  required init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
    self.title = String(describing: title)
    isDone = coder.decodeBool(forKey: "isDone")
  }

  func encode(with coder: NSCoder) {
    coder.encode(title, forKey: "title")
    coder.encode(isDone, forKey: "isDone")
  }
}

struct TargetManager {
  let group: AccessGroup

  func load() throws -> [Target] {
    do { return try group.get("targets", as: [Target].self) } catch VaultError.notFound(.item) { return [] }
  }

  func save(_ targets: [Target]) throws { try group.set("targets", to: targets) }

  func add(_ target: Target) throws { try save(try load() + [target]) }
}

/// The wrapper from the article on keychain-style code.
struct Keychain {
  let group: AccessGroup

  subscript(key: String) -> String? {
    get throws(VaultError) {
      do { return try group.get(key, as: String.self) } catch .notFound(.item) { return nil }
    }
  }

  func set(_ value: String?, forKey key: String) throws(VaultError) {
    if let value {
      try group.set(key, to: value)
    } else {
      do { try group.remove(key) } catch .notFound(.item) {}
    }
  }
}
