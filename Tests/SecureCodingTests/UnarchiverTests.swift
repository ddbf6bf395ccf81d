import Foundation
import KeyedArchives
import TestSupport
import Testing

@testable import SecureCoding

@Suite struct UnarchiverTests {
  @Test func `two persons share one address, and a third has another`() throws {
    let shared = Address(city: "東京")
    let people = [
      Person(name: "一", age: 1, address: shared), Person(name: "二", age: 2, address: shared),
      Person(name: "三", age: 3, address: Address(city: "大阪")),
    ]
    let data = try NSKeyedArchiver.archivedData(withRootObject: people as NSArray, requiringSecureCoding: true)
    let read = try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Person.self, allowing: [Address.self], from: data)
    #expect(read?.map(\.name) == ["一", "二", "三"])
    #expect(read?.map(\.age) == [1, 2, 3])
    #expect(read?[0].address === read?[1].address)
    #expect(read?[0].address?.city == "東京")
    #expect(read?[2].address?.city == "大阪")
  }

  @Test func `Apple's spelling of the call decodes an object, too`() throws {
    let data = try SecureArchiver.archivedData(withRootObject: Address(city: "東京"))
    #expect(try SecureUnarchiver.unarchivedObject(ofClass: Address.self, from: data)?.city == "東京")
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.unarchivedObject(ofClass: Person.self, from: data) }
  }

  @Test func `a class that is not on the list is refused before any initializer runs`() throws {
    let person = Person(name: "x", age: 1, address: Address(city: "y"))
    let data = try NSKeyedArchiver.archivedData(withRootObject: person, requiringSecureCoding: true)
    let error = #expect(throws: ArchiveError.self) {
      try SecureUnarchiver.unarchivedObject(of: Person.self, from: data)
    }
    guard case .classRefused(let name, let allowed, let path) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(name == "SecureCodingTests.Address")
    #expect(allowed == ["SecureCodingTests.Person"])
    #expect("\(path)" == "root → address")
    #expect(error?.status == 19)
  }

  @Test func `a listed subclass that its decoding call does not name is refused, with a hint to what helps`() throws {
    class Node: NSObject, NSSecureCoding {
      class var supportsSecureCoding: Bool { true }
      var next: Node?
      override init() {}
      required init?(coder: NSCoder) { next = coder.decodeObject(of: Node.self, forKey: "next") }
      func encode(with coder: NSCoder) { coder.encode(next, forKey: "next") }
    }
    final class Leaf: Node {}
    let node = Node()
    node.next = Leaf()
    let data = try SecureArchiver.archivedData(withRootObject: node, names: [(Node.self, "Node"), (Leaf.self, "Leaf")])
    var list = AllowedClasses()
    try list.allow(Node.self, named: "Node")
    try list.allow(Leaf.self, named: "Leaf")
    let error = #expect(throws: ArchiveError.self) {
      try SecureUnarchiver(reading: data, allowing: list).require(Node.self, forKey: "root")
    }
    #expect(error?.code == "classRefused" && error?.hint?.contains("'.asOnApple'") == true)
    let read = try SecureUnarchiver(reading: data, allowing: list, matching: .asOnApple)
      .require(Node.self, forKey: "root")
    #expect(read.next is Leaf)
  }

  @Test func `the hints about names and cycles fit the calls that write`() throws {
    final class Unnamed: NSObject, NSSecureCoding {
      static var supportsSecureCoding: Bool { true }
      var other: Unnamed?
      override init() {}
      required init?(coder: NSCoder) {}
      func encode(with coder: NSCoder) { coder.encode(other, forKey: "other") }
    }
    let unnamed = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: Unnamed()) }
    #expect(
      unnamed?.code == "noStableName" && unnamed?.hint?.contains("a class with 'names:' of SecureArchiver") == true)
    let object = Unnamed()
    object.other = object
    defer { object.other = nil }
    let cycle = #expect(throws: ArchiveError.self) {
      try SecureArchiver.archivedData(withRootObject: object, names: [(Unnamed.self, "app.Unnamed")])
    }
    #expect(cycle?.code == "cycle" && cycle?.hint?.contains("set it after decoding") == true)
  }

  @Test func `the hint about a class without secure coding leads to an archive that can be read`() throws {
    let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: Unchecked()) }
    #expect(error?.hint?.contains("'requiringSecureCoding: false', and read with 'allowInsecurely'") == true)
    let data = try SecureArchiver.archivedData(withRootObject: Unchecked(), requiringSecureCoding: false)
    var allowed = AllowedClasses()
    try allowed.allowInsecurely(Unchecked.self)
    #expect(try SecureUnarchiver(reading: data, allowing: allowed).decode(Unchecked.self, forKey: "root") != nil)
  }

  @Test func `the hint about a limit says where limits can be raised`() throws {
    var value: [Any] = []
    for _ in 0..<200 { value = [value] }
    let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: value) }
    #expect(error?.hint?.contains("raise 'ArchiveLimits.depth' of a SecureUnarchiver or SecureArchiver") == true)
  }

  @Test func `sets and decimal numbers need not be listed, but each call must ask for them`() throws {
    let archiver = SecureArchiver()
    archiver.encode(NSSet(array: ["a"]), forKey: "set")
    archiver.encode(NSMutableOrderedSet(array: ["b", "c"]), forKey: "ordered")
    archiver.encode(NSDecimalNumber(string: "1.25"), forKey: "price")
    archiver.encode(NSSet(array: [Address(city: "x")]), forKey: "addresses")
    let data = try archiver.finishEncoding()
    func reader(_ classes: [AnyClass] = [], _ matching: ClassMatching = .exact) throws -> SecureUnarchiver {
      try SecureUnarchiver(reading: data, allowing: [Address.self] + classes, matching: matching)
    }
    let unarchiver = try reader()
    #expect(unarchiver.decodeObject(of: [NSSet.self, NSString.self], forKey: "set") as? NSSet == NSSet(array: ["a"]))
    #expect(
      (unarchiver.decodeObject(of: [NSOrderedSet.self, NSString.self], forKey: "ordered") as? NSOrderedSet)?.count == 2)
    #expect(unarchiver.decodeObject(of: NSDecimalNumber.self, forKey: "price") == NSDecimalNumber(string: "1.25"))
    try unarchiver.finish()
    for matching in [ClassMatching.exact, .asOnApple] {
      // A decimal number cannot be hashed, so a call that asks for a number does not get one that nobody listed.
      #expect(throws: ArchiveError.self) { try reader([], matching).decode([NSNumber.self], forKey: "price") }
      #expect(throws: ArchiveError.self) { try reader([], matching).decode([NSString.self], forKey: "price") }
      #expect(throws: ArchiveError.self) { try reader([], matching).decode([NSArray.self], forKey: "set") }
      #expect(throws: ArchiveError.self) { try reader([], matching).decode([NSSet.self], forKey: "addresses") }
      #expect(throws: ArchiveError.self) { try reader([], matching).decode([NSArray.self], forKey: "ordered") }
    }
    #expect(try reader([NSDecimalNumber.self], .asOnApple).decode([NSNumber.self], forKey: "price") is NSDecimalNumber)
    try SecureUnarchiver.inspect(data).check(allowing: ["SecureCodingTests.Address"])
  }

  private static let holders: [(name: String, fields: [(String, PlistValue)])] = [
    ("NSArray", [("NS.objects", .array([.uid(3)]))]), ("NSSet", [("NS.objects", .array([.uid(3)]))]),
    ("NSOrderedSet", [("NS.object.0", .uid(3))]), ("NSArray", [("NS.objects", .array([.uid(6)]))]),
    ("NSDictionary", [("NS.keys", .array([.uid(5)])), ("NS.objects", .array([.uid(3)]))]),
    ("NSError", [("NSDomain", .uid(5)), ("NSCode", .int(1)), ("NSUserInfo", .uid(6))]),
    ("SecureCodingTests.Heir", [("any", .uid(6))]),
  ]

  @Test(arguments: holders.indices)
  func `an object under two keys is checked against the classes of each call, with all that it holds`(_ index: Int)
    throws
  {
    let holder = Self.holders[index]
    let archive = PlistValue.archive(
      [
        .dict(holder.fields + [("$class", .uid(2))]), .describe(holder.name),
        .dict([("$class", .uid(4))]), .describe("SecureCodingTests.Evil"), .string("k"),
        .dict([("NS.keys", .array([.uid(5)])), ("NS.objects", .array([.uid(3)])), ("$class", .uid(7))]),
        .describe("NSDictionary"),
      ], top: [("a", .uid(1)), ("b", .uid(1))])
    let kinds: [AnyClass] = [
      NSArray.self, NSSet.self, NSOrderedSet.self, NSDictionary.self, NSError.self, NSString.self, Heir.self,
    ]
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: kinds + [Evil.self])
    let first = try #require(try unarchiver.decode(kinds + [Evil.self], forKey: "a") as AnyObject?)
    #expect(try unarchiver.decode([Evil.self] + kinds, forKey: "b") as AnyObject? === first)
    let error = #expect(throws: ArchiveError.self) { try unarchiver.decode(kinds, forKey: "b") }
    guard case .classRefused("SecureCodingTests.Evil", _, let path) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path.description.hasPrefix("b → object "))
  }

  @Test func `what an object decodes with classes of its own does not depend on the other calls`() throws {
    let archiver = SecureArchiver()
    let person = Person(name: "x", age: 1, address: Address(city: "y"))
    archiver.encode([person], forKey: "people")
    archiver.encode(person, forKey: "person")
    let unarchiver = try SecureUnarchiver(
      reading: try archiver.finishEncoding(), allowing: [Person.self, Address.self])
    let people = try unarchiver.decode([NSArray.self, Person.self], forKey: "people") as? NSArray
    #expect(try unarchiver.require(Person.self, forKey: "person") === people?[0] as? Person)
  }

  @Test func `an object that may be absent is decoded by its class, and another class is an error`() throws {
    let archiver = SecureArchiver()
    archiver.encode(Address(city: "y"), forKey: "home")
    let archive = try archiver.finishEncoding()
    func reader() throws -> SecureUnarchiver {
      try SecureUnarchiver(reading: archive, allowing: [Address.self, Person.self])
    }
    let home: Address? = try reader().decode(Address.self, forKey: "home")
    #expect(home?.city == "y")
    #expect(try reader().decode(Address.self, forKey: "work") == nil)
    let error = #expect(throws: ArchiveError.self) { try reader().decode(Person.self, forKey: "home") }
    #expect(error?.code == "classRefused")
  }

  @Test func `a value inline in an array under two keys is checked against the classes of each call`() throws {
    let archive = PlistValue.archive(
      [.dict([("NS.objects", .array([.string("x")])), ("$class", .uid(2))]), .describe("NSArray")],
      top: [("a", .uid(1)), ("b", .uid(1))])
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    #expect(try unarchiver.decode([NSArray.self, NSString.self], forKey: "a") as? NSArray == ["x"])
    let error = #expect(throws: ArchiveError.self) {
      try unarchiver.decode([NSArray.self, NSNumber.self], forKey: "b")
    }
    #expect(error?.code == "classRefused" && error?.path == "b → object 1")
  }

  private static let nestedSets: [PlistValue] = (0..<7).map { level in
    .dict([("NS.objects", .array([.uid(UInt64(2 + level))])), ("$class", .uid(9))])
  }

  @Test(arguments: [
    ("NSOrderedSet", 120, [("NS.object.0", PlistValue.uid(10))]),
    ("NSDictionary", 400, [("NS.keys", .array([.uid(14)])), ("NS.objects", .array([.uid(13)]))]),
    ("NSError", 1_300, [("NSDomain", .uid(13)), ("NSCode", .int(1)), ("NSUserInfo", .uid(12))]),
    ("NSNotification", 1_300, [("NS.name", .uid(13)), ("NS.userinfo", .uid(12))]),
    ("NSAttributedString", 1_300, [("NSString", .uid(13)), ("NSAttributes", .uid(12))]),
  ]) func `what objects share is charged to each of them`(
    _ name: String, _ count: Int, _ fields: [(String, PlistValue)]
  ) throws {
    let shared: [PlistValue] =
      Self.nestedSets + [
        .string("x"), .describe("NSSet"), .dict([("NS.objects", .array([.uid(1)])), ("$class", .uid(11))]),
        .describe("NSArray"),
        .dict([("NS.keys", .array([.uid(13)])), ("NS.objects", .array([.uid(1)])), ("$class", .uid(15))]),
        .string("k"), .string(String(repeating: "é", count: 100_000)), .describe("NSDictionary"), .describe(name),
      ]
    let objects = (0..<count).map { _ in PlistValue.dict(fields + [("$class", .uid(16))]) }
    let top = (0..<count).map { ("\($0)", PlistValue.uid(UInt64(17 + $0))) }
    let archive = PlistValue.archive(shared + objects, top: top)
    let classes: [AnyClass] = [
      NSArray.self, NSSet.self, NSDictionary.self, NSString.self, NSOrderedSet.self, NSError.self,
      NSNotification.self, NSAttributedString.self,
    ]
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: classes)
    #expect(try unarchiver.decode(classes, forKey: "0") != nil)
    for index in 0..<count { _ = unarchiver.decodeObject(of: classes, forKey: "\(index)") }
    #expect((unarchiver.error as? ArchiveError)?.code == "overLimit.comparisons")
  }

  @Test func `an empty character set is decoded under the largest limit`() throws {
    let archive = PlistValue.archive([
      .dict([("NSString", .string("")), ("$class", .uid(2))]), .describe("NSCharacterSet"),
    ])
    var limits = ArchiveLimits.standard
    limits.expansion = .max
    let set = try SecureUnarchiver.unarchivedObject(
      of: NSCharacterSet.self, from: Data(archive.binary()), limits: limits)
    #expect(set?.characterIsMember(97) == false)
  }

  @Test func `every key in topKeys can be decoded`() throws {
    let archive = PlistValue.archive(
      [.string("x")],
      top: [("$0", .uid(1)), ("$$mine", .uid(1)), ("$class", .uid(1)), ("é", .uid(1)), ("root", .uid(1))])
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    #expect(unarchiver.topKeys == ["$mine", "é", "root"])
    for key in unarchiver.topKeys {
      #expect(unarchiver.containsValue(forKey: key), "\(key)")
      #expect(unarchiver.decodeObject(of: NSString.self, forKey: key) == "x")
    }
  }

  @Test func `the calls of a writer are refused by an unarchiver`() throws {
    let calls: [(SecureUnarchiver) -> Void] = [
      { $0.encode("a" as Any?) }, { $0.encode(Data()) }, { $0.encodeRootObject("a") }, { $0.encodeBycopyObject("a") },
      { $0.encodeByrefObject("a") }, { $0.encodeConditionalObject("a") }, { $0.encodePropertyList("a") },
      { unsafe $0.encodeBytes([1] as [UInt8], length: 1) }, { unsafe $0.encodeValue(ofObjCType: "i", at: [Int32(1)]) },
      { unsafe $0.encodeArray(ofObjCType: "i", count: 1, at: [Int32(1)]) }, { $0.encode("a" as Any?, forKey: "a") },
      { $0.encodeConditionalObject("a", forKey: "a") }, { $0.encode(true, forKey: "a") },
      { $0.encode(Int32(1), forKey: "a") }, { $0.encode(Int64(1), forKey: "a") }, { $0.encode(1, forKey: "a") },
      { $0.encode(Float(1), forKey: "a") }, { $0.encode(1.0, forKey: "a") },
      { unsafe $0.encodeBytes([1] as [UInt8], length: 1, forKey: "a") },
    ]
    let data = try SecureArchiver.archivedData(withRootObject: "a")
    for (position, call) in calls.enumerated() {
      let unarchiver = try SecureUnarchiver(reading: data, allowing: [])
      call(unarchiver)
      let error = #expect(throws: ArchiveError.self, "call \(position)") { try unarchiver.finish() }
      #expect(error?.code == "unsupportedCall", "call \(position)")
    }
  }

  @Test func `a name in the archive is mapped to a class by setClass, and so are two names to one class`() throws {
    let archive = PlistValue.archive(
      [
        .dict([("city", .uid(3)), ("$class", .uid(2))]), .describe("old.Place"), .string("東京"),
        .dict([("city", .uid(3)), ("$class", .uid(5))]), .describe("Place"),
      ], top: [("a", .uid(1)), ("b", .uid(4))])
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    try unarchiver.setClass(Address.self, forClassName: "old.Place")
    try unarchiver.setClass(Address.self, forClassName: "Place")
    #expect(try unarchiver.require(Address.self, forKey: "a").city == "東京")
    // Without classes of its own, a call at the top accepts what was mapped.
    #expect((unarchiver.decodeObject(forKey: "b") as? Address)?.city == "東京")

    let other = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    try other.setClass(Address.self, forClassName: "Place")
    let error = #expect(throws: ArchiveError.self) { try other.require(Address.self, forKey: "b") }
    #expect(error?.code == "classRefused", "the archive holds a name that nobody mapped")
    #expect(throws: ArchiveError.self) { try other.setClass(NSObject.self, forClassName: "old.Place") }
  }

  @Test func `a dictionary is decoded with classes for its keys and others for its values`() throws {
    func reader() throws -> SecureUnarchiver {
      let archiver = SecureArchiver()
      archiver.encode(["x": Address(city: "y")] as NSDictionary, forKey: "addresses")
      archiver.encode(["x": ["y"]] as NSDictionary, forKey: "nested")
      archiver.encode([NSNumber(value: 1): "one", NSDate(timeIntervalSince1970: 1): "date"], forKey: "mixed")
      return try SecureUnarchiver(reading: try archiver.finishEncoding(), allowing: [Address.self])
    }
    let good = try reader()
    let typed = good.decodeDictionary(withKeyClass: NSString.self, objectClass: Address.self, forKey: "addresses")
    #expect(typed?["x"]?.city == "y" && typed?.count == 1)
    let untyped = good.decodeDictionary(
      withKeyClasses: [NSNumber.self, NSString.self], objectClasses: [NSString.self, Address.self], forKey: "addresses")
    #expect((untyped?["x"] as? Address)?.city == "y" && untyped?.count == 1)
    let listed = good.decodeDictionary(
      withKeyClasses: [NSString.self], objectClasses: [NSArray.self, NSString.self], forKey: "nested")
    #expect(listed?["x"] as? [String] == ["y"])
    let mixed = good.decodeDictionary(
      withKeyClasses: [NSNumber.self, NSDate.self], objectClasses: [NSString.self], forKey: "mixed")
    #expect(mixed?[NSNumber(value: 1)] as? String == "one")
    #expect(mixed?[Date(timeIntervalSince1970: 1)] as? String == "date")
    #expect(good.decodeDictionary(withKeyClasses: [], objectClasses: [], forKey: "none") == nil)
    try good.finish()

    let refused: [(SecureUnarchiver) -> Any?] = [
      { $0.decodeDictionary(withKeyClass: NSString.self, objectClass: NSString.self, forKey: "addresses") },
      { $0.decodeDictionary(withKeyClass: NSNumber.self, objectClass: Address.self, forKey: "addresses") },
      { $0.decodeDictionary(withKeyClasses: [Address.self], objectClasses: [NSString.self], forKey: "addresses") },
      { $0.decodeDictionary(withKeyClasses: [NSString.self], objectClasses: [NSString.self], forKey: "nested") },
      { $0.decodeArrayOfObjects(ofClass: Address.self, forKey: "addresses") },
    ]
    for (number, call) in refused.enumerated() {
      let unarchiver = try reader()
      #expect(call(unarchiver) == nil, "\(number)")
      #expect((unarchiver.error as? ArchiveError)?.code == "classRefused", "\(number)")
    }
  }

  @Test func `an array of several classes is decoded, but no container in it that is not among them`() throws {
    func reader() throws -> SecureUnarchiver {
      let archiver = SecureArchiver()
      archiver.encode(["x", Address(city: "y"), ["z"]] as NSArray, forKey: "values")
      return try SecureUnarchiver(reading: try archiver.finishEncoding(), allowing: [Address.self])
    }
    let read = try reader().decodeArrayOfObjects(
      ofClasses: [NSString.self, Address.self, NSArray.self], forKey: "values")
    #expect(read?.count == 3 && read?[2] as? [String] == ["z"])
    let unarchiver = try reader()
    #expect(unarchiver.decodeArrayOfObjects(ofClasses: [NSString.self, Address.self], forKey: "values") == nil)
    #expect((unarchiver.error as? ArchiveError)?.code == "classRefused")
  }

  @Test func `arrays and dictionaries at the root may hold several classes, but no others`() throws {
    let list = try SecureArchiver.archivedData(withRootObject: ["x", Address(city: "y"), ["z"]] as NSArray)
    let elements = try SecureUnarchiver.unarchivedArrayOfObjects(
      ofClasses: [NSString.self, Address.self, NSArray.self], from: list)
    #expect(elements?.count == 3 && elements?[0] as? String == "x" && elements?[2] as? [String] == ["z"])
    let table = try SecureArchiver.archivedData(
      withRootObject: ["a": Address(city: "y"), 1: "x", "b": NSNull()] as NSDictionary)
    let pairs = try SecureUnarchiver.unarchivedDictionary(
      ofKeyClasses: [NSString.self, NSNumber.self], objectClasses: [Address.self, NSString.self, NSNull.self],
      from: table)
    #expect(pairs?.count == 3 && (pairs?["a"] as? Address)?.city == "y" && pairs?[NSNumber(value: 1)] as? String == "x")
    let refused: [() throws -> Any?] = [
      { try SecureUnarchiver.unarchivedArrayOfObjects(ofClasses: [NSString.self, Address.self], from: list) },
      { try SecureUnarchiver.unarchivedArrayOfObjects(ofClasses: [NSString.self, NSArray.self], from: list) },
      { try SecureUnarchiver.unarchivedArrayOfObjects(ofClasses: [NSString.self, Address.self], from: table) },
      {
        try SecureUnarchiver.unarchivedDictionary(
          ofKeyClasses: [NSString.self], objectClasses: [Address.self, NSString.self, NSNull.self], from: table)
      },
      {
        try SecureUnarchiver.unarchivedDictionary(
          ofKeyClasses: [NSString.self, NSNumber.self], objectClasses: [Address.self, NSNull.self], from: table)
      },
      {
        try SecureUnarchiver.unarchivedDictionary(
          ofKeyClasses: [NSString.self, NSNumber.self], objectClasses: [NSString.self], from: list)
      },
    ]
    for (number, call) in refused.enumerated() {
      let error = #expect(throws: ArchiveError.self, "\(number)") { try call() }
      #expect(error?.code == "classRefused", "\(number)")
    }
  }

  @Test func `an archive without a root is an error in every call, and a root that is nil is nil`() throws {
    let calls: [(Data) throws -> Any?] = [
      { try SecureUnarchiver.unarchivedObject(of: NSString.self, from: $0) },
      { try SecureUnarchiver.unarchivedObject(ofClasses: [NSString.self], from: $0) },
      { try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: NSString.self, from: $0) },
      { try SecureUnarchiver.unarchivedDictionary(ofKeyClass: NSString.self, objectClass: NSString.self, from: $0) },
      { try SecureUnarchiver.unarchivedArrayOfObjects(ofClasses: [NSString.self], from: $0) },
      {
        try SecureUnarchiver.unarchivedDictionary(
          ofKeyClasses: [NSString.self], objectClasses: [NSString.self], from: $0)
      },
    ]
    for (number, call) in calls.enumerated() {
      let other = SecureArchiver()
      other.encode("x", forKey: "other")
      let data = try other.finishEncoding()
      #expect(throws: ArchiveError.missingValue(at: ArchivePath([.key("root")])), "\(number)") { try call(data) }
      let empty = SecureArchiver()
      empty.encode(nil as Any?, forKey: "root")
      #expect(try call(empty.finishEncoding()) == nil, "\(number)")
    }
  }

  @Test func `a dictionary whose keys and values are numbered has the same contents in every call`() throws {
    let archive = PlistValue.archive([
      .dict([("NS.key.0", .uid(3)), ("NS.object.0", .uid(4)), ("$class", .uid(2))]), .describe("NSDictionary"),
      .string("k"), .string("v"),
    ])
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    let whole = try unarchiver.decode([NSDictionary.self, NSString.self], forKey: "root")
    #expect(whole as? NSDictionary == ["k": "v"])
    let typed = unarchiver.decodeDictionary(withKeyClass: NSString.self, objectClass: NSString.self, forKey: "root")
    #expect(typed == ["k": "v"])
    try unarchiver.finish()
  }

  @Test func `an element of another class is an error, even if its class is accepted as on Apple's systems`() throws {
    let data = try SecureArchiver.archivedData(withRootObject: ["k": "v"] as NSDictionary)
    let list = try SecureArchiver.archivedData(withRootObject: ["v"] as NSArray)
    let calls: [(Data, (SecureUnarchiver) -> Any?)] = [
      (data, { $0.decodeDictionary(withKeyClass: NSString.self, objectClass: NSUUID.self, forKey: "root") }),
      (data, { $0.decodeDictionary(withKeyClass: NSUUID.self, objectClass: NSString.self, forKey: "root") }),
      (list, { $0.decodeArrayOfObjects(ofClass: NSUUID.self, forKey: "root") }),
    ]
    for (number, (data, call)) in calls.enumerated() {
      let unarchiver = try SecureUnarchiver(reading: data, allowing: [], matching: .asOnApple)
      #expect(call(unarchiver) == nil, "\(number)")
      #expect((unarchiver.error as? ArchiveError)?.code == "wrongType", "\(number)")
    }
  }

  @Test func `lent bytes have their length, and missing ones have none`() throws {
    let archive = PlistValue.archive([.string("x")], top: [("bytes", .data([1, 2, 3])), ("root", .uid(1))])
    let unarchiver = try SecureUnarchiver(reading: Data(archive.binary()), allowing: [])
    var count = -1
    let bytes = unsafe try #require(unarchiver.decodeBytes(forKey: "bytes", returnedLength: &count))
    #expect(unsafe Array(UnsafeBufferPointer(start: bytes, count: count)) == [1, 2, 3])
    #expect(unsafe unarchiver.decodeBytes(forKey: "none", returnedLength: &count) == nil)
    #expect(count == 0)
    try unarchiver.finish()
    #expect(unsafe unarchiver.decodeBytes(forKey: "root", returnedLength: nil) == nil)
    #expect((unarchiver.error as? ArchiveError)?.code == "wrongType")
  }

  @Test func `a class of Foundation that is not built here, or a name that another class has, is not allowed`() {
    let foreign = #expect(throws: ArchiveError.self) { try AllowedClasses([NSPredicate.self]) }
    #expect(foreign?.code == "unusableClass.notBuilt")
    var allowed = AllowedClasses()
    for name in ["NSArray", "NSString"] {
      let error = #expect(throws: ArchiveError.self) { try allowed.allow(Address.self, named: name) }
      #expect(error?.code == "unusableClass.nameTaken")
    }
    #expect(throws: Never.self) { try allowed.allow(Address.self, named: "Former.Address") }
    let error = #expect(throws: ArchiveError.self) { try allowed.allow(Knot.self, named: "Former.Address") }
    #expect(error?.code == "unusableClass.nameTaken")
  }
}
