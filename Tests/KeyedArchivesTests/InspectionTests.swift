import TestSupport
import Testing

@testable import KeyedArchives

@Suite struct InspectionTests {
  private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

  @Test func `an archive with unknown classes is read as a tree`() throws {
    let archive = PlistValue.archive([
      .dict([("name", .uid(3)), ("self", .uid(1)), ("$class", .uid(2))]), .describe("Their.Thing"), .string("x"),
    ])
    let tree = try ArchiveInspection(archive.binary())
    #expect(tree.archiver == "NSKeyedArchiver" && tree.version == 100_000 && tree.format == .binary)
    #expect(tree.objectCount == 4 && tree.depth == 2)
    #expect(tree.classes.map(\.name) == ["Their.Thing"] && tree.classes[0].chain == ["Their.Thing", "NSObject"])
    #expect(tree.top == [InspectedField(key: "root", value: .reference(1))])
    #expect(tree.backReferences.count == 1 && tree.backReferences[0].from == 1 && tree.backReferences[0].to == 1)
    #expect(tree.object(3) == .value(.string("x", isDamaged: false)))
    #expect(tree.object(99) == .null)
    #expect(text(try tree.json()) == ##"{"root":{"$class":"Their.Thing","name":"x","self":{"$ref":"#/root"}}}"##)
    #expect(throws: ArchiveError.self) { try tree.check(allowing: ["Their.Thing"]) }
  }

  @Test(arguments: [Int.min, -1, 0]) func `a limit below zero allows nothing`(limit: Int) throws {
    let archive = PlistValue.archive([.dict([("name", .uid(3)), ("$class", .uid(2))]), .describe("A"), .string("x")])
    var limits = ArchiveLimits()
    limits.depth = limit
    let tree = try ArchiveInspection(archive.binary(), limits: limits)
    #expect(throws: ArchiveError.self) { try tree.json() }
    #expect(throws: ArchiveError.self) { try tree.check(allowing: ["A"]) }
    _ = try? tree.outline()
    limits.nesting = limit
    #expect(throws: ArchiveError.self) { try ArchiveInspection(archive.binary(), limits: limits) }
  }

  @Test func `raw JSON keeps every value exactly`() throws {
    let archive = PlistValue.archive(
      [
        .int(Int128(UInt64.max)), .int(Int128.min), .int(-1), .real(0.1), .real(-0.0), .real(.leastNonzeroMagnitude),
        .real(.infinity),
        .real(.nan), .single(0.5), .data([0, 255, 16]), .utf16([0x61, 0xD83D]), .string("\"\\\u{1}\u{7F}😀"),
        .bool(true),
      ], top: [("root", .uid(1)), ("inline", .array([.bool(false), .uid(0)]))])
    let json = text(try ArchiveInspection(archive.binary()).rawJSON())
    #expect(
      json
        == #"{"$version":100000,"$archiver":"NSKeyedArchiver","$top":{"root":{"$uid":1},"inline":[false,{"$uid":0}]},"#
        + #""$objects":["$null",18446744073709551615,-170141183460469231731687303715884105728,-1,0.1,-0.0,5e-324,"#
        + #"{"$real":"inf"},{"$real":"nan"},{"$single":0.5},{"$data":"AP8Q"},"a\ud83d","\"\\\u0001\u007f😀",true]}"#)
  }

  @Test func `a shared object is written once and referred to afterwards`() throws {
    let archive = PlistValue.archive(
      [
        .dict([("NS.objects", .array([.uid(3), .uid(3)])), ("$class", .uid(2))]), .describe("NSArray"),
        .dict([("a/b", .int(1)), ("$class", .uid(4))]), .describe("T"),
      ], top: [("list", .uid(1))])
    let tree = try ArchiveInspection(archive.binary())
    #expect(text(try tree.json()) == ##"{"list":[{"$class":"T","a/b":1},{"$ref":"#/list/0"}]}"##)
    let lines = text(try tree.outline()).split(separator: "\n").map(String.init)
    #expect(lines.contains("    [0]: T #3") && lines.contains("    [1]: → T #3"))
  }

  @Test func `names from an archive cannot control a terminal`() throws {
    let archive = PlistValue.archive([
      .dict([("\u{1B}[2J", .int(1)), ("text", .string("\u{9B}31m")), ("$class", .uid(2))]),
      .describe("A\u{202E}\n"),
    ])
    let tree = try ArchiveInspection(archive.binary())
    let outline = text(try tree.outline())
    #expect(outline.contains("A\\u{202e}\\u{a}\n") && outline.contains("\\u{1b}[2J: 1\n"))
    let texts = [outline, text(try tree.json()), text(try tree.rawJSON()), text(try tree.rawOutline())]
    for scalar in ["\u{1B}", "\u{202E}", "\u{9B}"] as [Unicode.Scalar] {
      #expect(texts.allSatisfy { !$0.unicodeScalars.contains(scalar) })
    }
    let error = #expect(throws: ArchiveError.self) { try tree.check() }
    #expect(error?.message.contains("\n") == false && error?.message.contains("\u{202E}") == false)
  }

  @Test func `a check names the class that is not allowed and its path`() throws {
    let tree = try ArchiveInspection(
      PlistValue.archive([
        .dict([("NS.objects", .array([.uid(3)])), ("$class", .uid(2))]), .describe("NSArray"),
        .dict([("$class", .uid(4))]), .describe("T"),
      ]).binary())
    #expect(
      throws: ArchiveError.classRefused(
        name: "T", allowed: ["U"], at: ArchivePath([.key("root"), .key("NS.objects"), .index(0)]))
    ) { try tree.check(allowing: ["U"]) }
    try tree.check(allowing: ["T"])
  }

  /// Readers of XML accept only years of four digits, without a sign.
  @Test(
    arguments: [
      (0, true), (-63_145_526_400, true), (-63_145_526_401, false), (-1e11, false), (0.5, false), (2e11, false),
      (.nan, false),
    ] as [(Double, Bool)])
  func `a date is written as XML only if it reads back equal`(_ seconds: Double, _ hasForm: Bool) throws {
    let plist = PlistValue.archive([.dict([("d", .date(seconds)), ("$class", .uid(2))]), .describe("T")])
    let archive = try ArchiveInspection(plist.binary())
    if hasForm {
      let again = try ArchiveInspection(archive.archived(as: .xml))
      #expect(try again.archived(as: .binary) == archive.archived(as: .binary))
    } else {
      let error = #expect(throws: ArchiveError.self) { try archive.archived(as: .xml) }
      guard case .notInXML? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }
}
