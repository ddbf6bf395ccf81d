import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// `vault audit --follow`, with the executable: another process acts.
@Suite struct FollowAuditTests {
  @Test func `new records are shown while they are written, and old ones are not`() throws {
    let store = try TestStore()
    store.run("audit", "begin")
    store.run("group", "create", "before")
    let following = Executable(["audit", "--follow", "--json"], environment: store.environment)
    var count = 0
    // At first it may not be following yet.
    let isShown = eventually {
      count += 1
      store.run("group", "create", "g\(count)")
      let shown = try? String(contentsOfFile: "/proc/\(following.process)/fd/1", encoding: .utf8)
      return shown?.contains("create-group") == true
    }
    kill(following.process, SIGKILL)
    let found = following.wait()
    #expect(isShown && !found.output.contains("before"), "\(found.errors)")
    for line in found.output.split(separator: "\n") {
      #expect(try readJSON(String(line))["action"] as? String == "create-group")
    }
  }

  @Test func `following a record with a wrong end ends with an error`() throws {
    let store = try TestStore()
    store.run("audit", "begin")
    store.run("set", "head", "-g", "vault.audit", input: "broken")
    let followed = Executable(["audit", "--follow"], environment: store.environment).wait()
    #expect(followed.status == 13)
  }
}
