import Foundation
import KeyedArchives
import SecureCoding
import Testing

/// The behaviour that classes and their callers rely on when they archive.
@Suite struct ArchiverTests {
  private func inspect(_ data: Data) throws -> String {
    String(decoding: try SecureUnarchiver.inspect(data).json(), as: UTF8.self)
  }

  @Test func `two persons share one address, and a third has another`() throws {
    let home = Address(city: "東京")
    let persons = [
      Person(name: "太郎", age: 41, address: home), Person(name: "花子", age: 38, address: home),
      Person(name: "Ada", age: 36, address: Address(city: "東京")),
    ]
    let data = try SecureArchiver.archivedData(withRootObject: persons)
    let read = try #require(
      try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Person.self, allowing: [Address.self], from: data))
    #expect(read.map(\.name) == ["太郎", "花子", "Ada"] && read.map(\.age) == [41, 38, 36])
    #expect(read[0].address === read[1].address && read[0].address !== read[2].address)
    #expect(read[2].address?.city == "東京")
    // Foundation's own reader finds the same values.
    let classes: [AnyClass] = [NSArray.self, Person.self, Address.self]
    let foundation = try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? [Person]
    #expect(foundation?.map(\.name) == ["太郎", "花子", "Ada"] && foundation?[0].address === foundation?[1].address)
  }

  @Test func `a class archived under another name can be read back as a different class`() throws {
    let data = try SecureArchiver.archivedData(
      withRootObject: Address(city: "Bern"), names: [(Address.self, "TargetAddress")])
    #expect(try inspect(data).contains("\"$class\":\"TargetAddress\""))
    var allowed = AllowedClasses()
    try allowed.allow(OtherAddress.self, named: "TargetAddress")
    let read = try SecureUnarchiver(reading: data, allowing: allowed).require(OtherAddress.self, forKey: "root")
    #expect(read.town == "Bern")
  }

  @Test func `an object is archived under the class that it names for coders, as by Foundation`() throws {
    let pair = [Disguised(city: "Bern"), Village(city: "Basel"), DisguisedInKeyedArchives(city: "Thun")]
    for data in [
      try SecureArchiver.archivedData(withRootObject: pair),
      try NSKeyedArchiver.archivedData(withRootObject: pair, requiringSecureCoding: true),
    ] {
      let text = try inspect(data)
      #expect(text.contains(#""$class":"SecureCodingTests.Village""#) && !text.contains("Disguised"))
      let read = try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Village.self, from: data)
      #expect(
        read?.map(\.city) == ["Bern", "Basel", "Thun"] && read?.allSatisfy { type(of: $0) == Village.self } == true)
      #expect(throws: ArchiveError.self) {
        try SecureUnarchiver.unarchivedArrayOfObjects(ofClass: Disguised.self, from: data)
      }
    }
    let named = try SecureArchiver.archivedData(withRootObject: pair[0], names: [(Village.self, "Town")])
    #expect(try inspect(named).contains(#""$class":"Town""#))
    let own = try SecureArchiver.archivedData(withRootObject: Undisguised(city: "Biel"))
    #expect(try inspect(own).contains(#""$class":"SecureCodingTests.Undisguised""#))
  }

  @Test func `a class for coders that could not be read back is refused`() throws {
    for object: NSObject in [AsText(), AsTextInKeyedArchives(), AsRoot(), AsInsecure(), AsUncoded()] {
      let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: object) }
      guard case .notArchivable? = error else {
        Issue.record("\(String(describing: error))")
        continue
      }
    }
  }

  @Test func `scalars under keys keep their values and keys`() throws {
    let archiver = SecureArchiver()
    archiver.encode(true, forKey: "bool")
    archiver.encode(Int32.min, forKey: "int32")
    archiver.encode(Int64.max, forKey: "int64")
    archiver.encode(-7, forKey: "$int")
    archiver.encode(Float(0.1), forKey: "float")
    archiver.encode(Double.leastNonzeroMagnitude, forKey: "double")
    archiver.encode(nil as Any?, forKey: "nil")
    let bytes: [UInt8] = [1, 2, 0, 255]
    unsafe archiver.encodeBytes(bytes, length: 4, forKey: "bytes")
    archiver.encode("one" as Any?, forKey: "twice")
    archiver.encode("two" as Any?, forKey: "twice")
    let unarchiver = try SecureUnarchiver(reading: try archiver.finishEncoding(), allowing: [NSString.self])
    #expect(unarchiver.decodeBool(forKey: "bool") && unarchiver.decodeInt32(forKey: "int32") == .min)
    #expect(unarchiver.decodeInt64(forKey: "int64") == .max && unarchiver.decodeInteger(forKey: "$int") == -7)
    #expect(unarchiver.decodeFloat(forKey: "float") == 0.1)
    #expect(unarchiver.decodeDouble(forKey: "double") == .leastNonzeroMagnitude)
    #expect(unarchiver.containsValue(forKey: "nil"))
    #expect(unarchiver.decodeObject(of: NSString.self, forKey: "nil") == nil)
    unsafe unarchiver.withDecodedUnsafeBytes(forKey: "bytes") { lent in
      #expect(unsafe Array(lent ?? UnsafeRawBufferPointer(start: nil, count: 0)) == bytes)
    }
    #expect(unarchiver.decodeObject(of: NSString.self, forKey: "twice") == "two")
    try unarchiver.finish()
  }

  @Test func `values without keys are read back in their order`() throws {
    let archiver = SecureArchiver()
    archiver.encode("first" as Any?)
    var number: Int32 = 7
    unsafe archiver.encodeValue(ofObjCType: "i", at: &number)
    archiver.encode(Data([1]))
    let unarchiver = try SecureUnarchiver(
      reading: try archiver.finishEncoding(), allowing: [NSString.self, NSData.self])
    #expect(unarchiver.decodeObject() as? String == "first")
    var read: Int32 = 0
    unsafe unarchiver.decodeValue(ofObjCType: "i", at: &read)
    #expect(read == 7 && unarchiver.decodeData() == Data([1]))
    try unarchiver.finish()
  }

  @Test func `a conditional object is archived only if something else archives it`() throws {
    let (shared, lonely) = (Address(city: "shared"), Address(city: "lonely"))
    let archiver = SecureArchiver()
    archiver.encodeConditionalObject(shared, forKey: "before")
    archiver.encodeConditionalObject(lonely, forKey: "never")
    archiver.encode(shared, forKey: "really")
    let unarchiver = try SecureUnarchiver(reading: try archiver.finishEncoding(), allowing: [Address.self])
    let before = unarchiver.decodeObject(of: Address.self, forKey: "before")
    #expect(before != nil && before === unarchiver.decodeObject(of: Address.self, forKey: "really"))
    #expect(unarchiver.decodeObject(of: Address.self, forKey: "never") == nil)
    try unarchiver.finish()
  }

  @Test func `a value that cannot be archived throws an error with its path`() throws {
    struct Plain {}
    func error(_ value: Any) -> ArchiveError? {
      #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: value) }
    }
    #expect(error(["a": Plain()])?.code == "notArchivable.swiftValue")
    #expect(error(["a": Plain()])?.path == "root → NS.objects[0]")
    #expect(error(Thread.current)?.code == "notArchivable.notCoding")
    #expect(error(NSObject())?.code == "notArchivable.notCoding")
    #expect(error(Unchecked())?.code == "notArchivable.notSecure")
    #expect(error(OwnNull())?.code == "notArchivable.notWritten")
    #expect(error(Hidden())?.code == "noStableName")
    let node = Knot()
    node.next = node
    #expect(error(node)?.code == "cycle")
    let deep = (0..<500).reduce(NSArray()) { array, _ in NSArray(object: array) }
    #expect(error(deep)?.code == "overLimit.depth")
    #expect(throws: Never.self) {
      try SecureArchiver.archivedData(withRootObject: Unchecked(), requiringSecureCoding: false)
    }
    #expect(throws: Never.self) {
      try SecureArchiver.archivedData(withRootObject: Hidden(), names: [(Hidden.self, "Hidden")])
    }
  }

  @Test func `the first failure is thrown, and nothing is written after it`() {
    let archiver = SecureArchiver()
    archiver.encode(NSObject(), forKey: "bad")
    archiver.encode(1, forKey: "good")
    #expect(
      archiver.error as? ArchiveError
        == .notArchivable(type: "Foundation.NSObject", reason: .notCoding, at: ArchivePath([.key("bad")])))
    #expect(throws: ArchiveError.self) { try archiver.finishEncoding() }
  }

  @Test func `writing a control character as XML throws an error`() throws {
    #expect(throws: ArchiveError.notInXML("a control character")) {
      try SecureArchiver.archivedData(withRootObject: "a\u{1}", format: .xml)
    }
    let data = try SecureArchiver.archivedData(withRootObject: "a\r\n<&>\t", format: .xml)
    #expect(try SecureUnarchiver.unarchivedObject(of: NSString.self, from: data) == "a\r\n<&>\t")
  }

  @Test func `objects in containers keep their class, counts and identity`() throws {
    let (shared, text) = (NSArray(array: ["a"]), NSMutableString(string: "m"))
    let root = NSDictionary(
      objects: [NSCountedSet(array: ["a", "a", "b"]), NSMutableArray(array: [text, text, shared]), shared],
      forKeys: ["counted" as NSString, "array" as NSString, "shared" as NSString])
    let data = try SecureArchiver.archivedData(withRootObject: root)
    let classes: [AnyClass] = [
      NSDictionary.self, NSArray.self, NSString.self, NSCountedSet.self, NSMutableArray.self, NSMutableString.self,
    ]
    let read = try #require(
      try SecureUnarchiver.unarchivedObject(ofClasses: classes, from: data) as? NSDictionary)
    #expect(
      Set(try SecureUnarchiver.inspect(data).classes.map(\.name)) == [
        "NSDictionary", "NSCountedSet", "NSMutableArray", "NSMutableString", "NSArray",
      ])
    // $null, the dictionary, three keys, the set with two strings, the array, the mutable string, the shared array with
    // its string, and the class descriptions.
    #expect(try SecureUnarchiver.inspect(data).objectCount == 17)
    let again = try SecureArchiver.archivedData(withRootObject: read)
    #expect(again == data)
  }

  @Test func `shared arrays are not expanded, and each nested set is sorted once`() throws {
    var array = NSArray()
    for _ in 0..<40 { array = NSArray(array: [array, array]) }
    let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: array) }
    #expect(error?.code == "overLimit.references")
    func sets(_ levels: Int) -> NSSet {
      (0..<levels).reduce(NSSet(array: [Address(city: "0")])) { set, level in
        NSSet(array: [set, Address(city: "a \(level)"), Address(city: "b \(level)")])
      }
    }
    _ = try SecureArchiver.archivedData(withRootObject: sets(6))
    // Sorting them is fast, but the time to read them would double with each level.
    let refusal = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: sets(40)) }
    #expect(refusal?.code == "overLimit.comparisons")
  }

  @Test func `objects in sets count as deep as they lie`() throws {
    func code(_ levels: Int) -> String? {
      let value = (0..<levels).reduce(Group(children: NSSet())) { group, level in
        Group(children: NSSet(array: [group, Address(city: "\(level)")]))
      }
      var limits = ArchiveLimits.standard
      limits.comparisons = .max
      let archiver = SecureArchiver(limits: limits)
      archiver.encode(value, forKey: "root")
      return (archiver.error as? ArchiveError)?.code
    }
    #expect(code(60) == nil)
    for levels in [64, 1_000, 5_000] { #expect(code(levels) == "overLimit.depth") }
  }

  @Test func `keys that look equal are written in the order of their values`() throws {
    let archives = try (0..<5).map { _ in
      let keys = (0..<2_000).map { _ in Group(children: NSSet()) }
      let values = keys.indices.map { NSNumber(value: $0) }.shuffled()
      return try SecureArchiver.archivedData(withRootObject: NSDictionary(objects: values, forKeys: keys))
    }
    #expect(Set(archives).count == 1)
  }

  @Test func `equal attributes of an attributed string are archived once`() throws {
    let text = NSMutableAttributedString(string: "")
    let links: [[String: Any]] = [["NSLink": "a"], ["NSLink": "b"], ["NSLink": "a"], ["NSLink": 1, "Other": "b"]]
    for link in links + links {
      let attributes = Dictionary(uniqueKeysWithValues: link.map { (NSAttributedString.Key($0.key), $0.value) })
      text.append(NSAttributedString(string: "word ", attributes: attributes))
    }
    let data = try SecureArchiver.archivedData(withRootObject: text)
    let read = try #require(try SecureUnarchiver.unarchivedObject(of: NSMutableAttributedString.self, from: data))
    #expect(read.isEqual(to: text))
    let dictionaries = try inspect(data).components(separatedBy: "NSLink").count - 1
    #expect(dictionaries == 3)
  }

  @Test func `an array that holds itself many times is refused before it is converted`() throws {
    var doubled: [Any] = ["x"]
    for _ in 0..<40 { doubled = [doubled, doubled] }
    var limits = ArchiveLimits.standard
    limits.references = 1_000
    let archiver = SecureArchiver(limits: limits)
    archiver.encode(doubled, forKey: "root")
    let error = #expect(throws: ArchiveError.self) { try archiver.finishEncoding() }
    #expect(error?.code == "overLimit.references")
  }

  @Test func `an archive that could not be read back is not written`() throws {
    func code(_ value: Any) -> String? {
      #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: value) }?.code
    }
    #expect(code(NSSet(array: [NSArray(array: [1])])) == "notArchivable.unusableElement")
    // As objects, these would end the process when they are hashed.
    #expect(code(Set([Decimal(1)])) == "notArchivable.unusableElement")
    #expect(code(["prices": [[Decimal(1): "x"]]] as [String: Any]) == "notArchivable.unusableElement")
    let huge = Measurement(value: 1e30, unit: UnitLength.meters)
    #expect(code([Set([Set([huge])])]) == "notArchivable.unusableElement")
    var address = URLComponents()
    (address.host, address.path) = ("h", "zz")
    #expect(code(["u": [address]]) == "notArchivable.notWritten")
    var nested: [Any] = ["x"]
    for _ in 0..<2_000 { nested = [nested] }
    #expect(code(nested) == "overLimit.depth")
    // Comparing it would take minutes, so the reader refuses it.
    let row = NSDictionary(dictionary: Dictionary(uniqueKeysWithValues: (0..<20).map { ("k\($0)", "v") }))
    #expect(code(["rows": NSArray(array: Array(repeating: row, count: 5_000))]) == "overLimit.comparisons")
    let data = NSMutableArray()
    for _ in 0..<200 { data.add(NSData(data: Data(repeating: 1, count: 20_000))) }
    #expect(code(data) == "overLimit.expansion")
    var limits = ArchiveLimits.standard
    limits.objects = 10
    let archiver = SecureArchiver(limits: limits)
    archiver.encode((0..<10).map { "\($0)" }, forKey: "root")
    let error = #expect(throws: ArchiveError.self) { try archiver.finishEncoding() }
    #expect(error?.code == "overLimit.objects")
    // A reference that is conditional when it is encoded, but closes a cycle in the end.
    let (first, second) = (Knot(), Knot())
    first.maybe = second
    second.next = first
    #expect(code([first, second]) == "cycle")
  }

  @Test func `a class name that is reserved or taken is refused`() {
    func code(_ names: [(type: AnyClass, name: String)]) -> String? {
      #expect(throws: ArchiveError.self) {
        try SecureArchiver.archivedData(withRootObject: [Address(city: "a"), Knot()], names: names)
      }?.code
    }
    for name in ["", "$null", "NSObject", "NSArray", "SecureCodingTests.Knot"] {
      #expect(code([(Address.self, name)]) == "unusableClass.nameTaken", "\(name)")
    }
  }

  @Test func `encoding into a finished archive fails, and no call ends the process`() throws {
    let archiver = SecureArchiver()
    _ = try archiver.finishEncoding()
    archiver.encode(1, forKey: "late")
    #expect(throws: ArchiveError.self) { try archiver.finishEncoding() }
    let other = SecureArchiver()
    unsafe other.encodeBytes(nil, length: 5, forKey: "a")
    #expect((other.error as? ArchiveError)?.code == "unsupportedCall")
    unsafe SecureArchiver().encodeBytes([1], length: -1, forKey: "a")
  }

  @Test func `the calls of a reader are refused by an archiver`() throws {
    var number: Int32 = 0
    let calls: [(SecureArchiver) -> Bool] = [
      { !$0.containsValue(forKey: "a") }, { $0.decodeObject() == nil }, { $0.decodeObject(forKey: "a") == nil },
      { $0.decodeObject(of: NSString.self, forKey: "a") == nil },
      { $0.decodeObject(of: [NSString.self], forKey: "a") == nil },
      { $0.decodeArrayOfObjects(ofClass: NSString.self, forKey: "a") == nil },
      { $0.decodeDictionary(withKeyClass: NSString.self, objectClass: NSString.self, forKey: "a") == nil },
      { $0.decodePropertyList() == nil }, { $0.decodePropertyList(forKey: "a") == nil }, { $0.decodeData() == nil },
      { !$0.decodeBool(forKey: "a") }, { $0.decodeCInt(forKey: "a") == 0 }, { $0.decodeInt32(forKey: "a") == 0 },
      { $0.decodeInt64(forKey: "a") == 0 }, { $0.decodeInteger(forKey: "a") == 0 },
      { $0.decodeFloat(forKey: "a") == 0 }, { $0.decodeDouble(forKey: "a") == 0 },
      { unsafe $0.withDecodedUnsafeBytes(forKey: "a") { unsafe $0 == nil } },
      { unsafe $0.withDecodedUnsafeBufferPointer(forKey: "a") { unsafe $0 == nil } },
      { unsafe $0.decodeValue(ofObjCType: "i", at: &number) == () && number == 0 },
      { unsafe $0.decodeArray(ofObjCType: "i", count: 1, at: &number) == () && number == 0 },
    ]
    for (position, call) in calls.enumerated() {
      let archiver = SecureArchiver()
      #expect(archiver.allowedClasses?.isEmpty == true)
      #expect(call(archiver), "call \(position)")
      let error = #expect(throws: ArchiveError.self, "call \(position)") { try archiver.finishEncoding() }
      #expect(error?.code == "unsupportedCall", "call \(position)")
    }
  }

  @Test func `what an object names as its replacement is archived, as on Apple's systems`() throws {
    let twice = Replaced(by: Address(city: "Bern"))
    let objects: [Any] = [twice, ReplacedForCoders(), twice, Replaced(by: "text")]
    let read = try SecureUnarchiver.unarchivedObject(
      ofClasses: [NSArray.self, Address.self, NSString.self],
      from: try SecureArchiver.archivedData(withRootObject: objects))
    let array = try #require(read as? [Any])
    #expect((array[0] as? Address)?.city == "Bern" && array[0] as AnyObject === array[2] as AnyObject)
    #expect((array[1] as? Address)?.city == "Chur" && array[3] as? String == "text")
    let nothing = Replaced(by: nil)
    let archiver = SecureArchiver()
    archiver.encode(nothing, forKey: "a")
    archiver.encode(nothing, forKey: "b")
    let reader = try SecureUnarchiver(reading: try archiver.finishEncoding(), allowing: [])
    #expect(reader.containsValue(forKey: "b") && reader.decodeObject(forKey: "b") == nil)
    try reader.finish()
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: [nothing]) }
    let itself = Replaced(by: nil)
    itself.replacement = itself
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: itself) }
    let around = Group(children: NSSet(array: [Replaced(by: nil)]))
    (around.children.anyObject() as? Replaced)?.replacement = around
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: around) }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(withRootObject: Replaced(by: OwnNull())) }
  }

  @Test func `a CGFloat is archived as a number, also in an array`() throws {
    let data = try SecureArchiver.archivedData(withRootObject: [CGFloat(0.5) as Any, [CGFloat(2)]] as [Any])
    let read = try SecureUnarchiver.unarchivedObject(ofClasses: [NSArray.self, NSNumber.self], from: data) as? [Any]
    #expect(read?[0] as? Double == 0.5 && (read?[1] as? [Double]) == [2])
    #expect(
      try SecureUnarchiver.unarchivedObject(
        ofClass: NSNumber.self, from: SecureArchiver.archivedData(withRootObject: CGFloat(0.25) as Any)) == 0.25)
  }

  @Test func `sets and dictionaries are written in one order, whatever their order in memory`() throws {
    let cities = (0..<50).map { "city \($0)" }
    let archives = try (0..<5).map { _ in
      try SecureArchiver.archivedData(withRootObject: NSSet(array: cities.shuffled().map { Address(city: $0) }))
    }
    #expect(Set(archives).count == 1)
    let dictionaries = try (0..<5).map { _ in
      let keys = cities.shuffled()
      return try SecureArchiver.archivedData(
        withRootObject: NSDictionary(objects: keys, forKeys: keys.map { NSString(string: $0) }))
    }
    #expect(Set(dictionaries).count == 1)
  }
}

