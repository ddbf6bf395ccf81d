import Foundation
import KeyedArchives
import SecureCoding
import Testing

/// Swift values in archives.
@Suite struct CodableTests {
  struct Sample: Codable, Equatable {
    enum Kind: String, Codable { case small, large }
    enum Shape: Codable, Equatable {
      case point
      case circle(radius: Double)
    }
    struct Inner: Codable, Equatable {
      var date: Date
      var data: Data
    }
    var text = "日本"
    var flag = true
    var small: Int8 = -5
    var large = UInt64.max
    var real = 0.1
    var missing: String?
    var present: Int? = 3
    var list = [1, 2, 3]
    var nested = [[Inner(date: Date(timeIntervalSinceReferenceDate: 0.5), data: Data([1, 2]))]]
    var table = ["a": Kind.small, "b": .large]
    var shape = Shape.circle(radius: 2)
    var url = URL(string: "https://example.com")
    var uuid = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
    var decimal = Decimal(string: "1.25")
  }

  private struct Tree: Codable, Equatable {
    var name = "folder"
    var children: [Tree] = []

    init(depth: Int) { if depth > 0 { children = (0..<3).map { _ in Tree(depth: depth - 1) } } }
  }

  @Test func `equal long texts, and a deep tree of many values, are read back`() throws {
    let texts = (0..<100).map { _ in String(repeating: "Lorem ipsum dolor sit amet. ", count: 800) }
    let data = try SecureArchiver.archivedData(encoding: texts, named: "texts")
    #expect(data.count < 30_000)
    #expect(try SecureUnarchiver.decoded([String].self, named: "texts", from: data) == texts)
    let tree = Tree(depth: 7)
    let archive = try SecureArchiver.archivedData(encoding: tree, named: "tree")
    #expect(try SecureUnarchiver.decoded(Tree.self, named: "tree", from: archive) == tree)
  }

