import Exchange
import Testing

@Suite struct ReferenceTests {
  @Test func `a reference is a group, a name and a field`() throws {
    #expect(
      try Reference("vault://team.shared/db/password#user")
        == Reference(group: "team.shared", name: "db/password", field: "user"))
    #expect(try Reference("vault:///token") == Reference(name: "token"))
    #expect(try Reference("vault://g/a%20b%23%2F%25") == Reference(group: "g", name: "a b#/%"))
    #expect(try Reference("vault://g/schl%C3%BCssel") == Reference(group: "g", name: "schlüssel"))
    #expect(try Reference("vault://g/鍵") == Reference(group: "g", name: "鍵"))
  }

  @Test func `random references are read back from their text`() throws {
    var random = SystemRandomNumberGenerator()
    let alphabet: [Unicode.Scalar] = ["a", "Z", "/", "#", "%", " ", "\t", "\n", "\u{7F}", "ü", "鍵", "🔑", ".", "?", "&"]
    for _ in 0..<2_000 {
      func text(_ count: ClosedRange<Int>) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: count, using: &random) { text.append(alphabet.randomElement(using: &random)!) }
        return String(text)
      }
      let reference = Reference(
        group: Bool.random(using: &random) ? text(1...5) : nil, name: text(1...10),
        field: Bool.random(using: &random) ? text(1...5) : nil)
      #expect(try Reference(reference.description) == reference)
    }
  }

  @Test(arguments: [
    ("", Reference.Fault.noScheme), ("hunter2", .noScheme), ("VAULT://g/n", .noScheme), ("vault:/g/n", .noScheme),
    ("vault://", .noName), ("vault://g", .noName), ("vault://g/", .noName), ("vault:///", .noName),
    ("vault://g/#f", .noName), ("vault://g/n%", .badEscape), ("vault://g/n%4", .badEscape),
    ("vault://g/n%zz", .badEscape),
    ("vault://g/n%FF", .badEscape), ("vault://g/a b", .unescaped), ("vault://g/a\nb", .unescaped),
    ("vault://g/n#a#b", .unescaped), ("vault://g/n#", .emptyField),
  ]) func `text that is not a reference is refused with the reason`(text: String, fault: Reference.Fault) {
    #expect(throws: fault) { try Reference(text) }
  }
}
