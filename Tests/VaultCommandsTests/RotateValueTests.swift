import Foundation
import Testing
import Vault

@testable import VaultCommands

/// `vault rotate-value` and `vault expiring`.
@Suite struct RotateValueTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "db/password", "-a", "env=prod", input: "old")
  }

  @Test func `the program gets the new value, which becomes the item's, and the old one is kept`() throws {
    let taken = store.folder.file("taken")
    let run = store.run(
      "rotate-value", "db/password", "--length", "20", "--expires", "2090-01-01", "--", "/bin/sh", "-c",
      "cat > \(taken)")
    #expect(run.status == 0 && run.errors.isEmpty)
    let new = store.run("get", "db/password").output
    #expect(try new.utf8.count == 20 && String(contentsOfFile: taken, encoding: .utf8) == new)
    #expect(store.run("get", "db/password", "--version", "1").output == "old")
    #expect(store.run("list", "-a", "env=prod").output.contains("2090-01-01"))
    #expect(!store.run("list").output.contains(".new"))
  }

  @Test func `if the program fails, the value stays as it was, and the new one can be brought back`() {
    let run = store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", "exit 3")
    #expect(run.status == 1)
    #expect(run.errors == "vault: error: the program ended with status 3; the value was not changed\n")
    #expect(store.run("get", "db/password").output == "old")
    #expect(store.run("list").output.split(separator: "\n").count == 1)
    #expect(store.run("restore", "db/password.new").status == 0)
  }

  @Test func `a program that fails does so even if the shell ignores the ends of programs`() {
    let ignoring = #"perl -e '$SIG{CHLD} = "IGNORE"; exec @ARGV' "$vault""#
    #expect(store.shell("\(ignoring) rotate-value db/password -- false").status == 1)
    #expect(store.run("get", "db/password").output == "old")
    #expect(store.shell("\(ignoring) rotate-value db/password -- true").status == 0)
  }

  @Test func `the former value's expiry is mentioned once the value is another one`() {
    store.run("set", "db/password", "--expires", "2090-01-01", input: "old")
    #expect(!store.run("rotate-value", "db/password", "--", "/bin/false").errors.contains("expiry"))
    #expect(store.run("rotate-value", "db/password", "--", "/bin/cat").errors.contains("the former value's expiry"))
  }

  @Test func `if the program is killed, the new value stays, to be taken or removed`() throws {
    let taken = store.folder.file("taken")
    let run = store.run(
      "rotate-value", "db/password", "--expires", "2090-01-01", "--", "/bin/sh", "-c", "cat > \(taken); kill -9 $$")
    #expect(run.status == 1 && run.errors.contains("vault rotate-value 'db/password' --finish"))
    #expect(store.run("get", "db/password").output == "old")
    let again = store.run("rotate-value", "db/password", "--", "/bin/true")
    #expect(again.status == 18 && again.errors.contains("its value is in 'db/password.new'"))
    #expect(store.run("rotate-value", "db/password", "--finish").status == 0)
    #expect(try store.run("get", "db/password").output == String(contentsOfFile: taken, encoding: .utf8))
    #expect(store.run("list").output.contains("2090-01-01"))
    #expect(store.run("rotate-value", "db/password", "--discard").status == 10)
  }

  @Test func `without an interrupted rotation there is nothing to finish or to discard`() {
    for option in ["--finish", "--discard"] {
      let run = store.run("rotate-value", "db/password", option)
      #expect(run.status == 10)
      #expect(run.errors.hasPrefix("vault: error: no new value is waiting: "), "\(run.errors)")
      #expect(store.run("rotate-value", "db/pasword", option).errors.contains("did you mean 'db/password'?"))
    }
  }

  @Test func `a program that cannot be started leaves nothing behind`() {
    for (program, status) in [("./no-such-program", Int32(127)), ("/etc/passwd", 126)] {
      #expect(store.run("rotate-value", "db/password", "--", program).status == status)
      #expect(store.run("list").output.split(separator: "\n").count == 1)
    }
    #expect(store.run("rotate-value", "db/password", "--", "/bin/true").status == 0)
  }

  @Test func `a value that is finished later can be given another expiry`() {
    store.run(
      "rotate-value", "db/password", "--expires", "2090-01-01", "--", "/bin/sh", "-c", "kill -9 $$")
    #expect(store.run("rotate-value", "db/password", "--finish", "--expires", "2091-02-03").status == 0)
    #expect(store.run("list").output.contains("2091-02-03"))
  }

  @Test func `a discarded value can be brought back`() {
    store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", "kill -9 $$")
    #expect(store.run("rotate-value", "db/password", "--discard").status == 0)
    #expect(store.run("restore", "db/password.new").status == 0)
  }

  @Test func `a value that was replaced is reported as such, even if its copy cannot be removed`() throws {
    let said = unsafe open(store.folder.file("said"), O_RDWR | O_CREAT, 0o600)
    defer { close(said) }
    let session = try Session(
      arguments: [], environment: store.environment, streams: Streams(output: said, errors: said))
    let group = try session.openGroup(nil, KeySource(keyFile: store.keyFile))
    try RotateValue.clearing(ItemPlace("db/password", field: nil, in: group), session) {
      throw VaultError.storage(.full)
    }
    try session.finish()
    let text = try String(contentsOfFile: store.folder.file("said"), encoding: .utf8)
    #expect(
      text == "vault: warning: the value was replaced, but its copy is still in 'db/password.new': the disk is full; "
        + "remove it: vault rotate-value 'db/password' --discard\n")
  }

  @Test func `an item that no rotation made is neither taken nor removed`() {
    store.run("set", "db/password.new", input: "mine")
    for option in ["--finish", "--discard"] {
      #expect(store.run("rotate-value", "db/password", option).status == 18)
    }
    let run = store.run("rotate-value", "db/password", "--", "/bin/true")
    #expect(run.status == 18 && run.errors.contains("a separate item"))
    #expect(store.run("get", "db/password.new").output == "mine")
    #expect(store.run("get", "db/password").output == "old")
  }

  @Test func `a removed item with the name that a rotation needs can still be restored afterwards`() {
    store.run("set", "db/password.new", input: "mine")
    store.run("remove", "db/password.new")
    #expect(store.run("rotate-value", "db/password", "--", "/bin/true").status == 0)
    #expect(!store.run("list").output.contains(".new"))
    #expect(store.run("restore", "db/password.new", "--version", "1").status == 0)
    #expect(store.run("get", "db/password.new").output == "mine")
  }

  @Test func `nothing is left of values that rotations alone have kept`() {
    store.run("rotate-value", "db/password", "--", "/bin/false")
    #expect(store.run("history", "db/password.new").status == 0)
    #expect(store.run("rotate-value", "db/password", "--", "/bin/true").status == 0)
    let restored = store.run("restore", "db/password.new")
    #expect(restored.status == 10 && restored.errors.contains("destroyed"), "\(restored.errors)")
  }

  @Test func `a rotation of one field is finished for that field only`() {
    store.run("set", "web", "--type", "json", input: #"{"username":"ann","password":"old"}"#)
    store.run("rotate-value", "web#password", "--", "/bin/sh", "-c", "kill -9 $$")
    for other in ["web", "web#username"] { #expect(store.run("rotate-value", other, "--finish").status == 18) }
    #expect(store.run("rotate-value", "web#password", "--finish").status == 0)
    #expect(store.run("get", "web#username").output == "ann")
    #expect(store.run("get", "web#password").output.utf8.count == 32)
  }

  @Test func `a value that was discarded while the program ran is stored nevertheless`() throws {
    let taken = store.folder.file("taken")
    let variables = store.environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
    let script = "cat > \(taken); env \(variables) '\(Executable.path)' rotate-value db/password --discard"
    #expect(store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", script).status == 0)
    #expect(try store.run("get", "db/password").output == String(contentsOfFile: taken, encoding: .utf8))
  }

  @Test func `a change by somebody else meanwhile is not overwritten`() {
    // The program changes the item itself.
    let variables = store.environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
    let script = "printf theirs | env \(variables) '\(Executable.path)' set db/password"
    let run = store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", script)
    #expect(run.status == 18 && run.errors.contains("the program took the new value, but it was not stored"))
    #expect(store.run("get", "db/password").output == "theirs")
    #expect(store.run("rotate-value", "db/password", "--finish").status == 0)
  }

  @Test func `one field of a login is replaced, and a whole login is not`() {
    store.run("set", "web", "--type", "json", input: #"{"username":"ann","password":"old"}"#)
    #expect(store.run("rotate-value", "web", "--", "/bin/true").status == 18)
    #expect(store.run("rotate-value", "web#password", "--", "/bin/true").status == 0)
    #expect(store.run("get", "web#username").output == "ann")
    #expect(store.run("get", "web#password").output.utf8.count == 32)
  }

  @Test func `exactly one of a program, --finish and --discard is needed`() {
    #expect(store.run("rotate-value", "db/password").status == 64)
    #expect(store.run("rotate-value", "db/password", "--finish", "--", "/bin/true").status == 64)
  }

  @Test func `expiring lists what expires within a time in all groups, and its status says so`() {
    #expect(store.run("expiring").status == 0)
    store.run("group", "create", "team")
    store.run("set", "soon", "-g", "team", "--expires", "20d", input: "x")
    store.run("set", "gone", "--expires", "2020-01-01", input: "x")
    store.run("set", "late", "--expires", "90d", input: "x")
    let within = store.run("expiring")
    #expect(within.status == 24 && within.errors.isEmpty)
    let rows = within.output.split(separator: "\n").map { $0.split(separator: "\t").prefix(2) }
    #expect(rows == [["default", "gone"], ["team", "soon"]])
    #expect(store.run("expiring", "--within", "100d").output.contains("late"))
    let json = store.run("expiring", "--within", "1d", "--json")
    #expect(
      json.status == 24 && json.output.hasPrefix(#"[{"name":"gone","#) && json.output.contains(#""expired":true"#))
    #expect(store.run("expiring", "--within", "soon").status == 64)
  }

  @Test func `the status of expiring says so even if nobody reads the list`() {
    store.run("set", "gone", "--expires", "2020-01-01", input: "x")
    for command in ["expiring", "expiring --json"] { #expect(store.unread(command).status == 24) }
    // A list longer than the output's buffer.
    let label = String(repeating: "x", count: 200)
    for number in 1...90 { store.run("set", "gone\(number)", "--label", label, "--expires", "2020-01-01", input: "x") }
    for command in ["expiring", "expiring --json"] { #expect(store.unread(command).status == 24) }
  }

  @Test(.needsTracing) func `if no process can be started, nothing was tried and nothing is left`() {
    let calls = ["clone", "clone3", "vfork"]
    let failed = store.trace(
      ["rotate-value", "db/password", "--", "/bin/true"], calls, ["-e", "inject=?clone,?clone3,?vfork:error=EAGAIN"])
    #expect(failed.status == 23)
    #expect(failed.errors.hasPrefix("vault: error: no further process can be started\n"), "\(failed.errors)")
    #expect(store.run("get", "db/password.new").status == 10)
  }
}
