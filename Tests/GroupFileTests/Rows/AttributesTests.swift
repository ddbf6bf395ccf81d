import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct AttributesTests {
  static func attributes() -> Attributes {
    Attributes(
      name: "db/password", label: "Database", pairs: ["host": "db.example", "port": "5432"], created: 1, changed: 2,
      expires: 3, valueKind: 2, typeName: "Person", valueEpoch: 4,
      writer: Writer(kind: .application, issue: 5, application: "com.example.notes"))
  }

  /// A field as tag, length and bytes.
  private static func field(_ tag: UInt8, _ bytes: [UInt8]) -> [UInt8] {
    bytes.count < 255
      ? [tag, UInt8(bytes.count)] + bytes
      : [tag, 255, 0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes
  }

  /// The fields of a row whose only optional field is the time of creation, by tag.
  private static let fields: [UInt8: [UInt8]] = [
    1: field(1, Array("n".utf8)), 4: field(4, [1]), 5: field(5, [2]), 7: field(7, [2]), 9: field(9, [4]),
  ]

  private static func encoding(_ fields: [UInt8: [UInt8]]) -> [UInt8] {
    fields.sorted { $0.key < $1.key }.flatMap(\.value)
  }

  private func refusal(_ change: (inout [UInt8: [UInt8]]) -> Void) -> VaultError? {
    var fields = AttributesTests.fields
    change(&fields)
    return failure { try Attributes(decoding: AttributesTests.encoding(fields)) }
  }

  @Test func `attributes read back as they were written, or are refused`() throws {
    for attributes in [AttributesTests.attributes(), try Attributes(decoding: AttributesTests.encoding(Self.fields))] {
      #expect(try Attributes(decoding: attributes.encoded()) == attributes)
      try Canonical.check(attributes.encoded()) { try Attributes(decoding: $0).encoded() }
    }
  }

  @Test(arguments: ["\u{301}", "\u{F81}", "\u{903}"])
  func `a text with too many combining characters in a row is refused`(_ mark: String) throws {
    func text(_ count: Int) -> [UInt8] { Array((String(repeating: mark, count: count) + "a\(mark)").utf8) }
    func pair(_ key: [UInt8], _ value: [UInt8]) -> [UInt8] {
      func counted(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count >> 8), UInt8(bytes.count & 255)] + bytes }
      return AttributesTests.field(3, counted(key) + counted(value))
    }
    for (key, value) in [(text(300), [0x61]), ([0x61], text(300))] as [([UInt8], [UInt8])] {
      #expect(refusal { $0[3] = pair(key, value) } == .damaged(.row, "text"))
    }
    #expect(refusal { $0[3] = pair(text(255), text(255)) } == nil)
    let application = text(300)
    let writer = [1, 0, 0, 0, 5, UInt8(application.count >> 8), UInt8(application.count & 255)] + application
    #expect(refusal { $0[10] = AttributesTests.field(10, writer) } == .damaged(.row, "text"))
  }

  @Test func `the fields are laid out as documented`() throws {
    let attributes = try Attributes(decoding: AttributesTests.encoding(AttributesTests.fields))
    #expect(attributes == Attributes(name: "n", created: 1, changed: 2, valueKind: 2, valueEpoch: 4))
    #expect(try attributes.encoded() == AttributesTests.encoding(AttributesTests.fields))
  }

  @Test(arguments: [1, 5, 7, 9] as [UInt8])
  func `attributes without a required field are refused`(_ tag: UInt8) {
    #expect(refusal { $0[tag] = nil } == .damaged(.row, "missing attributes"))
  }

  @Test func `an item without its optional fields was created by the owner at the time of its last change`() throws {
    var fields = AttributesTests.fields
    fields[4] = nil
    let attributes = try Attributes(decoding: AttributesTests.encoding(fields))
    #expect(attributes.created == 2)
    #expect(attributes.writer == .owner)
    #expect(try attributes.encoded() == AttributesTests.encoding(fields))
  }

  @Test func `numbers take as few bytes as they need`() throws {
    for (number, count) in [(0, 0), (1, 1), (255, 1), (256, 2), (1 << 48, 7), ((1 << 53) - 1, 7)] as [(UInt64, Int)] {
      let attributes = Attributes(name: "n", created: 5, changed: 5, valueKind: 2, valueEpoch: number)
      #expect(try attributes.encoded().suffix(count + 2).starts(with: [9, UInt8(count)]))
      #expect(try Attributes(decoding: attributes.encoded()) == attributes)
    }
  }

  @Test func `an unknown tag requires a newer version`() {
    #expect(refusal { $0[11] = AttributesTests.field(11, [1]) } == .damaged(.row, "an unknown attribute"))
    #expect(refusal { $0[200] = AttributesTests.field(200, []) } == .damaged(.row, "an unknown attribute"))
  }

  @Test(
    arguments: [
      (0, [0, 0]), (2, [1, 0]), (2, [2]), (2, [2, 1, 0xFF]), (4, [4, 2, 0, 1]), (4, [4, 8, 0, 0, 0, 0, 0, 0, 0, 1]),
      (4, [4, 7, 0x20, 0, 0, 0, 0, 0, 0]), (4, [4, 1, 2]), (7, [7, 2, 1, 1]), (7, [7, 0]), (3, [3, 0]),
      (3, [3, 4, 0, 1, 65, 0]), (3, [3, 5, 0, 1, 65, 0, 1]), (10, [10, 7, 0, 0, 0, 0, 0, 0, 0]),
      (10, [10, 7, 2, 0, 0, 0, 0, 0, 0]), (10, [10, 8, 1, 0, 0, 0, 0, 0, 0, 0]),
      (10, [10, 8, 1, 0, 0, 0, 0, 0, 1, 0xFF]), (1, [1, 1, 0xFF]), (1, [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 65]),
      (1, [1, 0xFF, 0, 0, 0, 1, 65]), (12, [1, 1, 65]), (6, [5, 1, 9]),
    ] as [(UInt8, [UInt8])])
  func `a broken field is refused`(_ place: UInt8, _ bytes: [UInt8]) {
    #expect(refusal { $0[place] = bytes }?.isDamage == true)
  }

  @Test func `a name longer than the limit is refused`() {
    #expect(refusal { $0[1] = AttributesTests.field(1, [UInt8](repeating: 65, count: 1_024)) } == nil)
    #expect(refusal { $0[1] = AttributesTests.field(1, [UInt8](repeating: 65, count: 1_025)) }?.isDamage == true)
  }

  @Test func `pairs are sorted by the bytes of their keys, unique, and at most 64`() {
    func pairs(_ keys: [String]) -> VaultError? {
      var field: [UInt8] = []
      for key in keys { field += [0, UInt8(key.utf8.count)] + Array(key.utf8) + [0, 0] }
      return refusal { $0[3] = AttributesTests.field(3, field) }
    }
    let names = (0..<65).map { "key" + ($0 < 10 ? "0" : "") + "\($0)" }
    #expect(pairs(["a", "b"]) == nil)
    #expect(pairs(["b", "a"])?.isDamage == true)
    #expect(pairs(["a", "a"])?.isDamage == true)
    // The keys are equal as text but differ in bytes. Comparing them as text would lose one.
    #expect(pairs(["e\u{301}", "\u{e9}"])?.isDamage == true)
    #expect(pairs(Array(names.prefix(64))) == nil)
    #expect(pairs(names)?.isDamage == true)
  }

  @Test func `attributes that no reader accepts cannot be written`() {
    var changes: [(inout Attributes) -> Void] = [
      { $0.name = String(repeating: "n", count: 1_025) }, { $0.label = String(repeating: "l", count: 65_536) },
      { $0.created = 1 << 53 }, { $0.changed = .max }, { $0.expires = 1 << 53 }, { $0.valueEpoch = 1 << 53 },
      { $0.typeName = String(repeating: "t", count: 65_536) },
      { $0.pairs = Dictionary(uniqueKeysWithValues: (0..<65).map { ("\($0)", "") }) },
      { $0.pairs = ["key": String(repeating: "v", count: 65_536)] },
    ]
    changes.append { attributes in
      attributes.pairs = ["a": String(repeating: "v", count: 40_000), "b": String(repeating: "v", count: 40_000)]
    }
    for change in changes {
      var attributes = AttributesTests.attributes()
      change(&attributes)
      guard case .overLimit = failure({ try attributes.encoded() }) else {
        Issue.record("written")
        continue
      }
    }
  }

  @Test func `attributes of the largest size read back`() throws {
    var attributes = AttributesTests.attributes()
    attributes.name = String(repeating: "n", count: 1_024)
    attributes.pairs = Dictionary(uniqueKeysWithValues: (0..<64).map { ("\($0)", String(repeating: "v", count: 900)) })
    #expect(try Attributes(decoding: attributes.encoded()) == attributes)
  }
}
