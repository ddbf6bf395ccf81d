import Foundation
import Testing

@testable import VaultCommands

@Suite struct GenerateCommandTests {
  let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `a generated value is stored and shown only on request`() {
    let silent = store.run("generate", "a")
    #expect(silent.status == 0 && silent.output.isEmpty && silent.errors.isEmpty)
    #expect(store.run("get", "a").output.count == 32)
    let shown = store.run("generate", "a", "--show", "--length", "12", "--alphabet", "digits")
    #expect(shown.output.contains(/^[0-9]{12}$/))
    #expect(store.run("get", "a").output == shown.output)
    #expect(store.run("info", "a").output.contains("version: 2"))
  }

  @Test(arguments: [["--length", "0"], ["--length", "70000"], ["--alphabet", "a"], ["--alphabet", "aab"]])
  func `an impossible length or alphabet is refused`(options: [String]) {
    #expect(Transcript(["generate", "a"] + options, environment: store.environment).status == 64)
    #expect(store.run("get", "a").status == 10)
  }

  @Test(arguments: ["a-z", "0-9", "A-Za-z0-9", "!a-f"])
  func `a range is refused instead of being taken for three characters`(range: String) {
    let refused = store.run("generate", "a", "--alphabet", range)
    #expect(refused.status == 64 && refused.errors.contains("and ranges are not known"))
    #expect(store.run("generate", "a", "--alphabet", "chars:\(range == "a-z" ? range : "-xy")").status == 0)
    #expect(store.run("generate", "a", "--alphabet", "ab_-").status == 0)
  }

  @Test(arguments: ["numeric", "abc", "alphabet", "HEX"])
  func `letters that name no alphabet are refused`(name: String) {
    let refused = store.run("generate", "a", "--alphabet", name)
    #expect(refused.status == 64 && refused.errors.contains("there is no alphabet of this name"))
    #expect(
      refused.errors.contains("hexadecimal, hex, lower, upper, base64") && refused.errors.contains("chars:LETTERS"))
    store.run("set", "b", input: "value")
    #expect(store.run("rotate-value", "b", "--alphabet", name, "--", "/bin/true").status == 64)
    #expect(store.run("get", "b").output == "value")
    #expect(store.run("get", "a").status == 10)
  }

  @Test func `an alphabet is named or given by its characters`() {
    for (set, pattern) in [
      ("hex", /[0-9a-f]+/), ("lower", /[a-z]+/), ("upper", /[A-Z]+/), ("alnum", /[A-Za-z0-9]+/),
      ("base64", /[A-Za-z0-9+\/]+/), ("chars:xyz", /[xyz]+/), ("chars:hex", /[hex]+/), ("xy", /[xy]+/),
      ("xyz1", /[xyz1]+/), ("xyz-", /[-xyz]+/),
    ] {
      let drawn = store.run("generate", "a", "--show", "--length", "200", "--alphabet", set).output
      #expect(drawn.count == 200 && drawn.wholeMatch(of: pattern) != nil, "\(set)")
    }
    #expect(Set(store.run("generate", "a", "--show", "--length", "500", "--alphabet", "hex").output).count == 16)
    #expect(store.run("generate", "a", "--alphabet", "chars:aab").status == 64)
  }

  @Test func `a changed passphrase opens the store`() throws {
    let changed = store.run("passphrase", "change", "--new-passphrase-fd", descriptor("a new one\n"))
    #expect(changed.status == 0)
    store.run("set", "a", input: "value")
    #expect(store.run("get", "a", "--passphrase-fd", descriptor("a new one\n")).output == "value")
    #expect(store.run("get", "a", "--passphrase-fd", descriptor("another\n")).status == 16)
  }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  @Test func `paths lists the places and says what belongs in a backup`() {
    let paths = store.run("paths").output
    #expect(paths.contains("store\t\(store.folder.file("store"))\t700\tyes\t\n"))
    #expect(paths.contains("key file\t\(store.keyFile)\t600\tapart\t\n"))
    let json = store.run("paths", "--json").output
    #expect(json.contains(#""path":"\#(store.keyFile)","mode":"600","backup":false,"inBackup":"apart""#), "\(json)")
    #expect(json.contains(#""backup":true,"inBackup":"yes""#) && json.contains(#""backup":false,"inBackup":"no""#))
  }

  @Test(arguments: [("unseen", []), ("web/Ann's login", ["-g", "team"]), ("a b", ["--field", "pass word"])])
  func `a new value that cannot be shown is stored, and the error says how to see it`(
    name: String, options: [String]
  ) throws {
    store.run("group", "create", "team")
    if options.first == "--field" { store.run("set", name, "--type", "json", input: "{}") }
    let full = unsafe open("/dev/full", O_WRONLY | O_CLOEXEC)
    defer { close(full) }
    let errors = Pipe.nameless()
    let streams = Streams(input: Pipe.holding([]), output: full, errors: errors)
    let status = VaultCommands.run(
      arguments: ["generate", name, "--show"] + options, environment: store.environment, streams: streams)
    let told = String(decoding: Pipe.contents(of: errors), as: UTF8.self)
    #expect(status == 23 && told.hasPrefix("vault: error: the new value was stored, but not shown: "), "\(told)")
    let hint = try #require(told.split(separator: "\n").last?.split(separator: "vault: hint: ").first)
    #expect(
      store.shell("set -- \(hint); printf '%s\\n' \"$@\"").output == (["vault", "get", name] + options).joined(
        separator: "\n") + "\n")
    #expect(Transcript(["get", name] + options, environment: store.environment).output.utf8.count == 32)
  }
  @Test func `a new value that nobody reads is stored, and that is an error`() {
    let unread = store.unread("generate lost --show")
    #expect(unread.status == 23 && unread.errors.contains("stored, but not shown"), "\(unread.errors)")
    #expect(store.run("get", "lost").output.utf8.count == 32)
  }
}
