import Foundation
import KeyedArchives
import TestSupport
import Testing

@testable import SecureCoding

@Suite(.enabled(if: SharedArchives.isPresent, "the folder of archives made elsewhere is not here"))
struct SharedArchiveTests {
  static let expected: [String: ArchiveDefect] = [
    "invalidContainer": .noTop, "invalidObjectDeclarationContainer": .classIsNotAClass,
    "invalidReference": .referenceOutOfRange, "objectWithNoClassName": .noClassName,
    "objectWithNonArrayClassChain": .classesNotStrings, "objectWithNonStringClassName": .classNameNotAString,
  ]

  @Test func `no shared archive file is missing`() {
    #expect(SharedArchives.names("cases", ".bin.plist").count == 11)
    #expect(SharedArchives.names("cases", ".xml.plist").count == 11)
    #expect(SharedArchives.names("broken", ".bin.plist").count == 7)
    #expect(SharedArchives.names("broken", ".xml.plist").count == 7)
    #expect(SharedArchives.names("foundation", ".plist").count == 10)
  }

  @Test(arguments: SharedArchives.names("broken", ".plist")) func `a broken archive is refused with its defect`(
    name: String
  ) throws {
    let data = try SharedArchives.data("broken/\(name).plist")
    let error = #expect(throws: ArchiveError.self) {
      try SecureUnarchiver.unarchivedObject(of: NSString.self, from: data)
    }
    let defect = name.split(separator: ".")[0]
    if defect == "missingRoot" {
      #expect(error == .missingValue(at: ArchivePath([.key("root")])))
      #expect(try SecureUnarchiver.inspect(data).top.map(\.key) == ["nonRoot"])
    } else {
      guard case .brokenArchive(let found, _) = error else {
        Issue.record("\(name): \(String(describing: error))")
        return
      }
      #expect(found == Self.expected[String(defect)], "\(name)")
    }
    #expect(error?.status == 13)
  }

  @Test(arguments: SharedArchives.names("cases", ".bin.plist"))
  func `binary and XML forms of an archive give the same values`(
    name: String
  ) throws {
    let binary = try SecureUnarchiver.inspect(try SharedArchives.data("cases/\(name).bin.plist"))
    let xml = try SecureUnarchiver.inspect(try SharedArchives.data("cases/\(name).xml.plist"))
    #expect(binary.format == .binary && xml.format == .xml)
    #expect(try normalized(binary.rawJSON()) == normalized(xml.rawJSON()))
    #expect(try normalized(binary.json()) == normalized(xml.json()))
    #expect(try binary.outline().isEmpty == false)
  }

  /// JSON with sorted keys, because the keys are sorted in the XML files but not in the binary files.
  private func normalized(_ json: [UInt8]) throws -> Data {
    try JSONSerialization.data(
      withJSONObject: JSONSerialization.jsonObject(with: Data(json)), options: [.sortedKeys, .fragmentsAllowed])
  }

  @Test(arguments: ["bin", "xml"]) func `each shared case decodes to its expected values`(format: String) throws {
    func dummy(_ name: String, _ more: [AnyClass] = []) throws -> Dummy {
      let data = try SharedArchives.data("cases/\(name).\(format).plist")
      var allowed = try AllowedClasses(more)
      try allowed.allow(Dummy.self, named: "TestDummy", "TestDummyExtended")
      return try SecureUnarchiver(reading: data, allowing: allowed).require(Dummy.self, forKey: "root")
    }
    func any(_ name: String, _ classes: [AnyClass]) throws -> Any? {
      try SecureUnarchiver.unarchivedObject(
        ofClasses: classes, from: try SharedArchives.data("cases/\(name).\(format).plist"))
    }
    #expect((try any("UUIDv4", [NSUUID.self]) as? NSUUID)?.uuidString == "E98A110A-1409-47AB-B9C9-66F2633F570F")
    #expect((try any("date", [NSDate.self]) as? NSDate)?.timeIntervalSinceReferenceDate == 1_210_536_312)
    #expect(try any("null", [NSString.self]) == nil)
    _ = try dummy("emptyObject")
    _ = try dummy("emptyObjectExtended")
    #expect(try dummy("objectWithSingleProp").text == "bar")
    #expect(try dummy("collections", [NSSet.self]).array == ["foo", "bar", "baz"])
    let misc = try dummy("miscTypes", [NSRegularExpression.self])
    #expect(misc.url?.absoluteString == "https://example.com/foo/bar?a=b#hash")
    #expect(misc.expression?.pattern == "(.*)")
    let scalars = try dummy("scalarTypes")
    #expect(scalars.number == 42 && scalars.text == "foo bar" && scalars.flag == true)
    let plain: [AnyClass] = [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self, NSURL.self]
    let reference = try #require(try any("reference", plain) as? NSDictionary)
    #expect((reference["copyOne"] as? NSURL)?.absoluteString == "https://example.com/foo/bar?a=b#hash")
    #expect(reference["copyOne"] as? NSURL == reference["copyTwo"] as? NSURL)
    let nested = try #require(try any("nested", plain) as? NSDictionary)
    #expect(nested.value(at: "levelZeroData", "levelOneData", "level") as? Int == 2)
    #expect(nested.value(at: "levelZeroData", "levelOneData", "levelPath") as? [String] == ["zero", "one", "two"])
  }

  @Test func `archives made on macOS decode to their expected values`() throws {
    func read<T: NSObject & NSCoding>(_ name: String, _ type: T.Type, _ more: AnyClass...) throws -> T? {
      let data = try SharedArchives.data("foundation/NSKeyedUnarchiver-\(name)Test.plist")
      return try SecureUnarchiver.unarchivedObject(ofClasses: [type] + more, from: data) as? T
    }
    #expect(try read("Array", NSArray.self, NSString.self) == ["baa", "baa", "black", "sheep"])
    #expect(try read("UUID", NSUUID.self)?.uuidString == "0AD863BA-7584-40CF-8896-BD87B3280C34")
    #expect(try read("Range", NSValue.self)?.rangeValue == NSRange(location: 97_345, length: 98_345))
    #expect(try read("Rect", NSValue.self)?.rectValue == NSRect(x: 400, y: 300, width: 200, height: 300))
    let insets = try read("EdgeInsets", NSValue.self)?.edgeInsetsValue
    #expect(insets?.top == 1 && insets?.left == 2 && insets?.bottom == 3 && insets?.right == 4)
    #expect(
      try read("OrderedSet", NSOrderedSet.self, NSString.self)?.array as? [String] == ["valgeir", "nico", "puzzle"])
    let url = try read("URL", NSURL.self)
    #expect(
      url?.absoluteString == "https://www.example.com/foo.xml"
        && url?.baseURL?.absoluteString == "https://www.example.com")
    let notification = try read("Notification", NSNotification.self, NSString.self, NSDictionary.self)
    #expect(
      notification?.name.rawValue == "notification-name" && notification?.object as? String == "notification-object")
    #expect(notification?.userInfo?["notification-key"] as? String == "notification-val")
    var numbers: [Int32] = [0, 0, 0]
    unsafe try read("ConcreteValue", NSValue.self)?.getValue(&numbers)
    #expect(numbers == [1, 2, 3])
    let complex = try read(
      "Complex", NSDictionary.self, NSArray.self, NSString.self, NSNull.self, NSURL.self, NSUUID.self, NSNumber.self)
    #expect(complex?.count ?? 0 > 0)
  }
}

extension NSDictionary {
  func value(at keys: String...) -> Any? {
    keys.reduce(self as Any?) { ($0 as? NSDictionary)?[$1] }
  }
}
