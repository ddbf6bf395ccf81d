import Foundation
import Testing
import VaultFoundation

/// Typed values in items.
@Suite struct TypedItemTests {
  private let store = TypedStore()

  struct Flags: Codable, Equatable {
    enum Level: String, Codable { case low, high }
    var level = Level.high
    var names = ["a", "b"]
  }

  final class Person: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let name: String
    let address: Address?

    init(name: String, address: Address?) {
      self.name = name
      self.address = address
    }

    required init?(coder: NSCoder) {
      guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
      self.name = String(describing: name)
      address = coder.decodeObject(of: Address.self, forKey: "address")
    }

    func encode(with coder: NSCoder) {
      coder.encode(name, forKey: "name")
      coder.encode(address, forKey: "address")
    }
  }

  final class Address: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let city: String
    init(city: String) { self.city = city }
    required init?(coder: NSCoder) {
      guard let city = coder.decodeObject(of: NSString.self, forKey: "city") else { return nil }
      self.city = String(describing: city)
    }
    func encode(with coder: NSCoder) { coder.encode(city, forKey: "city") }
  }

  /// A class with both codings. Its secure coding is used.
  final class Both: NSObject, NSSecureCoding, Codable {
    static var supportsSecureCoding: Bool { true }
    override init() {}
    required init?(coder: NSCoder) { guard coder.decodeBool(forKey: "coded") else { return nil } }
    func encode(with coder: NSCoder) { coder.encode(true, forKey: "coded") }
    init(from decoder: any Decoder) throws { throw CancellationError() }
    func encode(to encoder: any Encoder) throws { throw CancellationError() }
  }

  @Test func `scalars are read back with their values and kinds`() throws {
    let group = try store.group()
    func through<Value: SecretScalar & Equatable>(_ value: Value, _ kind: SecretKind) throws {
      try group.set("x", to: value)
      #expect(try group.get("x", as: Value.self) == value)
      #expect(try group.item("x").kind == kind)
    }
    try through("日本", .string)
    try through(Data([0, 255]), .bytes)
    try through([UInt8](), .bytes)
    try through(true, .bool)
    try through(Int.min, .int)
    try through(0.1, .double)
    try through(-Double.infinity, .double)
    for seconds in [0, 0.1, 1e-9, -1e-300, 786_000_000.123_456_7, -63_113_904_000.5, 1.5e11, .leastNonzeroMagnitude] {
      try through(Date(timeIntervalSinceReferenceDate: seconds), .date)
    }
    try through(try #require(URL(string: "https://example.com/ä?b=%20")), .url)
    try through(UUID(), .uuid)
    #expect(throws: VaultError.self) { try group.set("x", to: Date(timeIntervalSince1970: 1e300)) }
    #expect(throws: VaultError.self) { try group.set("x", to: Date(timeIntervalSince1970: .nan)) }
  }

  @Test func `an array that another program archived under its own names is read with these names`() throws {
    let group = try store.group()
    let cities = [Address(city: "Bern"), Address(city: "Basel")]
    let foreign = try SecureArchiver.archivedData(withRootObject: cities, names: [(Address.self, "TargetAddress")])
    try group.set("cities", to: Secret(foreign), kind: .archive)
    var allowed = AllowedClasses()
    try allowed.allow(Address.self, named: "TargetAddress")
    let read = try group.get("cities", as: NSArray.self, allowing: allowed)
    #expect(read.compactMap { ($0 as? Address)?.city } == ["Bern", "Basel"])
    #expect(throws: VaultError.self) { try group.get("cities", as: NSArray.self, allowing: AllowedClasses()) }
    #expect(throws: VaultError.self) { try group.get("cities", as: NSDictionary.self, allowing: allowed) }
  }

  @Test func `only allowed objects are read back`() throws {
    let group = try store.group()
    let home = Address(city: "東京")
    try group.set("owner", to: Person(name: "太郎", address: home))
    let owner = try group.get("owner", as: Person.self, allowing: [Address.self])
    #expect(owner.name == "太郎" && owner.address?.city == "東京")
    let item = try group.item("owner")
    #expect(item.kind == .archive && item.typeName == "VaultFoundationTests.TypedItemTests.Person")
    #expect(
      throws: VaultError.archive(
        .classRefused(
          name: "VaultFoundationTests.TypedItemTests.Address", allowed: ["VaultFoundationTests.TypedItemTests.Person"],
          at: ArchivePath([.key("root"), .key("address")])))
    ) { try group.get("owner", as: Person.self) }
    #expect(throws: VaultError.self) { try group.get("owner", as: Address.self, allowing: [Person.self]) }
    try group.set("people", to: [Person(name: "a", address: home), Person(name: "b", address: home)])
    let people = try group.get("people", as: [Person].self, allowing: [Address.self])
    #expect(people.map(\.name) == ["a", "b"] && people[0].address === people[1].address)
    try group.set("by name", to: ["a": home])
    #expect(try group.get("by name", as: [String: Address].self)["a"]?.city == "東京")
    try group.set("both", to: Both())
    _ = try group.get("both", as: Both.self)
    try group.set("array", to: [Both()])
    #expect(try group.get("array", as: [Both].self).count == 1)
    try group.set("dictionary", to: ["one": Both()])
    #expect(try group.get("dictionary", as: [String: Both].self).keys.sorted() == ["one"])
    try group.transaction { edit in
      let array = try edit.get("array", as: [Both].self)
      let dictionary = try edit.get("dictionary", as: [String: Both].self)
      #expect(array.count == 1 && dictionary.count == 1)
    }
  }

  @Test func `a Swift value is read back, and the error for another type names the stored type`() throws {
    let group = try store.group()
    try group.set("flags", to: Flags())
    #expect(try group.get("flags", as: Flags.self) == Flags())
    try group.set("list", to: [Flags(), Flags()])
    #expect(try group.get("list", as: [Flags].self).count == 2)
    try group.set("names", to: ["a": 1])
    #expect(try group.get("names", as: [String: Int].self) == ["a": 1])
    #expect(
      throws: VaultError.otherType(found: "VaultFoundationTests.TypedItemTests.Flags", expected: "string")
    ) { try group.get("flags", as: String.self) }
    #expect(
      throws: VaultError.otherType(
        found: "VaultFoundationTests.TypedItemTests.Flags",
        expected: "Swift.Array<VaultFoundationTests.TypedItemTests.Flags>")
    ) { try group.get("flags", as: [Flags].self) }
    try group.set("text", to: "s3cret")
    #expect(throws: VaultError.otherType(found: "string", expected: "int")) { try group.get("text", as: Int.self) }
    #expect(throws: VaultError.otherType(found: "string", expected: "VaultFoundationTests.TypedItemTests.Flags")) {
      try group.get("text", as: Flags.self)
    }
    struct Local: Codable {}
    #expect(throws: VaultError.self) { try group.set("local", to: Local()) }
    try group.set("local", to: Local(), named: "app.local")
    _ = try group.get("local", as: Local.self, named: "app.local")
  }

  @Test func `generic code reads and writes the same items`() throws {
    let group = try store.group()
    func set<Value: Encodable>(_ value: Value) throws { try group.set("x", to: value) }
    func get<Value: Decodable>(_ type: Value.Type) throws -> Value { try group.get("x", as: type) }
    try set("text")
    #expect(
      try group.item("x").kind == .string && group.get("x", as: String.self) == "text" && get(String.self) == "text")
    try group.set("x", to: Optional(5))
    #expect(try group.item("x").kind == .int && get(Int.self) == 5)
  }

  @Test func `a value that an earlier build stored under the name of a module of Foundation is read`() throws {
    let group = try store.group()
    let old = "Swift.Optional<FoundationEssentials.Decimal>"
    try group.set("price", to: Decimal(5), named: old)
    #expect(try group.get("price", as: Decimal.self) == 5)
    #expect(try group.get("price", as: Decimal?.self) == 5)
    try group.set("price", to: Decimal(6))
    #expect(try group.item("price").typeName == "Foundation.Decimal")
  }

  @Test func `a subclass and a container's elements can be top-level values if they are allowed`() throws {
    let group = try store.group()
    try group.set("x", to: NSArray(array: [1, "a"]))
    #expect(try group.get("x", as: NSArray.self, allowing: [NSNumber.self, NSString.self]).count == 2)
    try group.set("y", to: Special())
    #expect(try group.get("y", as: Human.self, allowing: [Special.self]) is Special)
    #expect(throws: VaultError.self) { try group.get("y", as: Human.self) }
    #expect(throws: VaultError.self) { try group.get("y", as: Address.self, allowing: [Special.self]) }
  }

  @Test func `an array and a dictionary hold subclasses of their type if these are allowed`() throws {
    let group = try store.group()
    try group.set("list", to: [Human(), Special()])
    let list = try group.get("list", as: [Human].self, allowing: [Special.self])
    #expect(list.count == 2 && !(list[0] is Special) && list[1] is Special)
    #expect(throws: VaultError.self) { try group.get("list", as: [Human].self) }
    try group.set("by name", to: ["a": Special() as Human])
    #expect(try group.get("by name", as: [String: Human].self, allowing: [Special.self])["a"] is Special)
    #expect(throws: VaultError.self) { try group.get("by name", as: [String: Human].self) }
    let single = try SecureArchiver.archivedData(withRootObject: Special())
    #expect(try SecureUnarchiver.unarchivedObject(of: Human.self, allowing: [Special.self], from: single) is Special)
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.unarchivedObject(of: Human.self, from: single) }
  }

  @Test func `a container of a subclass is read as one of its superclass if the subclass is allowed`() throws {
    let group = try store.group()
    try group.set("list", to: [Special(), Special()])
    #expect(try group.get("list", as: [Human].self, allowing: [Special.self]).count == 2)
    #expect(throws: VaultError.self) { try group.get("list", as: [Human].self) }
    #expect(throws: VaultError.self) { try group.get("list", as: [Address].self, allowing: [Special.self]) }
    try group.set("by name", to: ["a": Special()])
    #expect(try group.get("by name", as: [String: Human].self, allowing: [Special.self])["a"] is Special)
    #expect(throws: VaultError.self) { try group.get("by name", as: [String: Human].self) }
    #expect(throws: VaultError.self) { try group.get("by name", as: [Human].self, allowing: [Special.self]) }
    try group.set("list", to: [Human()])
    #expect(throws: VaultError.self) { try group.get("list", as: [Special].self, allowing: [Human.self]) }
  }

  @Test func `an allowed class that is not a subclass is no element`() throws {
    func refusal(at steps: ArchivePath.Step...) -> ArchiveError {
      .wrongType(
        expected: "VaultFoundationTests.TypedItemTests.Human",
        found: "an object of class VaultFoundationTests.TypedItemTests.Address",
        at: ArchivePath([.key("root")] + steps))
    }
    let stranger = Address(city: "a")
    let list = try SecureArchiver.archivedData(withRootObject: NSArray(array: [Human(), stranger]))
    #expect(throws: refusal(at: .index(1))) {
      try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Human.self, allowing: [Address.self], from: list)
    }
    let table = try SecureArchiver.archivedData(withRootObject: ["a": stranger] as NSDictionary)
    #expect(throws: refusal(at: .index(0))) {
      try SecureUnarchiver.unarchivedDictionary(
        ofKeyClass: NSString.self, objectClass: Human.self, allowing: [Address.self], from: table)
    }
    let single = try SecureArchiver.archivedData(withRootObject: stranger)
    #expect(throws: refusal()) {
      try SecureUnarchiver.unarchivedObject(of: Human.self, allowing: [Address.self], from: single)
    }
    let nested = try SecureArchiver.archivedData(withRootObject: [[Human()]] as NSArray)
    #expect(throws: ArchiveError.self) {
      try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Human.self, allowing: [NSArray.self], from: nested)
    }
  }

  final class Untyped: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let name: String
    init(name: String) { self.name = name }
    required init?(coder: NSCoder) {
      guard let name = coder.decodeObject(forKey: "name") as? String else { return nil }
      self.name = name
    }
    func encode(with coder: NSCoder) { coder.encode(name, forKey: "name") }
  }

  @Test func `a call that names no class gets a string if strings are allowed, or accepted as on Apple's systems`()
    throws
  {
    let group = try store.group()
    try group.set("one", to: Untyped(name: "a"))
    #expect(throws: VaultError.self) { try group.get("one", as: Untyped.self) }
    #expect(try group.get("one", as: Untyped.self, matching: .asOnApple).name == "a")
    #expect(try group.get("one", as: Untyped.self, allowing: [NSString.self]).name == "a")
    let list = try AllowedClasses([Untyped.self])
    #expect(try group.get("one", as: Untyped.self, allowing: list, matching: .asOnApple).name == "a")
    #expect(try group.get("one", ofClasses: [Untyped.self], matching: .asOnApple) is Untyped)
    try group.set("list", to: [Untyped(name: "a")])
    #expect(throws: VaultError.self) { try group.get("list", as: [Untyped].self) }
    #expect(try group.get("list", as: [Untyped].self, matching: .asOnApple)[0].name == "a")
    try group.set("table", to: ["x": Untyped(name: "a")])
    #expect(try group.get("table", as: [String: Untyped].self, matching: .asOnApple)["x"]?.name == "a")
    let data = try SecureArchiver.archivedData(withRootObject: Untyped(name: "a"))
    #expect(try SecureUnarchiver.unarchivedObject(of: Untyped.self, from: data, matching: .asOnApple)?.name == "a")
  }

  @Test func `an error's localized description is its message`() throws {
    let refused = ArchiveError.classRefused(name: "A", allowed: ["B"], at: ArchivePath([.key("root")]))
    let errors: [(error: any Error, message: String)] = [
      (refused, "class 'A' is not allowed at root; allowed: B"),
      (VaultError.archive(refused), VaultError.archive(refused).message), (VaultError.notFound(.item), "no such item"),
    ]
    for (error, message) in errors { #expect(error.localizedDescription == message) }
    #expect(
      refused.recoverySuggestion == refused.hint && VaultError.archive(refused).recoverySuggestion == refused.hint)
    #expect(VaultError.notFound(.item).recoverySuggestion == nil)
  }

  @Test func `the type of a container includes the type of its elements`() throws {
    let group = try store.group()
    try group.set("x", to: [Address]())
    #expect(throws: VaultError.self) { try group.get("x", as: [Int].self) }
    #expect(throws: VaultError.self) { try group.get("x", as: [Person].self) }
    try group.set("x", to: ["a": 1] as [String: Any])
    #expect(throws: VaultError.self) { try group.get("x", as: [String: Int].self) }
    let strange = VaultError.otherType(found: "a\n\u{1B}[31m", expected: "b")
    #expect(!strange.message.contains("\n") && !strange.message.contains("\u{1B}"))
  }

  @Test func `containers of a class that was renamed are read under its former name`() throws {
    let group = try store.group()
    func former(_ object: Any) throws -> Secret {
      try Secret(SecureArchiver.archivedData(withRootObject: object, names: [(Address.self, "OldApp.Address")]))
    }
    let cities = [Address(city: "Bern"), Address(city: "Basel")]
    try group.set("list", to: former(cities), kind: .archive, typeName: "[OldApp.Address]")
    try group.set("by name", to: former(["a": cities[0]]), kind: .archive, typeName: "[String: OldApp.Address]")
    var allowed = AllowedClasses()
    try allowed.allow(Address.self, named: "OldApp.Address")
    #expect(try group.get("list", as: [Address].self, allowing: allowed).map(\.city) == ["Bern", "Basel"])
    #expect(try group.get("by name", as: [String: Address].self, allowing: allowed)["a"]?.city == "Bern")
    #expect(try group.get("list", as: NSArray.self, allowing: allowed).count == 2)
    try allowed.allow(NSString.self)
    #expect(try group.get("by name", as: NSDictionary.self, allowing: allowed).count == 1)
    let calls: [() throws -> Any] = [
      { try group.get("list", as: [Address].self) },
      { try group.get("list", as: [Address].self, allowing: try AllowedClasses([Address.self])) },
      { try group.get("list", as: [Person].self, allowing: allowed) },
      { try group.get("list", as: [String: Address].self, allowing: allowed) },
      { try group.get("by name", as: [String: Address].self) },
      { try group.get("by name", as: [String: Person].self, allowing: allowed) },
      { try group.get("by name", as: [Address].self, allowing: allowed) },
    ]
    for (number, call) in calls.enumerated() { #expect(throws: VaultError.self, "\(number)") { try call() } }
  }

  @Test func `a container is also read as Foundation's class, with its elements allowed`() throws {
    let group = try store.group()
    try group.set("list", to: [Address(city: "Bern")])
    let list = try group.get("list", as: NSArray.self, allowing: [Address.self])
    #expect((list[0] as? Address)?.city == "Bern")
    try group.set("by name", to: ["a": Address(city: "Bern")])
    let table = try group.get("by name", as: NSDictionary.self, allowing: [Address.self, NSString.self])
    #expect((table["a"] as? Address)?.city == "Bern")
    try group.set("defaults", to: ["name": "a", "list": [1]] as [String: Any])
    let defaults = try group.get(
      "defaults", as: NSDictionary.self, allowing: [NSArray.self, NSString.self, NSNumber.self])
    #expect(defaults["name"] as? String == "a")
    #expect(throws: VaultError.self) { try group.get("list", as: NSArray.self) }
    #expect(throws: VaultError.otherType(found: "[String: Any]", expected: "NSArray")) {
      try group.get("defaults", as: NSArray.self, allowing: [NSDictionary.self, NSString.self])
    }
    let name = "VaultFoundationTests.TypedItemTests.Address"
    #expect(throws: VaultError.otherType(found: "[\(name)]", expected: "NSDictionary")) {
      try group.get("list", as: NSDictionary.self, allowing: [NSArray.self, Address.self])
    }
    #expect(throws: VaultError.otherType(found: "[\(name)]", expected: name)) {
      try group.get("list", as: Address.self, allowing: [NSArray.self])
    }
  }

  @Test func `a transaction refuses a scalar that would not read back`() throws {
    let group = try store.group()
    try group.set("x", to: "before")
    #expect(throws: VaultError.self) {
      try group.transaction { edit in edit.set("x", to: Date(timeIntervalSince1970: .nan)) }
    }
    try group.transaction { edit in try edit.set("list", to: [Address(city: "a")]) }
    #expect(try group.get("x", as: String.self) == "before" && group.get("list", as: [Address].self).count == 1)
  }

  class Human: NSObject, NSSecureCoding {
    class var supportsSecureCoding: Bool { true }
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) {}
  }

  final class Special: Human {}

  @Test func `a dictionary of any values is stored if all of them can be`() throws {
    let group = try store.group()
    let defaults: [String: Any] = ["name": "a", "count": 3, "day": Date(timeIntervalSince1970: 0), "list": [1, "b"]]
    try group.set("defaults", to: defaults)
    let read = try group.get(
      "defaults", ofClasses: [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self])
    #expect((read as? NSDictionary) == defaults as NSDictionary)
    struct Plain {}
    #expect(throws: VaultError.self) { try group.set("bad", to: ["a": Plain()] as [String: Any]) }
    #expect(throws: VaultError.notFound(.item)) { try group.item("bad") }
  }

  @Test func `a transaction sets all of its typed values or none`() throws {
    let group = try store.group()
    try group.transaction { edit in
      edit.set("text", to: "plain")
      try edit.set("flags", to: Flags())
      try edit.set("home", to: Address(city: "Bern"))
    }
    #expect(try group.get("flags", as: Flags.self) == Flags() && group.get("home", as: Address.self).city == "Bern")
    #expect(throws: VaultError.self) {
      try group.transaction { edit in
        edit.set("text", to: "other")
        try edit.set("bad", to: Knot())
      }
    }
    #expect(try group.get("text", as: String.self) == "plain")
  }

  @Test func `a transaction removes an item that may be absent, if it looks first`() throws {
    let group = try store.group()
    func renew(_ value: Int) throws {
      try group.transaction { edit in
        edit.set("new", to: value)
        do {
          _ = try edit.open("old")
          edit.remove("old")
        } catch VaultError.notFound {}
      }
    }
    try renew(1)
    try group.set("old", to: 0)
    try renew(2)
    #expect(try group.get("new", as: Int.self) == 2)
    #expect(throws: VaultError.notFound(.item)) { try group.item("old") }
    #expect(throws: VaultError.notFound(.item)) {
      try group.transaction { edit in
        edit.set("new", to: 3)
        edit.remove("old")
      }
    }
    #expect(try group.get("new", as: Int.self) == 2)
  }

  final class Knot: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    override init() {}
    required init?(coder: NSCoder) {}
    func encode(with coder: NSCoder) { coder.encode(self, forKey: "self") }
  }
}

/// A store in its own folder.
final class TypedStore {
  private let folder = NSTemporaryDirectory() + "vault-typed-\(UUID().uuidString)"
  deinit { try? FileManager.default.removeItem(atPath: folder) }

  var keyFile: String { folder + "/key" }

  /// The default group. The store is made on first use and opened again each time.
  func group() throws -> AccessGroup { try open().group("default") }

  func open() throws -> SecretStore {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let location = try StoreLocation(home: folder + "/home", state: folder + "/state")
    if !FileManager.default.fileExists(atPath: folder + "/home") {
      try SecretStore.create(at: location, with: .keyFile(keyFile))
    }
    return try SecretStore.open(at: location, unlocking: .keyFile(keyFile))
  }
}
