import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// `vault edit`, with scripts as editors.
@Suite struct EditItemTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "password", "--label", "A label", "-a", "k=v", "--expires", "90d", input: "hunter2")
    store.environment["PATH"] = Machine.path
  }

  /// Edits with a script that gets the path of the file as `$1`.
  private func edit(_ name: String, _ script: String, _ options: [String] = []) -> Executable.Result {
    let editor = store.folder.write("editor", Array("#!/bin/sh\n\(script)\n".utf8), mode: 0o700)
    store.environment["EDITOR"] = editor
    return store.execute(["edit", name] + options, input: [])
  }

  private func value(_ name: String) -> String { store.run("get", name).output }

  /// The files that this test's edits left in memory. Other tests run at the same time.
  private func leftovers(_ trace: String) -> [String] {
    let files = FileManager.default.enumerator(atPath: "/dev/shm")?.compactMap { $0 as? String } ?? []
    return files.filter { name in
      name.hasPrefix("vault-") && (FileManager.default.contents(atPath: "/dev/shm/" + name) ?? Data()).count > 0
        && String(decoding: FileManager.default.contents(atPath: "/dev/shm/" + name) ?? Data(), as: UTF8.self)
          .contains(trace)
    }
  }

  @Test func `without a terminal no editor starts that nobody has named`() {
    (store.environment["VISUAL"], store.environment["EDITOR"]) = (nil, nil)
    // Its vi would wait for somebody.
    let folder = store.folder.path
    _ = store.folder.write("vi", Array("#!/bin/sh\necho changed >\"$1\"\n".utf8), mode: 0o700)
    store.environment["PATH"] = folder + ":" + Machine.path
    let result = store.execute(["edit", "password"], input: [])
    #expect(result.status == 64 && result.errors.contains("no terminal"), "\(result.errors)")
    #expect(value("password") == "hunter2")
  }

  @Test func `an edited text becomes the next version, and everything else is unchanged`() {
    let before = store.run("info", "password", "--json").output
    #expect(edit("password", #"sed -i s/hunter/fisher/ "$1""#).status == 0)
    #expect(value("password") == "fisher2")
    let after = store.run("info", "password", "--json").output
    for part in ["\"label\":\"A label\"", "\"k\":\"v\"", "\"kind\":\"string\"", "\"version\":2"] {
      #expect(after.contains(part), "\(after)")
    }
    let expiry = before.firstMatch(of: /"expires":"[^"]*"/)?.output
    #expect(expiry != nil && expiry == after.firstMatch(of: /"expires":"[^"]*"/)?.output)
  }

  @Test func `editors may append a newline or save by renaming`() {
    #expect(edit("password", #"echo one >"$1""#).status == 0 && value("password") == "one")
    #expect(edit("password", #"printf two >"$1.new"; mv "$1.new" "$1""#).status == 0 && value("password") == "two")
    #expect(edit("password", #"cp "$1" "$1~"; printf 'a\nb\n' >"$1""#).status == 0 && value("password") == "a\nb")
    store.run("set", "lines", "--exact", input: "a\nb\n")
    #expect(edit("lines", #"echo c >>"$1""#).status == 0 && value("lines") == "a\nb\nc\n")
  }

  @Test func `a vim with a window of its own is told to stay until the text is edited`() {
    let script = #"case " $* " in *" -f "*) for file; do :; done; printf changed >"$file" ;; esac"#
    for (number, name) in ["gvim", "vim.gtk3", "nvim"].enumerated() {
      store.environment["EDITOR"] = store.folder.write(name, Array("#!/bin/sh\n\(script)\n".utf8), mode: 0o700)
      store.run("set", "password\(number)", input: "hunter2")
      #expect(store.execute(["edit", "password\(number)"], input: []).status == 0)
      #expect(value("password\(number)") == "changed", "\(name)")
    }
  }

  @Test func `an unchanged text makes no version`() {
    for script in ["true", #"echo >>"$1""#, #"cp "$1" x; cat x >"$1"; rm x"#] {
      let result = edit("password", "cd '\(store.folder.path)'; " + script)
      #expect(result.status == 0 && result.errors.contains("nothing was changed"))
    }
    #expect(store.run("history", "password", "--json").output.components(separatedBy: "\"version\"").count == 2)
  }

  @Test(arguments: [
    (#": >"$1""#, Int32(64), "the text is empty"), (#"echo x >"$1"; exit 3"#, 1, "the editor ended with status 3"),
    (#"echo x >"$1"; kill -9 $$"#, 1, "the editor was ended by signal 9"), (#"rm "$1""#, 1, "cannot be read"),
    (#"ln -sf /etc/passwd "$1""#, 1, "cannot be read"),
  ]) func `nothing is stored if the editor fails or leaves no file`(script: String, status: Int32, words: String) {
    let mark = "S3CR3T-\(UInt64.random(in: .min ... .max))"
    store.run("set", "marked", input: mark)
    let result = edit("marked", script)
    #expect(result.errors.contains(words) && !result.errors.contains(mark), "\(result.errors)")
    #expect(result.status == status)
    #expect(value("marked") == mark)
    #expect(leftovers(mark).isEmpty)
  }

  @Test func `a missing editor is an error`() {
    store.environment["EDITOR"] = "no-such-editor"
    let result = store.execute(["edit", "password"], input: [])
    #expect(result.status == 1 && result.errors.contains("the editor was not found"))
  }

  @Test func `if an item changed during an edit, both its new version and the edited text are kept`() throws {
    let home = ["VAULT_HOME", "VAULT_STATE"].map { "export \($0)='\(store.environment[$0] ?? "")'; " }.joined()
    let result = edit("password", home + #"echo mine >"$1"; printf theirs | '\#(Executable.path)' set password"#)
    #expect(result.status == 18 && value("password") == "theirs")
    let path = try #require(result.errors.firstMatch(of: /kept in memory: (\/[^ ;]*);/)?.output.1)
    #expect(FileManager.default.contents(atPath: String(path)) == Data("mine\n".utf8))
    #expect(store.run("set", "password", "--file", String(path)).status == 0)
    try FileManager.default.removeItem(atPath: (String(path) as NSString).deletingLastPathComponent)
  }

  @Test func `if an item was removed during an edit, the error says so`() throws {
    let home = ["VAULT_HOME", "VAULT_STATE"].map { "export \($0)='\(store.environment[$0] ?? "")'; " }.joined()
    let result = edit("password", home + #"echo mine >"$1"; '\#(Executable.path)' remove password"#)
    #expect(result.status == 18 && result.errors.contains("vault: error: it was removed meanwhile\n"))
    let path = try #require(result.errors.firstMatch(of: /kept in memory: (\/[^ ;]*);/)?.output.1)
    try FileManager.default.removeItem(atPath: (String(path) as NSString).deletingLastPathComponent)
  }

  @Test func `an edited text that does not fit the value's type is kept`() throws {
    store.run("set", "server", "--type", "json", input: #"{"a":1}"#)
    #expect(edit("server", #"echo '{"a": 2}' >"$1"; case $1 in *.json) ;; *) exit 9 ;; esac"#).status == 0)
    #expect(store.run("info", "server").output.contains("json") && value("server").contains("2"))
    let result = edit("server", #"echo '{"a":' >"$1""#)
    #expect(result.status == 64 && result.errors.contains("this is not JSON"))
    let path = try #require(result.errors.firstMatch(of: /kept in memory: (\/[^ ;]*);/)?.output.1)
    try FileManager.default.removeItem(atPath: (String(path) as NSString).deletingLastPathComponent)
  }

  @Test func `editing creates a new item only on request`() {
    let missing = edit("new", #"echo x >"$1""#)
    #expect(missing.status == 10 && missing.errors.contains("--create makes a new one"))
    #expect(edit("new", #"test -s "$1" || echo x >"$1""#, ["--create"]).status == 0 && value("new") == "x")
    #expect(edit("new", #"echo y >>"$1""#, ["--create"]).status == 0 && value("new").hasSuffix("y"))
  }

  @Test func `a value that is not text cannot be edited`() {
    _ = store.execute(["set", "bytes"], input: [0xFF, 0, 1])
    let result = edit("bytes", #"echo x >"$1""#)
    #expect(result.status == 64 && result.errors.contains("the value is not text"))
  }

  @Test func `the edited text is in memory for its user alone, and in no arguments or environment`() {
    let out = store.folder.file("seen")
    let script = #"""
      { stat -c '%a %F' "$1" "$(dirname "$1")"; stat -f -c %T "$1"; tr '\0' '\n' </proc/$PPID/cmdline
        tr '\0' '\n' </proc/$$/environ; ls -l /proc/$$/fd; } >'\#(out)' 2>/dev/null
      """#
    #expect(edit("password", script).status == 0)
    let seen = String(decoding: store.folder.read("seen"), as: UTF8.self)
    #expect(seen.hasPrefix("600 regular file\n700 directory\ntmpfs\n"))
    #expect(!seen.contains("hunter2") && !seen.contains("VAULT_"))
  }

  @Test func `a killed edit leaves nothing on a disk, and the next one removes what it left in memory`() throws {
    let started = store.folder.file("started")
    let mark = "S3CR3T-\(UInt64.random(in: .min ... .max))"
    store.run("set", "marked", input: mark)
    store.environment["EDITOR"] = store.folder.write(
      "editor", Array("#!/bin/sh\necho $$ >'\(started)'; exec sleep 1000\n".utf8), mode: 0o700)
    let process = Executable(["edit", "marked"], environment: store.environment)
    #expect(eventually { store.folder.exists("started") })
    #expect(leftovers(mark).count == 1)
    process.send(SIGKILL)
    #expect(process.wait().status == 128 + SIGKILL)
    // An edit of another test may have removed it by now.
    #expect(leftovers(mark).count <= 1)
    #expect(store.shell("grep -rl '\(mark)' \"$folder\"").output.isEmpty)
    #expect(edit("password", "true").status == 0)
    // Another test's edit may be removing it just now.
    #expect(eventually { leftovers(mark).isEmpty })
    store.shell("kill $(cat '\(started)')")
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `a signal ends the editor and leaves nothing`(signal: Int32) throws {
    let mark = "S3CR3T-\(UInt64.random(in: .min ... .max))"
    store.run("set", "marked", input: mark)
    store.environment["EDITOR"] = store.folder.write(
      "editor", Array("#!/bin/sh\ntouch '\(store.folder.file("started"))'\nexec sleep 20\n".utf8), mode: 0o700)
    let process = Executable(["edit", "marked"], environment: store.environment)
    #expect(eventually { store.folder.exists("started") })
    process.send(signal)
    let result = process.wait()
    #expect(result.status == 1 && result.errors.contains("nothing was stored"), "\(result.errors)")
    #expect(leftovers(mark).isEmpty)
  }
}