  @Test func `a structure is read back equal from both formats and always has the same bytes`() throws {
    let data = try SecureArchiver.archivedData(encoding: Sample())
    for _ in 0..<20 { #expect(try SecureArchiver.archivedData(encoding: Sample()) == data) }
    #expect(try SecureUnarchiver.decoded(Sample.self, from: data) == Sample())
    let xml = try SecureArchiver.archivedData(encoding: Sample(), format: .xml)
    #expect(try SecureUnarchiver.decoded(Sample.self, from: xml) == Sample())
    // Foundation's own reader sees a dictionary.
    let foundation = try NSKeyedUnarchiver.unarchivedObject(
      ofClasses: [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self], from: data)
    #expect((foundation as? NSDictionary)?["text"] as? String == "日本")
  }

  @Test func `arrays, dictionaries, optionals and single values can be archived at the top`() throws {
    func through<Value: Codable & Equatable>(_ value: Value) throws {
      #expect(try SecureUnarchiver.decoded(Value.self, from: try SecureArchiver.archivedData(encoding: value)) == value)
    }
    try through([Sample(), Sample()])
    try through(["a": Sample()])
    try through(5)
    try through("text")
    try through(true)
    try through(0.1)
    try through(Date(timeIntervalSinceReferenceDate: 1.5))
    try through(Data([1]))
    try through([Int]())
    try through([String: Int]())
    try through(Sample.Kind.large)
    try through([Int?.none, 3])
  }

  @Test func `the type's name is recorded and checked`() throws {
    struct Local: Codable { var a = 1 }
    let data = try SecureArchiver.archivedData(encoding: Sample.Kind.small)
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [])
    #expect(unarchiver.typeName == "SecureCodingTests.CodableTests.Sample.Kind")
    #expect(
      throws: ArchiveError.otherType(found: "SecureCodingTests.CodableTests.Sample.Kind", expected: "Swift.String")
    ) {
      try SecureUnarchiver.decoded(String.self, from: data)
    }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: Local()) }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: Private()) }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: Generic(value: 1)) }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: [Private()]) }
    let named = try SecureArchiver.archivedData(encoding: Local(a: 7), named: "app.local")
    #expect(try SecureUnarchiver.decoded(Local.self, named: "app.local", from: named).a == 7)
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded(Local.self, from: named) }
  }

  @Test func `the name of a type of Foundation is the same whichever of its modules declares it`() throws {
    let data = try SecureArchiver.archivedData(encoding: [Date(timeIntervalSinceReferenceDate: 1)])
    #expect(try SecureUnarchiver(reading: data, allowing: []).typeName == "Swift.Array<Foundation.Date>")
    for part in ["Foundation", "FoundationEssentials", "FoundationInternationalization"] {
      let name = "Swift.Dictionary<\(part).UUID, \(part).Date>"
      let archive = try SecureArchiver.archivedData(encoding: [UUID: Date](), named: name)
      #expect(try SecureUnarchiver.decoded([UUID: Date].self, from: archive).isEmpty)
    }
    let other = try SecureArchiver.archivedData(encoding: [Date](), named: "Swift.Array<MyFoundationEssentials.Date>")
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded([Date].self, from: other) }
  }

  @Test func `a decoding error contains the path and no value`() throws {
    struct Text: Codable { var number = "SECRET-VALUE" }
    struct Number: Codable { var number: Int }
    struct More: Codable {
      var number: String
      var other: Int
    }
    let data = try SecureArchiver.archivedData(encoding: ["k": [Text()]], named: "x")
    func message<Value: Decodable>(_ type: Value.Type) -> String {
      let error = #expect(throws: ArchiveError.self) {
        try SecureUnarchiver.decoded(type, named: "x", from: data)
      }
      return error.map { $0.message + ($0.hint ?? "") + String(reflecting: $0) } ?? "no error"
    }
    for text in [message([String: [Number]].self), message([String: [More]].self), message([String: Int].self)] {
      #expect(!text.contains("SECRET") && text != "no error", "\(text)")
    }
    #expect(message([String: [More]].self).contains("root → a key[0] → other"))
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: Failing(), named: "f") }
    do { _ = try SecureArchiver.archivedData(encoding: Failing(), named: "f") } catch {
      #expect(!"\(error) \(String(reflecting: error))".contains("SECRET"))
    }
  }

  @Test func `an error shows the names of properties, and no key of a dictionary`() throws {
    struct Table<Key: Hashable & Encodable, Value: Encodable>: Encodable { var map: [Key: Value] }
    struct Read<Key: Hashable & Decodable, Value: Decodable>: Decodable { var map: [Key: Value] }
    func reading<Key: Hashable & Codable, Value: Decodable>(_ key: Key, as type: Value.Type) throws -> String? {
      let data = try SecureArchiver.archivedData(encoding: ["map": [key: ["list": ["x"]]]], named: "x")
      let error = #expect(throws: ArchiveError.self) {
        try SecureUnarchiver.decoded(Read<Key, Value>.self, named: "x", from: data)
      }
      return error.map { shown($0) }
    }
    func shown(_ error: ArchiveError) -> String {
      #expect(!"\(error) \(String(reflecting: error)) \(error.hint ?? "")".contains("7007"))
      return error.path ?? ""
    }
    struct List<Element: Decodable>: Decodable { var list: [Element] }
    struct More: Decodable { var other: Int }
    #expect(try reading("7007", as: Int.self) == "root → map → a key")
    #expect(try reading("7007", as: List<Int>.self) == "root → map → a key → list[0]")
    #expect(try reading("7007", as: More.self) == "root → map → a key → other")
    #expect(try reading(7007, as: Int.self) == "root → map → a key")
    #expect(try reading(Named(name: "7007"), as: Int.self) == "root → map → a key")
    #expect(try reading("7007", as: AnyNames.self) == "root → map → a key → a key")
    #expect(try reading("7007", as: Corrupted.self) == "root → map → a key")

    func writing(_ value: some Encodable) -> String? {
      #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: value, named: "x") }.map(shown)
    }
    #expect(writing(Table(map: ["7007": "$null"])) == "root → map → a key")
    #expect(writing(Table(map: [7007: ["$null"]])) == "root → map → a key[0]")
    #expect(writing(Table(map: [Named(name: "7007"): "$null"])) == "root → map → a key")
    #expect(writing(["7007": Failing()]) == "root → a key")
  }

  @Test func `a Swift value can be archived under a key, also one of a class with both codings`() throws {
    let archiver = SecureArchiver()
    try archiver.encodeEncodable(Sample(), forKey: "sample")
    try archiver.encodeEncodable(Twice(text: "t"), forKey: "both")
    let data = try archiver.finishEncoding()
    let unarchiver = try SecureUnarchiver(reading: data, allowing: [])
    #expect(try unarchiver.decodeDecodable(Sample.self, forKey: "sample") == Sample())
    #expect(try unarchiver.decodeDecodable(Twice.self, forKey: "both")?.text == "t")
    #expect(try unarchiver.decodeDecodable(Sample.self, forKey: "absent") == nil)
    #expect(throws: ArchiveError.self) { try unarchiver.decodeDecodable(Int.self, forKey: "sample") }
  }

  @Test func `an object that is not a property-list value does not decode as a Swift value`() throws {
    let data = try SecureArchiver.archivedData(withRootObject: ["a": NSURL(string: "https://a.example")])
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded([String: String].self, from: data) }
    let cycles = try SecureArchiver.archivedData(withRootObject: Address(city: "x"))
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded([String: String].self, from: cycles) }
  }

  @Test func `a value that refers to itself or is nested too deep is refused`() throws {
    final class Link: Codable {
      var next: Link?
      init(_ next: Link?) { self.next = next }
    }
    let loop = Link(nil)
    loop.next = loop
    defer { loop.next = nil }
    #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: loop, named: "l") }
    let deep = (0..<1_000).reduce(Link(nil)) { next, _ in Link(next) }
    let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: deep, named: "l") }
    #expect(error?.code == "overLimit.depth")
    let shallow = (0..<100).reduce(Link(nil)) { next, _ in Link(next) }
    _ = try SecureUnarchiver.decoded(
      Link.self, named: "l", from: try SecureArchiver.archivedData(encoding: shallow, named: "l"))
  }

  @Test func `strings keep their bytes, even next to canonically equivalent ones`() throws {
    let spellings = ["e\u{301}", "\u{e9}", "", "$", "$nul", "a\0b"]
    let data = try SecureArchiver.archivedData(encoding: [spellings, spellings.reversed()])
    let read = try SecureUnarchiver.decoded([[String]].self, from: data)
    #expect(
      read.map { $0.map { Array($0.utf8) } } == [spellings, spellings.reversed()].map { $0.map { Array($0.utf8) } })
    // This string represents nil in archives, on Apple's systems too.
    let error = #expect(throws: ArchiveError.self) { try SecureArchiver.archivedData(encoding: ["a": "$null"]) }
    #expect(error?.code == "notArchivable.noForm" && error?.path == "root → a key")
    #expect(
      try SecureUnarchiver.decoded([String?].self, from: SecureArchiver.archivedData(encoding: [nil, "a"])) == [
        nil, "a",
      ])
  }

  @Test func `values of super encoders and nested containers are archived in the right places`() throws {
    let value = Child()
    let data = try SecureArchiver.archivedData(encoding: value)
    let json = String(decoding: try SecureUnarchiver.inspect(data).json(), as: UTF8.self)
    #expect(json.contains("{\"list\":[1,{\"deep\":true}],\"name\":\"child\",\"super\":{\"age\":7}}"))
    let read = try SecureUnarchiver.decoded(Child.self, from: data)
    #expect(read.name == "child" && read.age == 7 && read.flag)
  }

  @Test func `a number that does not fit and a value of another kind are errors`() throws {
    let data = try SecureArchiver.archivedData(encoding: ["a": 300, "b": 1.5, "c": -1], named: "x")
    func error<Value: Decodable>(_ type: Value.Type) -> String? {
      #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded(type, named: "x", from: data) }?.code
    }
    struct Small: Codable { var a: UInt8 }
    struct Whole: Codable { var b: Int }
    struct Positive: Codable { var c: UInt }
    struct Text: Codable { var a: String }
    struct Real: Codable {
      var a: Double
      var b: Float
    }
    #expect(error(Small.self) == "numberDoesNotFit" && error(Whole.self) == "numberDoesNotFit")
    #expect(error(Positive.self) == "numberDoesNotFit" && error(Text.self) == "wrongType")
    #expect(try SecureUnarchiver.decoded(Real.self, named: "x", from: data).a == 300)
  }

  @Test func `a class with both codings is decoded by its secure coding`() throws {
    let data = try SecureArchiver.archivedData(encoding: Both())
    _ = try SecureUnarchiver.decoded(Both.self, from: data)
  }

  @Test func `a StructArchiver archive decodes into a Codable type`() throws {
    struct SampleStruct: Codable, Equatable {
      var number: Int
      var text: String
      var list: [Double]
    }
    func text(_ text: String) -> [UInt8] { [UInt8(text.utf8.count)] + text.utf8 }
    func int(_ value: Int) -> [UInt8] { text("Int") + (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
    func string(_ value: String) -> [UInt8] { text("String") + int(value.utf8.count) + value.utf8 }
    let real = text("Double") + (0..<8).map { UInt8(truncatingIfNeeded: (2.5).bitPattern >> (8 * UInt64($0))) }
    let list = text("Array<Double>") + int(1) + int(real.count) + real
    let (keys, values) = ([string("number"), string("text"), string("list")], [int(7), string("日本"), list])
    let bytes =
      text("SampleStruct") + int(3) + keys.flatMap { int($0.count) } + values.flatMap { int($0.count) }
      + keys.flatMap { $0 } + values.flatMap { $0 }
    let expected = SampleStruct(number: 7, text: "日本", list: [2.5])
    #expect(try SecureUnarchiver.decoded(SampleStruct.self, named: "SampleStruct", from: Data(bytes)) == expected)
    #expect(throws: ArchiveError.otherType(found: "SampleStruct", expected: "Other")) {
      try SecureUnarchiver.decoded(SampleStruct.self, named: "Other", from: Data(bytes))
    }
    #expect(throws: ArchiveError.self) { try SecureUnarchiver.decoded(Int.self, from: Data(bytes.dropLast())) }
  }
}

