import TestSupport
import Testing

@testable import KeyedArchives

/// Raw JSON contains everything in an archive, and can be read back.
@Suite struct RawJSONTests {
  /// The field of object 1 in raw JSON.
  private func raw(_ value: PlistValue) throws -> String {
    let inline = PlistValue.archive([
      .dict([("v", value), ("$class", .uid(2))]), .dict([("$classname", .string("T"))]),
    ])
    let text = String(decoding: try ArchiveInspection(inline.binary()).rawJSON(), as: UTF8.self)
    let start = #""$objects":["$null",{"v":"#
    guard let range = text.firstRange(of: start), let end = text.firstRange(of: #","$class":{"$uid":2}}"#) else {
      return text
    }
    return String(text[range.upperBound..<end.lowerBound])
  }

  @Test func `a dictionary that looks like a tag is distinguished from a tag`() throws {
    #expect(try raw(.dict([("$uid", .int(2))])) == #"{"$dictionary":{"$uid":2}}"#)
    #expect(try raw(.uid(1)) == #"{"$uid":1}"#)
    #expect(try raw(.dict([("$data", .string("AA=="))])) == #"{"$dictionary":{"$data":"AA=="}}"#)
    #expect(try raw(.data([0])) == #"{"$data":"AA=="}"#)
    #expect(try raw(.string("nan")) == #""nan""#)
    #expect(try raw(.real(.nan)) == #"{"$real":"nan"}"#)
    #expect(try raw(.real(-.infinity)) == #"{"$real":"-inf"}"#)
    #expect(try raw(.single(0.5)) == #"{"$single":0.5}"#)
    #expect(try raw(.date(.nan)) == #"{"$date":"nan"}"#)
    #expect(try raw(.dict([("$dictionary", .dict([]))])) == #"{"$dictionary":{"$dictionary":{}}}"#)
    #expect(try raw(.dict([("a", .int(1)), ("$uid", .int(2))])) == #"{"a":1,"$uid":2}"#)
  }

