import KeyedArchives
import TestSupport
import Testing

@testable import Exchange

@Suite struct PropertyListItemsTests {
  private func imported(_ members: String) throws -> ImportedItems {
    let text = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\(members)</dict></plist>"
    return try PropertyListItems.items(
      of: PropertyList(Array(text.utf8), limits: .standard), byteCount: text.utf8.count)
  }

  private func items(_ members: String) throws -> [[String]] {
    try imported(members).items.map { [$0.name, $0.kind.rawValue, String(decoding: $0.value, as: UTF8.self)] }
  }

  @Test func `every kind of property-list value becomes an item`() throws {
    #expect(
      try items(
        """
        <key>a</key><string>text</string><key>b</key><integer>-7</integer><key>c</key><real>0.5</real>
        <key>d</key><true/><key>e</key><date>2027-01-31T12:00:00Z</date><key>f</key><data>AAEC</data>
        <key>g</key><integer>18446744073709551615</integer><key>h</key><real>nan</real>
        """) == [
          ["a", "string", "text"], ["b", "int", "-7"], ["c", "double", "0.5"], ["d", "bool", "true"],
          ["e", "date", "2027-01-31T12:00:00Z"], ["f", "bytes", "\0\u{1}\u{2}"],
          ["g", "json", "18446744073709551615"], ["h", "double", "nan"],
        ])
  }

  @Test func `dictionaries give paths, and arrays become JSON if JSON can represent them`() throws {
    #expect(
      try items(
        """
        <key>w</key><dict><key>frame</key><dict><key>x</key><integer>1</integer></dict><key>e</key><dict/></dict>
        <key>l</key><array><string>a"b</string><real>1.5</real><dict><key>k</key><false/></dict><array/></array>
        <key>m</key><array><string>s</string><array><date>2027-01-31T00:00:00Z</date></array></array>
        <key>n</key><array><integer>1</integer><real>inf</real></array>
        """) == [
          ["w/frame/x", "int", "1"], ["w/e", "json", "{}"], ["l", "json", #"["a\"b",1.5,{"k":false},[]]"#],
          ["m/0", "string", "s"], ["m/1/0", "date", "2027-01-31T00:00:00Z"],
          ["n/0", "int", "1"], ["n/1", "double", "inf"],
        ])
  }

  @Test func `two values with the same name have different positions`() throws {
    let items = try imported("<key>a/b</key><true/><key>a</key><dict><key>b</key><true/></dict>").items
    #expect(items.map(\.name) == ["a/b", "a/b"])
    #expect(items.map(\.place) == ["'a/b'", "'a' > 'b'"])
    let elements = try imported("<key>n</key><array><integer>1</integer><real>inf</real></array>").items
    #expect(elements.map(\.place) == ["'n' > 0", "'n' > 1"])
  }

  @Test func `items take memory in proportion to the list, whatever it shares`() throws {
    func items(_ make: (inout SharedPlist) -> Int) throws -> ImportedItems {
      var list = SharedPlist()
      let top = make(&list)
      let bytes = list.bytes(top: top)
      return try PropertyListItems.items(of: PropertyList(bytes, limits: .standard), byteCount: bytes.count)
    }
    let refused = ImportFault("its items would take more than 16 bytes for each byte of it", isOverLimit: true)
    let lists: [@Sendable (inout SharedPlist) -> Int] = [
      { list in
        let text = list.text(String(repeating: "x", count: 20_000))
        return list.dictionary((0..<1_000).map { (list.text("k\($0)"), text) })
      },
      { list in
        let data = list.data(20_000)
        return list.dictionary((0..<1_000).map { (list.text("k\($0)"), data) })
      },
      { list in
        let text = list.text(String(repeating: "\u{1}", count: 20_000))
        return list.dictionary([(list.text("a"), list.array(Array(repeating: text, count: 1_000)))])
      },
      { list in
        let value = list.integer(1)
        let inner = list.dictionary((0..<200).map { (list.text("k\($0)"), value) })
        return list.dictionary([(list.text(String(repeating: "k", count: 20_000)), inner)])
      },
      { list in
        let date = list.date()
        let keys = (0..<40).map { list.text("\($0)") }
        let leaf = list.dictionary(keys.map { ($0, date) })
        let inner = list.dictionary(keys.map { ($0, leaf) })
        return list.dictionary([(keys[0], inner), (keys[1], inner), (keys[2], inner), (keys[3], list.data(5_000))])
      },
    ]
    for (number, list) in lists.enumerated() {
      #expect(throws: refused, "\(number)") { try items(list) }
    }
    let honest = try items { list in list.dictionary((0..<2_000).map { (list.text("key \($0)"), list.integer($0)) }) }
    #expect(honest.items.count == 2_000)
  }

  @Test func `a lost value is reported, and a list that is not preferences is refused`() throws {
    let uid = "<key>u</key><dict><key>CF$UID</key><integer>1</integer></dict>"
    #expect(try imported(uid).losses == ["'u': a reference, which means nothing outside of an archive"])
    #expect(throws: ImportFault("a key is empty or not Unicode", at: "'a'")) {
      try imported("<key>a</key><dict><key></key><true/></dict>")
    }
    let array = Array("<plist><array/></plist>".utf8)
    #expect(throws: ImportFault("it holds an array, not preferences")) {
      try PropertyListItems.items(of: PropertyList(array, limits: .standard), byteCount: array.count)
    }
  }
}