private struct Private: Codable { var a = 1 }
struct Generic<Value: Codable>: Codable { var value: Value }

private struct Failing: Encodable {
  func encode(to encoder: any Encoder) throws {
    let context = EncodingError.Context(codingPath: encoder.codingPath, debugDescription: "SECRET")
    throw EncodingError.invalidValue("SECRET", context)
  }
}

/// A key of a dictionary that is a type of its own.
private struct Named: Codable, Hashable, CodingKeyRepresentable {
  var name: String
  var codingKey: any CodingKey { AnyName(stringValue: name) }

  init(name: String) { self.name = name }
  init?<Key: CodingKey>(codingKey: Key) { name = codingKey.stringValue }
}

/// A key that accepts any text.
private struct AnyName: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// Reads the numbers under all keys.
private struct AnyNames: Decodable {
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: AnyName.self)
    for key in values.allKeys { _ = try values.decode(Int.self, forKey: key) }
  }
}

/// Refuses every value with an error of Swift's own.
private struct Corrupted: Decodable {
  init(from decoder: any Decoder) throws {
    let context = DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "7007")
    throw DecodingError.dataCorrupted(context)
  }
}

final class Both: NSObject, NSSecureCoding, Codable {
  static var supportsSecureCoding: Bool { true }
  override init() {}
  required init?(coder: NSCoder) { guard coder.decodeInteger(forKey: "coded") == 7 else { return nil } }
  func encode(with coder: NSCoder) { coder.encode(7, forKey: "coded") }
  init(from decoder: any Decoder) throws {}
  func encode(to encoder: any Encoder) throws { throw CancellationError() }
}