  @Test func `containers that an archive shares are shared again after raw JSON`() throws {
    var list = SharedPlist()
    let empty = list.array([])
    let shared = list.array([empty, empty, list.dictionary([(list.text("$same"), empty)])])
    let tree = try ArchiveInspection(list.archive(holding: list.array([shared, shared])))
    let json = try tree.rawJSON()
    #expect(
      String(decoding: json, as: UTF8.self).contains(
        #"{"a":[[[],{"$same":6},{"$dictionary":{"$same":{"$same":6}}}],{"$same":5}]"#))
    #expect(try ArchiveInspection(json: json).archived(as: .binary) == tree.archived(as: .binary))
  }

  @Test func `generated archives have the same bytes after raw JSON`() throws {
    var random = Archives(seed: 13)
    for round in 0..<400 {
      let archive = random.archive()
      let binary = try ArchiveInspection(archive.binary()).archived(as: .binary)
      let tree = try ArchiveInspection(binary)
      #expect(try tree.archived(as: .binary) == binary)
      let json = try tree.rawJSON()
      let read = try ArchiveInspection(json: json)
      #expect(try read.archived(as: .binary) == binary, "\(round): \(String(decoding: json, as: UTF8.self))")
      #expect(try read.rawJSON() == json)
    }
  }

  @Test(arguments: [
    ("", PropertyListDefect.truncated, 0), ("[", .truncated, 1), ("[1,]", .json, 3), ("[1}", .json, 2),
    ("null", .element, 0),
    ("01", .json, 2), ("1.", .number, 2), ("1e999", .number, 5), (#"{"$uid":-1}"#, .reference, 10),
    (#"{"$uid":1,"a":2}"#, .json, 9), (#"{"$data":"%"}"#, .base64, 12), (#"{"$real":"hello"}"#, .number, 16),
    (#"{"$same":0}"#, .reference, 10), (#"[{"$same":0}]"#, .containsItself, 11), ("\"\u{1}\"", .json, 1),
    (#""\x""#, .json, 3), ("[] []", .trailing, 3), (#"{"a" 1}"#, .json, 5), ("tru", .json, 0), (#""\u00g0""#, .json, 3),
    (#"{"$dictionary":[]}"#, .json, 15), ("-", .json, 1), (#"{"$real":"0x1"}"#, .number, 14),
    (#"{"$single":1e300}"#, .number, 16),
  ]) func `JSON that is not the raw form of an archive is refused with its offset`(
    text: String, defect: PropertyListDefect, offset: Int
  ) {
    #expect(throws: ArchiveError.brokenPropertyList(defect, offset: offset)) {
      try ArchiveInspection(json: Array(text.utf8))
    }
  }

  @Test func `a single-precision number has its precision as soon as it is read from JSON`() throws {
    let json = #"{"$version":100000,"$archiver":"NSKeyedArchiver","$top":{"f":{"$single":0.1}},"$objects":["$null"]}"#
    let archive = try ArchiveInspection(json: Array(json.utf8))
    let field = InspectedField(key: "f", value: .real(Double(Float(0.1))))
    #expect(archive.top == [field])
    for format in ArchiveFormat.allCases { #expect(try ArchiveInspection(archive.archived(as: format)).top == [field]) }
  }

  @Test func `the limits of archives apply to JSON too`() {
    func refused(_ text: String, _ limit: ArchiveError.Limit, _ change: (inout ArchiveLimits) -> Void) {
      var limits = ArchiveLimits.standard
      change(&limits)
      let error = #expect(throws: ArchiveError.self) { try ArchiveInspection(json: Array(text.utf8), limits: limits) }
      guard case .overLimit(limit, _, _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
    refused(String(repeating: "[", count: 65), .nesting) { _ in }
    refused(String(repeating: #"{"$dictionary":{"$uid":"#, count: 65), .nesting) { _ in }
    refused("[1,1,1]", .elements) { $0.elements = 2 }
    refused("[1,1,1]", .values) { $0.values = 2 }
    refused(#""abcd""#, .stringBytes) { $0.stringBytes = 3 }
    refused(#"{"$data":"AAAAAAAA"}"#, .dataBytes) { $0.dataBytes = 5 }
    refused("[1,1,1]", .inputBytes) { $0.inputBytes = 6 }
  }

  @Test func `fields that begin with a dollar sign cannot be confused with keys that readable JSON adds`() throws {
    let archive = PlistValue.archive([
      .dict([
        ("$$class", .int(1)), ("$0", .string("nan")), ("n", .real(.nan)), ("$data", .int(2)),
        ("d", .dict([("$class", .int(3)), ("$$ref", .int(4))])), ("$class", .uid(2)),
      ]), .describe("T"),
    ])
    let tree = try ArchiveInspection(archive.binary())
    #expect(
      String(decoding: try tree.json(), as: UTF8.self)
        == #"{"root":{"$class":"T","$$class":1,"$0":"nan","n":{"$real":"nan"},"$:data":2,"#
        + #""d":{"$:class":3,"$$ref":4}}}"#)
    guard case .instance(_, let fields) = tree.object(1) else {
      Issue.record("object 1")
      return
    }
    #expect(fields.map(\.key) == ["$class", "$0", "n", "$data", "d"])
  }
}

/// Random archives, the same for the same seed.
private struct Archives {
  private var state: UInt64
  private static let objectCount = 6
  private static let keys = [
    "a", "$class", "$$class", "$uid", "$data", "$date", "$real", "$single", "$dictionary", "$same", "$0", "é", "😀", "",
    "CF$UID", "NS.objects", "\"", "k\u{7}",
  ]
  private static let reals = [
    0, -0.0, 0.1, 1e300, .leastNonzeroMagnitude, .infinity, -.infinity, .nan, Double(bitPattern: 0x7FF8_0000_0000_0001),
    -.nan, 1, 1e16,
  ]

  init(seed: UInt64) { state = seed }

  /// SplitMix64.
  private mutating func number(below bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return Int((bits ^ bits >> 31) % UInt64(bound))
  }

  mutating func archive() -> PlistValue {
    let objects = (0..<Self.objectCount).map { _ -> PlistValue in
      if number(below: 3) == 0 { return scalar() }
      return .dict(
        fields(depth: 3, without: ["$class", "$classname"]) + [("$class", .uid(UInt64(Self.objectCount + 1)))])
    }
    return .archive(objects + [.describe("T")], top: fields(depth: 2, without: []))
  }

  private mutating func fields(depth: Int, without: Set<String>) -> [(String, PlistValue)] {
    var names = without
    var fields: [(String, PlistValue)] = []
    for _ in 0..<number(below: 5) {
      let key = Self.keys[number(below: Self.keys.count)]
      if names.insert(key).inserted { fields.append((key, value(depth: depth))) }
    }
    return fields
  }

  private mutating func value(depth: Int) -> PlistValue {
    guard depth > 0 else { return scalar() }
    switch number(below: 4) {
    case 0: return .array((0..<number(below: 4)).map { _ in value(depth: depth - 1) })
    case 1: return .dict(fields(depth: depth - 1, without: []))
    case 2: return .uid(UInt64(number(below: Self.objectCount + 1)))
    default: return scalar()
    }
  }

  private mutating func scalar() -> PlistValue {
    switch number(below: 9) {
    case 0: .bool(number(below: 2) == 0)
    case 1: .int(Int128(number(below: 1 << 40)) << Int128(number(below: 80)))
    case 2: .int(-Int128(number(below: 1 << 40)) << Int128(number(below: 80)))
    case 3: .real(Self.reals[number(below: Self.reals.count)])
    case 4: .single(Float(Self.reals[number(below: Self.reals.count)]))
    case 5: .date(Self.reals[number(below: Self.reals.count)])
    case 6: .data((0..<number(below: 6)).map { UInt8($0 * 50) })
    case 7:
      .utf16(
        (0..<number(below: 5)).map { _ in [0x61, 0xD83D, 0xDE00, 0x22, 0x5C, 1, 0x2028, 0x416][number(below: 8)] })
    default: .string(Self.keys[number(below: Self.keys.count)])
    }
  }
}
