import TestSupport
import Testing

@testable import KeyedArchives

/// Trees and output stay in proportion to an archive's bytes, whatever the archive shares.
@Suite struct ProportionTests {
  private static let size = 48_000

  private static let outputs: [(name: String, write: @Sendable (ArchiveInspection) throws(ArchiveError) -> [UInt8])] = [
    ("outline", { archive throws(ArchiveError) in try archive.outline() }),
    ("json", { archive throws(ArchiveError) in try archive.json() }),
    ("rawOutline", { archive throws(ArchiveError) in try archive.rawOutline() }),
    ("rawJSON", { archive throws(ArchiveError) in try archive.rawJSON() }),
    ("xml", { archive throws(ArchiveError) in try archive.archived(as: .xml) }),
    ("binary", { archive throws(ArchiveError) in try archive.archived(as: .binary) }),
  ]

  @Test(arguments: HostileArchive.allCases) func `no output is longer than the limit`(
    kind: HostileArchive
  ) throws {
    let bytes = kind.bytes(Self.size)
    #expect(bytes.count < 2 * Self.size)
    let allowed = ArchiveLimits.standard.output * bytes.count + 1 << 20
    guard let archive = Self.inspected(bytes) else { return }
    for (name, write) in Self.outputs {
      do throws(ArchiveError) {
        let count = try write(archive).count
        #expect(count <= allowed, "\(name)")
      } catch {
        switch error {
        case .overLimit(.output, ArchiveLimits.standard.output, _), .overLimit(.depth, _, _), .notInXML: break
        default: Issue.record("\(name): \(error)")
        }
        #expect(error.status == (name == "xml" && error == .notInXML("a control character") ? 13 : 20))
      }
    }
  }

  /// nil if the archive was refused because of a limit.
  private static func inspected(_ bytes: [UInt8]) -> ArchiveInspection? {
    do throws(ArchiveError) {
      return try ArchiveInspection(bytes)
    } catch {
      #expect(error.category == .overLimit)
      return nil
    }
  }

  @Test func `containers, strings and data that an archive shares are shared in the tree`() throws {
    var list = SharedPlist()
    let text = list.text(String(repeating: "x", count: 100))
    let array = list.array([text, list.data(100)])
    let bytes = list.archive(
      holding: list.array([array, array]),
      and: [list.dictionary([(list.text("a"), array), (list.text("$class"), list.uid(2))])])
    let tree = try ArchiveInspection(bytes)
    var places: Set<Int> = []
    var count = 0
    for number in [1, 3, 1] {
      guard case .instance(_, let fields) = tree.object(number), case .array(let elements)? = fields.first?.value
      else {
        Issue.record("object \(number)")
        return
      }
      let inner = number == 3 ? [InspectedValue.array(elements)] : elements
      for case .array(let shared) in inner {
        count += 1
        unsafe places.insert(shared.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) })
      }
    }
    #expect(count == 5 && places.count == 1)
  }

  @Test func `a key that begins with a dollar sign is shared in the tree`() throws {
    let key = String(repeating: "x", count: 100)
    let object = PlistValue.dict([("$$" + key, .bool(true)), ("$class", .uid(2))])
    let tree = try ArchiveInspection(
      PlistValue.archive([object, .describe("T"), object], top: [("root", .uid(1)), ("other", .uid(3))]).binary())
    var places: Set<Int> = []
    for number in [1, 3] {
      guard case .instance(_, let fields) = tree.object(number), var found = fields.first?.key else {
        Issue.record("object \(number)")
        return
      }
      #expect(found == "$" + key)
      places.insert(found.withUTF8 { Int(bitPattern: $0.baseAddress) })
    }
    #expect(places.count == 1)
  }

  @Test func `the output limit can be set, and a tiny archive is below any limit`() throws {
    var limits = ArchiveLimits.standard
    limits.output = 0
    let small = PlistValue.archive([.string("x")]).binary()
    #expect(try ArchiveInspection(small, limits: limits).json() == Array(#"{"root":"x"}"#.utf8))
    let large = PlistValue.archive([.string(String(repeating: "\u{1}", count: 400_000))]).binary()
    #expect(throws: ArchiveError.overLimit(.output, allowed: 0, at: ArchivePath())) {
      try ArchiveInspection(large, limits: limits).json()
    }
    #expect(try ArchiveInspection(large).json().count > 2_400_000)
  }

  @Test func `the length of a class name is limited`() throws {
    func archive(_ count: Int) -> [UInt8] {
      PlistValue.archive([.dict([("$class", .uid(2))]), .describe(String(repeating: "N", count: count))]).binary()
    }
    #expect(try ArchiveInspection(archive(2_048)).instanceCounts.values.first == 1)
    #expect(throws: ArchiveError.overLimit(.classNameBytes, allowed: 2_048, at: ArchivePath([.object(2)]))) {
      try ArchiveInspection(archive(2_049))
    }
  }

  @Test func `a class description with several object numbers is one class`() throws {
    var list = SharedPlist()
    let type = list.type("T")
    let objects = [2, 4, 5].map { list.dictionary([(list.text("$class"), list.uid($0))]) }
    let top = list.dictionary([
      (list.text("root"), list.uid(1)), (list.text("b"), list.uid(3)), (list.text("c"), list.uid(6)),
    ])
    let tree = try ArchiveInspection(list.archive([objects[0], type, objects[1], type, type, objects[2]], top: top))
    #expect(tree.instanceCounts == ["T": 3] && tree.classes.map(\.number) == [2])
    #expect(tree.object(5) == tree.object(2))
  }

  @Test func `the shortest path to an object at the end of a long chain is found`() throws {
    let tree = try ArchiveInspection(HostileArchive.longPath.bytes(200_000))
    let error = #expect(throws: ArchiveError.self) { try tree.check(allowing: ["T"]) }
    guard case .classRefused("Last", _, let path)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path.steps.count == tree.depth && path.steps.prefix(3) == [.key("root"), .key("a"), .key("next")])
  }

  @Test func `a defect in a property list is reported with its offset`() throws {
    var list = SharedPlist()
    let (one, other, value) = (list.text("same"), list.text("same"), list.integer(1))
    let twice = list.dictionary([(one, value), (other, value)])
    #expect(throws: ArchiveError.brokenPropertyList(.keyTwice, offset: list.offset(of: other))) {
      try ArchiveInspection(list.bytes(top: twice))
    }
    let number = list.dictionary([(value, one)])
    #expect(throws: ArchiveError.brokenPropertyList(.keyNotAString, offset: list.offset(of: value))) {
      try ArchiveInspection(list.bytes(top: number))
    }
    let itself = list.array([list.array([number + 2])])
    #expect(throws: ArchiveError.brokenPropertyList(.containsItself, offset: list.offset(of: itself))) {
      try ArchiveInspection(list.bytes(top: itself))
    }
    let xml = "<plist><dict><key>a</key><true/>\n  <key>a</key><true/></dict></plist>"
    let place = xml.utf8.count - "<key>a</key><true/></dict></plist>".utf8.count
    #expect(throws: ArchiveError.brokenPropertyList(.keyTwice, offset: place)) {
      try ArchiveInspection(Array(xml.utf8))
    }
    let json = #"{"a":1,"a":2}"#
    #expect(throws: ArchiveError.brokenPropertyList(.keyTwice, offset: 11)) {
      try ArchiveInspection(json: Array(json.utf8))
    }
  }
}
