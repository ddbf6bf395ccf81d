import Foundation
import Testing

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

  @Test func `if the program fails, the value stays as it was`() {
    let run = store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", "exit 3")
    #expect(run.status == 1)
    #expect(run.errors == "vault: error: the program ended with status 3; the value was not changed\n")
    #expect(store.run("get", "db/password").output == "old")
    #expect(store.run("list").output.split(separator: "\n").count == 1)
  }

  @Test func `after an interrupted rotation the new value is there, to be taken or dropped`() {
    store.run("set", "db/password.new", input: "new")
    let again = store.run("rotate-value", "db/password", "--", "/bin/true")
    #expect(again.status == 18)
    #expect(again.errors.contains("its value is in 'db/password.new'") && again.errors.contains("--finish"))
    #expect(store.run("rotate-value", "db/password", "--finish").status == 0)
    #expect(store.run("get", "db/password").output == "new")
    #expect(store.run("rotate-value", "db/password", "--discard").status == 10)
  }

  @Test func `a change by somebody else meanwhile is not overwritten`() {
    // The program changes the item itself.
    let variables = store.environment.map { "\($0.key)='\($0.value)'" }.joined(separator: " ")
    let script = "printf theirs | env \(variables) '\(Executable.path)' set db/password"
    let run = store.run("rotate-value", "db/password", "--", "/bin/sh", "-c", script)
    #expect(run.status == 18 && run.errors.contains("the item was changed meanwhile"))
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
}
