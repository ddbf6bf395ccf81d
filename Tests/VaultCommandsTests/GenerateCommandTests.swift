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
  }
}
