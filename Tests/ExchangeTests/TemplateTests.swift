import Exchange
import Testing

@Suite struct TemplateTests {
  /// The template with each reference as `<name#field line>`.
  private func shown(_ text: String) throws -> String {
    try Template(Array(text.utf8)).parts.map { part in
      switch part {
      case .text(let bytes): String(decoding: bytes, as: UTF8.self)
      case .reference(let reference, let line):
        "<\(reference.group ?? "-") \(reference.name)\(reference.field.map { "#" + $0 } ?? "") \(line)>"
      }
    }.joined()
  }

  @Test(arguments: [
    ("a: {{ vault://g/n }}\nb: {{vault:///x/y#f}}\n", "a: <g n 1>\nb: <- x/y#f 2>\n"),
    ("{{\tvault://g/n\t}}{{vault://g/m}}", "<g n 1><g m 1>"), ("vault://g/n", "<g n 1>"),
    ("\"vault://g/n\", (vault://g/a%20b) 'vault:///x'", "\"<g n 1>\", (<g a b 1>) '<- x 1>'"),
    ("http://vault://g/n xvault://g/n \\vault://g/n", "http://<g n 1> xvault://g/n \\vault://g/n"),
    ("{{ whatever }} {{{ vault://g/n }}} {", "{{ whatever }} {<g n 1>} {"), ("", ""), ("{{", "{{"),
    ("url=vault://g/n?x", "url=<g n 1>?x"), ("vault:/g va vault", "vault:/g va vault"),
    ("{{ vault://g/ü@x }}", "<g ü@x 1>"), ("\n\n vault://g/n\n{{ vault://g/n }}", "\n\n <g n 3>\n<g n 4>"),
  ]) func `references are found, and all other text is kept`(text: String, expected: String) throws {
    #expect(try shown(text) == expected)
  }

  @Test func `bytes that are not UTF-8 are kept`() throws {
    let bytes: [UInt8] = [0, 255, 0x7B, 0x76, 10, 128]
    let parts = try Template(bytes).parts.flatMap { part -> [UInt8] in
      if case .text(let bytes) = part { bytes } else { [] }
    }
    #expect(parts == bytes)
  }

  @Test(arguments: [
    ("\n{{ vault://g/n }\n", Template.Fault.unclosed(line: 2)), ("{{ vault://g/n\n}}", .unclosed(line: 1)),
    ("{{ vault://g/n", .unclosed(line: 1)), ("{{ vault://g/a b }}", .badReference(.unescaped, line: 1)),
    ("a\nb vault://g", .badReference(.noName, line: 2)), ("vault://g/%zz", .badReference(.badEscape, line: 1)),
    ("vault://", .badReference(.noName, line: 1)), ("{{ vault://g/n# }}", .badReference(.emptyField, line: 1)),
  ]) func `a defect is reported with its line`(text: String, fault: Template.Fault) {
    #expect(throws: fault) { try Template(Array(text.utf8)) }
  }
}
