import Testing

@testable import VaultCommands

/// Writing a value to a file.
@Suite(.needsTracing) struct OutputProcessTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    try #require(store.run("set", "a", input: "s3cr3t").status == 0)
  }

  private func files() -> [String] { store.folder.names().filter { $0 != "trace" } }

  @Test func `a process killed before a file is complete leaves no file under any name`() {
    let before = files()
    let call = TestStore.SystemCall(name: "fsync", number: 1)
    let killed = store.trace(["get", "a", "--output", store.folder.file("value")], ["fsync"], call.killing)
    #expect(killed.status == 128 + 9)
    #expect(files() == before)
  }

  @Test func `without nameless files, a temporary file is used and the old file stays on failure`() {
    let path = store.folder.write("value", Array("old".utf8))
    let before = files()
    // This simulates a system without /proc.
    let hidden = ["-e", "inject=access:error=ENOENT"]
    let get = ["get", "a", "--output", path]
    let failing = store.trace(get, ["access", "rename"], hidden + ["-e", "inject=rename:error=ENOSPC"])
    #expect(failing.status == 23)
    #expect(files() == before && store.folder.read("value") == Array("old".utf8))
    #expect(store.trace(get, ["access"], hidden).status == 0)
    #expect(files() == before && store.folder.read("value") == Array("s3cr3t".utf8))
    #expect(store.folder.mode("value") == 0o600)
  }

  @Test func `if the new file cannot get its name, that is an error and nothing is left`() {
    let before = files()
    let call = TestStore.SystemCall(name: "linkat", number: 1)
    let failing = store.trace(
      ["get", "a", "--output", store.folder.file("value")], ["linkat"], call.failing("ENOSPC"))
    #expect(failing.status == 23)
    #expect(files() == before)
  }
}
