import KeyedArchives
import Testing

@testable import Exchange

@Suite struct PropertyListItemsTests {
  private func imported(_ members: String) throws -> ImportedItems {
    let text = "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict>\(members)</dict></plist>"
    return try PropertyListItems.items(of: PropertyList(Array(text.utf8), limits: .standard))
  }

  private func items(_ members: String) throws -> [[String]] {
    try imported(members).items.map { [$0.name, $0.kind.rawValue, String(decoding: $0.value, as: UTF8.self)] }
  }

  @Test func `every kind of value has a kind of item`() throws {
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

  @Test func `dictionaries give paths, and arrays JSON where it can say them`() throws {
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

  @Test func `two values of one name have two places`() throws {
    let items = try imported("<key>a/b</key><true/><key>a</key><dict><key>b</key><true/></dict>").items
    #expect(items.map(\.name) == ["a/b", "a/b"])
    #expect(items.map(\.place) == ["'a/b'", "'a' > 'b'"])
    let elements = try imported("<key>n</key><array><integer>1</integer><real>inf</real></array>").items
    #expect(elements.map(\.place) == ["'n' > 0", "'n' > 1"])
  }

  @Test func `what no item holds is told, and what is not preferences refused`() throws {
    let uid = "<key>u</key><dict><key>CF$UID</key><integer>1</integer></dict>"
    #expect(try imported(uid).losses == ["'u': a reference, which means nothing outside of an archive"])
    #expect(throws: ImportFault("a key is empty or not Unicode", at: "'a'")) {
      try imported("<key>a</key><dict><key></key><true/></dict>")
    }
    let array = Array("<plist><array/></plist>".utf8)
    #expect(throws: ImportFault("it holds an array, not preferences")) {
      try PropertyListItems.items(of: PropertyList(array, limits: .standard))
    }
  }
}