/// A class with both codings, which keeps its text in each.
final class Twice: NSObject, NSSecureCoding, Codable {
  static var supportsSecureCoding: Bool { true }
  let text: String
  init(text: String) { self.text = text }
  required init?(coder: NSCoder) { text = coder.decodeObject(of: NSString.self, forKey: "other") as String? ?? "" }
  func encode(with coder: NSCoder) { coder.encode(text, forKey: "other") }
}

class Parent: Codable {
  var age = 7
  init() {}
}

final class Child: Parent {
  var name = "child"
  var flag = true

  private enum Key: String, CodingKey { case name, list, deep }

  override init() { super.init() }

  required init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    name = try container.decode(String.self, forKey: .name)
    var list = try container.nestedUnkeyedContainer(forKey: .list)
    _ = try list.decode(Int.self)
    flag = try list.nestedContainer(keyedBy: Key.self).decode(Bool.self, forKey: .deep)
    try super.init(from: container.superDecoder())
  }

  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try super.encode(to: container.superEncoder())
    try container.encode(name, forKey: .name)
    var list = container.nestedUnkeyedContainer(forKey: .list)
    try list.encode(1)
    var deep = list.nestedContainer(keyedBy: Key.self)
    try deep.encode(flag, forKey: .deep)
  }
}
