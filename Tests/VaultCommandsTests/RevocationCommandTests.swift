import Foundation
import Testing

@testable import VaultCommands

/// A credential is stolen, and somebody damages a group's file to keep it working.
@Suite struct RevocationCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("group", "create", "team")
    for number in 0..<100 { store.run("set", "item/\(number)", "--group", "team", input: "value of \(number)") }
    for app in ["web", "api"] {
      store.run("app", "issue", app, "--output", store.folder.file("\(app).credential"), "--group", "team:write")
    }
    store.run("group", "compact", "team", "--yes")
  }

  private func run(_ arguments: [String]) -> Transcript { Transcript(arguments, environment: store.environment) }

  private let file = "store/groups/team/group.vault"

  /// Changes bytes of the file in a new copy that replaces it, because this process keeps pages of the old one.
  private func patch(_ offset: Int, _ bytes: [UInt8]) {
    var all = store.folder.read(file)
    all.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    for ending in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.folder.file(file + ending)) }
    _ = FileManager.default.createFile(
      atPath: store.folder.file(file), contents: Data(all), attributes: [.posixPermissions: 0o600])
  }

  private func get(_ name: String, _ app: String) -> Int32 {
    store.run("get", name, "--group", "team", "--credential", store.folder.file("\(app).credential")).status
  }

  @Test func `whoever lets a removed application in again is told that its credential is the old one`() {
    let changed = store.run("grant", "team", "web", "--rights", "read")
    #expect(changed.status == 0 && !changed.errors.contains("removed before"))
    #expect(store.run("revoke", "team", "web").status == 0)
    #expect(get("item/1", "web") == 12)
    let back = store.run("grant", "team", "web", "--rights", "read")
    #expect(back.status == 0 && back.errors.contains("it was removed before"), "\(back.errors)")
    #expect(get("item/1", "web") == 0)
  }

  @Test func `an older copy that is accepted brings back the rights of that time, and says so`() throws {
    let (group, older) = (store.folder.file("store/groups/team"), store.folder.file("older"))
    try FileManager.default.copyItem(atPath: group, toPath: older)
    #expect(store.run("grant", "team", "web", "--rights", "read").status == 0)
    try FileManager.default.removeItem(atPath: group)
    try FileManager.default.copyItem(atPath: older, toPath: group)
    let accepted = store.run("group", "accept", "team", "--yes")
    #expect(accepted.status == 0)
    #expect(accepted.errors.contains("comes back: web (issue 1), may write\n"), "\(accepted.errors)")
    let rights =
      "rights that were changed since then return to those named here; vault grant changes them again\n"
    #expect(accepted.errors.contains(rights), "\(accepted.errors)")
  }

  @Test func `changing two bytes in the clear does not make a group newer or block a revocation`() {
    patch(60, [0, 2, 0, 2])
    for arguments in [["list", "--group", "team"], ["verify"], ["status"]] {
      #expect(run(arguments).status == 13, "\(arguments)")
    }
    let revoked = store.run("revoke", "team", "web")
    #expect(revoked.status == 0, "\(revoked.errors)")
    #expect(get("item/1", "web") == 12)
    #expect(get("item/1", "api") == 0)
    #expect(store.run("verify").status == 0)
  }

  @Test(arguments: [
    ["revoke", "team", "web"], ["group", "rotate", "team"], ["app", "uninstall", "web", "--revoke"],
    ["app", "issue", "web", "--replace", "--output", "new.credential"],
  ])
  func `signed items that were lost to damage are left behind only on request`(_ arguments: [String]) throws {
    var arguments = arguments
    if let last = arguments.indices.last, arguments[last] == "new.credential" {
      arguments[last] = store.folder.file("new.credential")
    }
    // This is the last page that is full of rows of items.
    let whole = store.folder.read(file)
    func isFull(_ page: Int) -> Bool {
      let start = page * 4_096
      return whole[start] == 10 && whole[start + 4] > 3 && whole[start + 5] < 8
    }
    let page = try #require((1..<whole.count / 4_096).last(where: isFull))
    patch(page * 4_096, [UInt8](repeating: 0, count: 4_096))
    let refused = run(arguments)
    #expect(refused.status == 13)
    #expect(refused.errors.contains("can no longer be proved"), "\(refused.errors)")
    #expect(refused.errors.contains("--drop-unproved"), "\(refused.errors)")
    let dropped = run(arguments + ["--drop-unproved"])
    #expect(dropped.status == 0, "\(dropped.errors)")
    #expect(dropped.errors.contains("items and 0 older versions that could not be proved"), "\(dropped.errors)")
    #expect(
      dropped.errors.contains("could not be changed (it may be damaged or kept locked), and was replaced; the old"),
      "\(dropped.errors)"
    )
    #expect(store.run("verify").status == 0)
    #expect(store.run("list", "--group", "team").status == 0)
  }

  @Test(arguments: [
    ["revoke", "team", "web"], ["group", "rotate", "team"], ["app", "uninstall", "web", "--revoke"],
    ["app", "issue", "web", "--replace", "--output", "new.credential"], ["grant", "team", "api", "--rights", "read"],
  ])
  func `a change of members accepts another branch of the group in the same step and says what vanishes`(
    _ arguments: [String]
  ) throws {
    var arguments = arguments
    if let last = arguments.indices.last, arguments[last] == "new.credential" {
      arguments[last] = store.folder.file("new.credential")
    }
    let team = store.folder.file("store/groups/team")
    try FileManager.default.copyItem(atPath: team, toPath: store.folder.file("copy"))
    store.run("set", "seen", "-g", "team", input: "1")
    try FileManager.default.removeItem(atPath: team)
    try FileManager.default.moveItem(atPath: store.folder.file("copy"), toPath: team)
    // The thief's machine has not seen the owner's change.
    var thief = store.environment
    thief["VAULT_STATE"] = store.folder.file("thief")
    #expect(unsafe mkdir(store.folder.file("thief"), 0o700) == 0)
    let credential = ["--credential", store.folder.file("web.credential")]
    let other = Transcript(["set", "other", "-g", "team"] + credential, input: [49], environment: thief)
    #expect(other.status == 0, "\(other.errors)")
    #expect(run(arguments).status == 14)
    let taken = run(arguments + ["--accept"])
    #expect(taken.status == 0, "\(taken.errors)")
    #expect(
      taken.errors.contains("'team' is not in the state that this machine saw last; accepting this state:\n"))
    #expect(taken.errors.contains("comes back, with 101 items"), "\(taken.errors)")
    #expect(
      taken.errors.contains("everything written since then is lost: this machine has seen epoch"), "\(taken.errors)")
    let standing = arguments[0] == "app" ? "stays out: web (issue 1)" : "member: web (issue 1), may write"
    #expect(taken.errors.contains(standing), "\(taken.errors)")
    #expect(store.run("verify").status == 0)
    if !["rotate", "api"].contains(arguments[arguments[0] == "group" ? 1 : 2]) { #expect(get("item/1", "web") == 12) }
  }

  @Test func `who accepts a state and lets a removed application in again is not told that it stays out`() throws {
    let team = store.folder.file("store/groups/team")
    try FileManager.default.copyItem(atPath: team, toPath: store.folder.file("copy"))
    #expect(run(["revoke", "team", "web"]).status == 0)
    try FileManager.default.removeItem(atPath: team)
    try FileManager.default.moveItem(atPath: store.folder.file("copy"), toPath: team)
    let other = run(["grant", "team", "api", "--rights", "read"])
    #expect(other.status == 14, "\(other.errors)")
    let taken = run(["grant", "team", "web", "--rights", "read", "--accept"])
    #expect(taken.status == 0, "\(taken.errors)")
    #expect(taken.errors.contains("accepting this state:") && !taken.errors.contains("stays out"), "\(taken.errors)")
    #expect(get("item/1", "web") == 0)
  }

  @Test func `unproved items can be left behind only together with a new key`() {
    for arguments in [
      ["app", "uninstall", "web", "--drop-unproved"],
      ["app", "issue", "web", "--again", "--output", store.folder.file("x"), "--drop-unproved"],
      ["app", "uninstall", "web", "--accept"],
      ["app", "issue", "web", "--again", "--output", store.folder.file("x"), "--accept"],
    ] {
      #expect(run(arguments).status == 64)
    }
  }
}
