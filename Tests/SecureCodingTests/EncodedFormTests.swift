import Foundation
import KeyedArchives
import SecureCoding
import Testing

/// Swift values of all kinds, compared with Foundation's property-list encoder.
@Suite struct EncodedFormTests {
  enum Key: String, Codable, CodingKeyRepresentable { case first, second }
  enum NumberedKey: Int, Codable {
    case one = 1
    case two
  }
  indirect enum Tree: Codable, Equatable {
    case leaf
    case node(Tree, Tree, label: String)
  }

  /// One property of each kind, in an order that both encoders keep.
  struct Values: Codable, Equatable {
    var (i8, i16, i32, i64) = (Int8.min, Int16.min, Int32.min, Int64.min)
    var (u8, u16, u32, u64, word) = (UInt8.max, UInt16.max, UInt32.max, UInt64.max, UInt.max)
    var (single, double, positive, negative) = (
      Float.pi, Double.leastNonzeroMagnitude, Double.infinity, -Float.infinity
    )
    var keyed = [Key.first: 1, .second: 2]
    var optionals: [Int?] = [nil, 1, nil]
    var nested: [[Int?]?] = [nil, [nil, 2]]
    var (range, closed) = (1..<5, 0.0...1)
    var interval = DateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 5)
    var components = DateComponents(year: 2020, month: 2, day: 3)
    var (path, indexes) = (IndexPath(indexes: [1, 2, 3]), IndexSet([1, 2, 9]))
    var (zone, locale) = (TimeZone(identifier: "Europe/Vienna"), Locale(identifier: "de_AT"))
    var calendar = Calendar(identifier: .iso8601)
    var characters = CharacterSet(charactersIn: "abc")
    var relative = URL(string: "b/c", relativeTo: URL(string: "https://example.com/a/"))
    var tree = Tree.node(.leaf, .node(.leaf, .leaf, label: "in"), label: "out")
    var (point, frame) = (CGPoint(x: 1, y: 2.5), CGRect(x: 1, y: 2, width: 3, height: 4))
    var decimal = Decimal(string: "-1234567890.0987654321")
    var empty = ["": ["": [Int]()]]
    var distance = Measurement(value: 3, unit: UnitLength.meters)
  }

  /// Foundation writes these as lists in an order of their own.
  struct Unordered: Codable, Equatable {
    var numbered = [1: "a", -2: "b"]
    var raw = [NumberedKey.one: 1, .two: 2]
    var real = [1.5: true]
    var set: Set = ["x", "y"]
  }

  private static func readBack<Value: Codable>(_ value: Value) throws -> Value {
    try SecureUnarchiver.decoded(
      Value.self, named: "x", from: try SecureArchiver.archivedData(encoding: value, named: "x"))
  }

  @Test func `each value has the form that Foundation gives it, and is read back equal`() throws {
    let unarchiver = try SecureUnarchiver(
      reading: try SecureArchiver.archivedData(encoding: Values(), named: "x"), allowing: [])
    let classes = [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSDate.self, NSData.self]
    let written = try #require(try unarchiver.decode(classes, forKey: "root") as? NSDictionary)
    let form = unsafe try PropertyListSerialization.propertyList(
      from: try PropertyListEncoder().encode(Values()), format: nil)
    let expected = try #require(form as? NSDictionary)
    for key in expected.allKeys {
      #expect(written[key] as? NSObject == expected[key] as? NSObject, "\(key)")
    }
    #expect(written.count == expected.count)
    #expect(try Self.readBack(Values()) == Values())
    #expect(try Self.readBack(Unordered()) == Unordered())
  }

  @Test func `single values of any kind can be at the top`() throws {
    #expect(try Self.readBack(Int?.none) == nil)
    #expect(try Self.readBack(Int?.some(3)) == 3)
    #expect(try Self.readBack([[String: Int]?.none]) == [nil])
    #expect(try Self.readBack(["a": Int?.none]) == ["a": nil])
    #expect(try Self.readBack(Double.nan).isNaN && Self.readBack(Float.nan).isNaN)
    #expect(try Self.readBack(-0.0).sign == .minus)
    #expect(try Self.readBack(UInt8.max) == .max && Self.readBack(Int16.min) == .min)
    #expect(try Self.readBack(CGFloat(1.25)) == 1.25)
    #expect(try Self.readBack(URL(string: "http://x")) == URL(string: "http://x"))
  }

  @Test func `a number of 128 bits has no form, wherever it is`() {
    for write in [
      { try SecureArchiver.archivedData(encoding: Int128(5), named: "x") },
      { try SecureArchiver.archivedData(encoding: [Int128(5)], named: "x") },
      { try SecureArchiver.archivedData(encoding: ["a": UInt128(5)], named: "x") },
    ] {
      #expect(#expect(throws: ArchiveError.self) { try write() }?.code == "notArchivable.noForm")
    }
  }

  private static func throughFoundation<Value: Codable>(_ value: Value) throws -> Value {
    try PropertyListDecoder().decode(Value.self, from: PropertyListEncoder().encode(value))
  }

  /// A number or a boolean, whichever decodes first.
  enum Choice: Codable, Equatable {
    case number(Double)
    case integer(Int)
    case flag(Bool)

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let integer = try? container.decode(Int.self) {
        self = .integer(integer)
      } else if let number = try? container.decode(Double.self) {
        self = .number(number)
      } else {
        self = .flag(try container.decode(Bool.self))
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .number(let number): try container.encode(number)
      case .integer(let integer): try container.encode(integer)
      case .flag(let flag): try container.encode(flag)
      }
    }
  }

  @Test func `a boolean is not a number, and a number not a boolean, as in Foundation`() throws {
    let choices = [Choice.integer(1), .flag(true), .number(0.5), .flag(false), .integer(0)]
    #expect(try Self.throughFoundation(choices) == choices)
    #expect(try Self.readBack(choices) == choices)
    let numbers = try SecureArchiver.archivedData(encoding: [0, 1], named: "x")
    let flags = try SecureArchiver.archivedData(encoding: [false, true], named: "x")
    let path = ArchivePath([.key("root"), .index(0)])
    #expect(throws: ArchiveError.wrongType(expected: "a boolean", found: "a number", at: path)) {
      try SecureUnarchiver.decoded([Bool].self, named: "x", from: numbers)
    }
    #expect(throws: ArchiveError.wrongType(expected: "a number", found: "a boolean", at: path)) {
      try SecureUnarchiver.decoded([Int].self, named: "x", from: flags)
    }
  }

  private enum Field: String, CodingKey { case table, list, a, b }

  /// A list whose elements may be tables, lists or texts.
  struct Mixed: Codable, Equatable {
    var found: [String] = []

    init() {}

    init(from decoder: any Decoder) throws {
      var elements = try decoder.unkeyedContainer()
      while !elements.isAtEnd {
        if let table = try? elements.nestedContainer(keyedBy: Field.self) {
          found.append("table \(try table.decode(Int.self, forKey: .a))")
        } else if var list = try? elements.nestedUnkeyedContainer() {
          found.append("list \(try list.decode(Int.self))")
        } else {
          found.append(try elements.decode(String.self))
        }
      }
    }

    func encode(to encoder: any Encoder) throws {
      var elements = encoder.unkeyedContainer()
      try elements.encode("text")
      try elements.encode([1])
      try elements.encode(["a": 2])
      try elements.encode("text")
    }
  }

  @Test func `an element that is not the container that was asked for can be decoded as something else`() throws {
    #expect(try Self.throughFoundation(Mixed()).found == ["text", "list 1", "table 2", "text"])
    #expect(try Self.readBack(Mixed()).found == ["text", "list 1", "table 2", "text"])
  }

  /// Encodes into the same nested containers twice.
  struct Parts: Codable, Equatable {
    var table: [String: Int] = ["a": 1, "b": 2]
    var list = [1, 2]

    func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: Field.self)
      for (key, number) in [(Field.a, 1), (.b, 2)] {
        var table = fields.nestedContainer(keyedBy: Field.self, forKey: .table)
        try table.encode(number, forKey: key)
        var list = fields.nestedUnkeyedContainer(forKey: .list)
        try list.encode(number)
      }
    }
  }

  @Test func `a nested container that is requested twice is one container`() throws {
    #expect(try Self.throughFoundation(Parts()) == Parts())
    #expect(try Self.readBack(Parts()) == Parts())
  }

  class Empty: Codable {
    init() {}
    required init(from decoder: any Decoder) throws { #expect(try decoder.singleValueContainer().decodeNil()) }
  }

  /// Encodes nothing for its superclass.
  final class Heir: Empty {
    override init() { super.init() }

    required init(from decoder: any Decoder) throws {
      try super.init(from: try decoder.container(keyedBy: Field.self).superDecoder())
    }

    override func encode(to encoder: any Encoder) throws { _ = encoder.container(keyedBy: Field.self) }
  }

  @Test func `a superclass for which nothing was encoded is decoded from nil`() throws {
    _ = try Self.throughFoundation(Heir())
    _ = try Self.readBack(Heir())
  }
}
