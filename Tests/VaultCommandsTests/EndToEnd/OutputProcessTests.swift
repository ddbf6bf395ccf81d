import Glibc
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

  @Test(arguments: 1...3)
  func `a killed command leaves no unfinished credential or key file under any name`(number: Int) {
    let killing = TestStore.SystemCall(name: "fsync", number: number).killing
    _ = store.shell(#"mkdir -m 700 "$folder/keys""#)
    for command in [["app", "issue", "com.example.a", "--output"], ["slot", "add", "key-file", "--new-key-file"]] {
      let killed = store.trace(command + [store.folder.file("keys/\(command[0])")], ["fsync"], killing)
      #expect(killed.status == 128 + 9)
    }
    #expect(!store.shell(#"ls -A "$folder/keys""#).output.contains("."))
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

  /// Runs a `get` with a large value into a file, to which a call sends a signal.
  private func signalled(_ signal: Int32, at call: String, _ options: [String] = []) -> (status: Int32, calls: String) {
    let get = ["get", "large", "--output", store.folder.file("value")]
    let result = store.trace(
      get, ["access", "linkat", "write", "unlink", call], options + ["-e", "inject=\(call):signal=\(signal):when=1"])
    return (result.status, String(decoding: store.folder.read("trace"), as: UTF8.self))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, 34])
  func `a signal leaves no temporary file, and ends the command at once`(signal: Int32) {
    store.run("set", "large", input: String(repeating: "s3cr3t", count: 100_000))
    _ = store.folder.write("value", Array("old".utf8))
    let before = files()
    // This simulates a system without /proc.
    let hidden = ["-e", "inject=access:error=ENOENT"]
    for call in ["write", "fsync"] {
      let ended = signalled(signal, at: call, hidden)
      #expect(ended.status == 128 + signal && files() == before, "\(ended)")
      #expect(store.folder.read("value") == Array("old".utf8))
      let writes = ended.calls.split(separator: "\n").count { $0.contains("write(") }
      #expect(call == "fsync" || writes == 1, "\(ended.calls)")
    }
    // The nameless file gets a temporary name first, then its own.
    #expect(signalled(signal, at: "linkat").status == 128 + signal && files() == before)
  }

  @Test func `an ignored signal does not end the command`() {
    let hidden = ["-e", "inject=access:error=ENOENT", "-e", "inject=fsync:signal=HUP:when=1"]
    let before = files()
    let trace = (["-f", "-o", "/dev/null", "-e", "trace=access,fsync"] + hidden).joined(separator: " ")
    let done = store.shell(#"trap '' HUP; strace \#(trace) "$vault" get a --output "$folder/value""#)
    #expect(done.status == 0 && store.folder.read("value") == Array("s3cr3t".utf8), "\(done.errors)")
    #expect(files() == (before + ["value"]).sorted())
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
