import TestSupport
import Testing

@testable import VaultCommands

/// `set --type`, `set --archive`, `get --json` of such values, and `archive convert`.
@Suite struct TypedValueCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test(arguments: [
    ("bool", "true", "true", "true"), ("int", "-0042", "-42", "-42"), ("double", ".5", "0.5", "0.5"),
    ("double", "nan", "nan", "\"nan\""), ("string", "a\n", "a", "\"a\""),
    ("date", "2027-01-31T12:00:30.250+01:00", "2027-01-31T11:00:30.25Z", "\"2027-01-31T11:00:30.25Z\""),
    ("url", "http://u:p@[::1]:80/?a=b", "http://u:p@[::1]:80/?a=b", "\"http://u:p@[::1]:80/?a=b\""),
    ("url", "mailto:a@b.example", "mailto:a@b.example", "\"mailto:a@b.example\""),
    ("url", "https://example.com/a%20b?c#d", "https://example.com/a%20b?c#d", "\"https://example.com/a%20b?c#d\""),
    (
      "uuid", "e621e1f8-c36c-495a-93fc-0c247a3e6e5f", "E621E1F8-C36C-495A-93FC-0C247A3E6E5F",
      "\"E621E1F8-C36C-495A-93FC-0C247A3E6E5F\""
    ),
    (
      "json", " {\"a\":[1,-2.5e3,null,\"\\u00e9\",[],{}]} ", " {\"a\":[1,-2.5e3,null,\"\\u00e9\",[],{}]} ",
      " {\"a\":[1,-2.5e3,null,\"\\u00e9\",[],{}]} "
    ),
    ("data", "x", "x", "\"x\""),
  ]) func `a typed value is stored in one form`(type: String, typed: String, text: String, json: String) {
    #expect(store.run("set", "a", "--type", type, input: typed).status == 0)
    #expect(store.run("get", "a").output == text)
    let kind = type == "data" ? "bytes" : type
    #expect(
      store.run("get", "a", "--json").output
        == "{\"name\":\"a\",\"group\":\"default\",\"version\":1,\"kind\":\"\(kind)\",\"value\":\(json)}\n")
  }

  @Test(arguments: [
    ("bool", "TRUE"), ("bool", ""), ("int", "9223372036854775808"), ("int", "1.0"), ("int", " 1"), ("double", "1e400"),
    ("double", "0x10"), ("double", "one"), ("date", "tomorrow"), ("date", "2027-02-29"), ("url", "intranet.local"),
    ("url", "https://a b"), ("url", "https://a/%2"), ("url", "https://ä"), ("uuid", "e621e1f8c36c495a93fc0c247a3e6e5f"),
    ("json", ""), ("json", "{a:1}"), ("json", "[1,]"), ("json", "01"), ("json", "\"\u{1}\""), ("json", "1 2"),
    ("date", "9999-12-31"), ("date", "0000-01-01T00:00:00+23:59"), ("url", "http://["), ("url", "http://a:b:c/"),
    ("url", "http://a/[x]"), ("url", "http://a#b#c"), ("url", "http://a@b@c"), ("double", "1\0"), ("double", "1e-400"),
    ("double", "nan(1)"), ("json", "{\"a\"}"), ("json", "[1}"), ("json", "\"\\x\""), ("json", "nul"), ("int", "\u{FF}"),
  ]) func `a value of another type is refused and not repeated`(type: String, typed: String) {
    let result = store.run("set", "a", "--type", type, input: typed)
    #expect(result.status == 64)
    #expect(typed.count < 3 || !result.errors.contains(typed))
    #expect(store.run("get", "a").status == 10)
  }

  @Test func `JSON may nest as deep as other programs read it`() {
    let deep = { (depth: Int) in String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    #expect(store.run("set", "a", "--type", "json", input: deep(512)).status == 0)
    #expect(store.run("set", "a", "--type", "json", input: deep(100_000)).status == 64)
  }

  private var person: [UInt8] {
    PlistValue.archive([
      .dict([("name", .uid(2)), ("$class", .uid(3))]), .string("Ada"), .describe("Person"),
    ]).binary()
  }

  @Test func `an archive is stored only if all its classes are allowed, and is returned unchanged`() {
    let path = store.folder.write("person.plist", person)
    let refused = store.run("set", "owner", "--archive", path)
    #expect(refused.status == 19 && refused.errors.contains("class 'Person' is not allowed at root"))
    #expect(store.run("get", "owner").status == 10)
    #expect(store.run("set", "owner", "--archive", path, "--allow", "Person").status == 0)
    store.run("set", "passing", "--expires", "30d", input: "x")
    let lost = store.run("set", "passing", "--archive", path, "--allow", "Person")
    #expect(lost.status == 0 && lost.errors.contains("the former value's expiry"), "\(lost.errors)")
    #expect(store.run("get", "owner", "--output", store.folder.file("out")).status == 0)
    #expect(store.folder.read("out") == person)
    #expect(
      store.run("get", "owner", "--json").output
        == "{\"name\":\"owner\",\"group\":\"default\",\"version\":1,\"kind\":\"archive\",\"type\":\"Person\","
        + "\"value\":{\"root\":{\"$class\":\"Person\",\"name\":\"Ada\"}}}\n")
    #expect(store.run("info", "owner").output.contains("kind: archive of Person\n"))
    #expect(store.run("read", "vault:///owner#name").output == "Ada")
    #expect(store.run("inject", input: "{{ vault:///owner#name }}").output == "Ada")
    #expect(store.run("read", "vault:///owner#age").status == 10)
    #expect(store.run("read", "vault:///owner#$class").output == "Person")
    #expect(store.run("set", "owner", "--archive", store.folder.write("cut", Array(person.dropLast(40)))).status == 13)
    #expect(store.run("set", "owner", "--archive", path, "--type", "int").status == 64)
    #expect(store.run("set", "owner", "--allow", "Person", input: "x").status == 64)
    let large = PlistValue.archive([.string(String(repeating: "a", count: 1_048_576))]).binary()
    #expect(store.run("set", "owner", "--archive", store.folder.write("large", large)).status == 20)
  }

  @Test func `an archive is converted both ways without loss`() {
    let path = store.folder.write("person.plist", person)
    let (xml, binary) = (store.folder.file("xml"), store.folder.file("binary"))
    let raw = store.run("archive", "show", path, "--raw", "--json").output
    #expect(store.run("archive", "convert", path, "--to", "xml", "-o", xml).status == 0)
    #expect(store.run("archive", "convert", xml, "--to", "binary", "-o", binary).status == 0)
    for file in [path, xml, binary] {
      #expect(store.run("archive", "convert", file, "--to", "json").output == raw)
    }
    #expect(store.folder.mode("xml") == 0o600)
    #expect(store.run("archive", "convert", path, "--to", "json", "-o", "-").output == raw)
    #expect(
      store.run("archive", "check", path, "--allow", "Person", "--json").output
        == "[{\"class\":\"Person\",\"objects\":1}]\n")
    #expect(store.run("archive", "convert", path, "--to", "yaml").status == 64)
    let strange = store.folder.write("strange", PlistValue.archive([.string("\u{1}")]).binary())
    let refused = store.run("archive", "convert", strange, "--to", "xml", "-o", xml)
    #expect(refused.status == 13 && refused.errors.contains("the XML format has no form for a control character"))
    #expect(store.folder.read("xml").count > 100)
  }
}
