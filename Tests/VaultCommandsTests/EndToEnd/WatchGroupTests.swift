import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import VaultCommands

/// `vault watch`, with the executable: another process makes the changes.
@Suite struct WatchGroupTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "old", input: "1")
  }

  /// Sets `watched` again and again until the watching program ends: at first it may not be watching yet.
  private func watch(_ arguments: String...) -> Executable.Result {
    let watching = Executable(["watch", "--once"] + arguments, environment: store.environment)
    let hasEnded = eventually {
      store.run("set", "watched", input: "x")
      return try! String(contentsOfFile: "/proc/\(watching.process)/stat", encoding: .utf8).contains(") Z ")
    }
    #expect(hasEnded)
    if !hasEnded { kill(watching.process, SIGKILL) }
    return watching.wait()
  }

  @Test func `a change is one line with the name and the version`() throws {
    let found = watch()
    #expect(found.status == 0)
    #expect(try #/watched\t\d+\n/#.wholeMatch(in: found.output) != nil, "\(found.output)")
  }

  @Test func `a program gets the names of the changed items, and its end is ours`() {
    let found = watch("--prefix", "watched", "--", "/bin/sh", "-c", "cat; exit 3")
    #expect(found.output == "watched\n")
    #expect(found.status == 3 && found.errors.isEmpty)
    #expect(watch("--", "/bin/sh", "-c", "kill -TERM $$").status == 128 + SIGTERM)
    #expect(watch("--", "./no-such-program").status == 127)
  }

  @Test func `a command after the dashes is never taken for the group`() {
    store.run("group", "create", "echo")
    let found = watch("--", "/bin/cat")
    #expect(found.output.hasSuffix("watched\n") && found.status == 0)
    #expect(store.execute(["rotate-value", "--", "old", "/bin/true"], input: []).status == 64)
  }

  @Test func `a combining mark after the prefix does not hide a change`() {
    store.run("group", "create", "marked")
    let watching = Executable(["watch", "marked", "--once", "--prefix", "db/"], environment: store.environment)
    #expect(
      eventually {
        store.run("set", "db/\u{301}x", "-g", "marked", input: "x")
        return try! String(contentsOfFile: "/proc/\(watching.process)/stat", encoding: .utf8).contains(") Z ")
      })
    kill(watching.process, SIGKILL)
    #expect(watching.wait().output.contains("x\t"))
  }

  @Test func `two hyphens without a command are an error`() {
    #expect(store.execute(["watch", "--"], input: []).status == 64)
    #expect(store.execute(["watch", "default", "--once", "--"], input: []).status == 64)
  }

  @Test(.needsTracing, arguments: [("inotify_init1", "EMFILE"), ("inotify_add_watch", "ENOSPC")])
  func `a change is seen although the system does not let the folder be watched`(call: String, error: String) {
    let ended = Mutex<(status: Int32, output: String)?>(nil)
    onThreads(2) { number in
      if number == 0 {
        let found = store.trace(["watch", "--once"], [call], ["-e", "inject=\(call):error=\(error)"])
        ended.withLock { $0 = (found.status, found.output) }
      } else {
        // At first it may not be watching yet.
        while ended.withLock({ $0 == nil }) { store.run("set", "watched", input: "x") }
      }
    }
    let found = ended.withLock(\.self)
    #expect(found?.status == 0 && found?.output.hasPrefix("watched\t") == true)
  }

  @Test func `watching a missing group is an error`() {
    #expect(store.execute(["watch", "nowhere"], input: []).status == 10)
  }
}