/// Reads the archive of an `Address` under another class name.
final class OtherAddress: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let town: String

  required init?(coder: NSCoder) {
    guard let town = coder.decodeObject(of: NSString.self, forKey: "city") else { return nil }
    self.town = String(describing: town)
  }

  func encode(with coder: NSCoder) { coder.encode(town, forKey: "city") }
}

final class Unchecked: NSObject, NSCoding {
  override init() {}
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) { coder.encode(1, forKey: "a") }
}

final class OwnNull: NSNull, @unchecked Sendable {}

final class Knot: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var next: Knot?
  var maybe: Knot?
  override init() {}
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {
    coder.encode(next, forKey: "next")
    coder.encodeConditionalObject(maybe, forKey: "maybe")
  }
}

/// An object in whose place another one is archived.
private final class Replaced: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  var replacement: Any?
  init(by replacement: Any?) { self.replacement = replacement }
  required init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) { coder.encode("not replaced", forKey: "city") }
  override func replacementObject(for archiver: NSKeyedArchiver) -> Any? { replacement }
}

private final class ReplacedForCoders: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  override init() {}
  required init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) { coder.encode("not replaced", forKey: "city") }
  override func replacementObject(for coder: NSCoder) -> Any? { coder.allowsKeyedCoding ? Address(city: "Chur") : self }
}

private final class Hidden: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  override init() {}
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) {}
}

/// A class whose objects are all different, even if they hold the same.
final class Group: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let children: NSSet
  init(children: NSSet) { self.children = children }
  required init?(coder: NSCoder) { nil }
  func encode(with coder: NSCoder) { coder.encode(children, forKey: "children") }
}

/// A class whose subclasses name other classes for coders.
private class Named: NSObject, NSSecureCoding {
  class var supportsSecureCoding: Bool { true }
  override init() {}
  required init?(coder: NSCoder) {}
  func encode(with coder: NSCoder) { coder.encode(1, forKey: "number") }
}

private final class AsText: Named { override var classForCoder: AnyClass { NSString.self } }
private final class AsTextInKeyedArchives: Named { override var classForKeyedArchiver: AnyClass? { NSString.self } }
private final class AsRoot: Named { override var classForCoder: AnyClass { NSObject.self } }
private final class AsInsecure: Named { override var classForCoder: AnyClass { NotSecure.self } }
private final class AsUncoded: Named { override var classForCoder: AnyClass { Uncoded.self } }
private final class NotSecure: Named { override class var supportsSecureCoding: Bool { false } }
private final class Uncoded: NSObject {}
