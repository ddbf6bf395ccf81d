import Foundation
import Glibc
import Testing

@testable import Vault
@testable import VaultCommands

/// The options of a new group: lifetime, device, Unix group.
@Suite struct GroupCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `a group shows its lifetime, its device and its Unix group`() throws {
    let number = Int(getegid())
    #expect(store.run("group", "create", "plain").status == 0)
    #expect(
      store.run("group", "create", "bound", "--this-device-only", "--lifetime", "purged").status
        == 0)
    #expect(store.run("group", "create", "shared", "--unix-group", "\(number)").status == 0)
    let plain = try readJSON(store.run("group", "show", "plain", "--json").output)
    #expect(plain["lifetime"] as? String == "survives")
    #expect(plain["thisDeviceOnly"] as? Bool == false)
    #expect(plain["unixGroup"] is NSNull)
    let bound = try readJSON(store.run("group", "show", "bound", "--json").output)
    #expect(bound["lifetime"] as? String == "purged")
    #expect(bound["thisDeviceOnly"] as? Bool == true)
    let shared = try readJSON(store.run("group", "show", "shared", "--json").output)
    let unixGroup = try #require(shared["unixGroup"] as? [String: Any])
    #expect(unixGroup["number"] as? Int == number && unixGroup["rights"] as? String == "write")
    #expect(
      store.run("group", "show", "bound").output.contains(
        "lifetime: purged\nopens on: this device only\n"))
    #expect(
      store.run("group", "share", "shared", "--unix-group", "\(number)", "--read-only").status == 0)
    #expect(store.run("group", "show", "shared").output.contains(", may read the files\n"))
  }

  @Test(
    arguments: [
      ["create", "a", "--this-device-only", "--unix-group", "0"],
      ["create", "a", "--lifetime", "long"],
      ["create", "a", "--unix-group", "no such group"], ["share", "default"],
      ["share", "default", "--unix-group", "0", "--private"],
      ["share", "default", "--private", "--read-only"],
      ["share", "default", "--unix-group", "no such group"], ["share", "vault.owner", "--private"],
    ])
  func `contradicting options end with 64 and change nothing`(_ arguments: [String]) {
    let before = store.folder.mode("store/groups/default")
    #expect(Transcript(["group"] + arguments, environment: store.environment).status == 64)
    #expect(store.run("group", "list").output == "default\n")
    #expect(
      store.folder.mode("store/groups/default") == before && store.folder.mode("store") == 0o700)
  }

  @Test func `on a terminal an older state is described, and accepted only by yes`() throws {
    let group = store.folder.file("store/groups/default")
    store.run("set", "a", input: "old")
    try FileManager.default.copyItem(atPath: group, toPath: store.folder.file("copy"))
    store.run("set", "a", input: "new")
    try FileManager.default.removeItem(atPath: group)
    try FileManager.default.moveItem(atPath: store.folder.file("copy"), toPath: group)
    for (answer, status) in [("no\n", Int32(130)), ("\n", 130), ("yes\n", 0)] {
      #expect(store.run("get", "a").status == 14)
      let terminal = PseudoTerminal()
      terminal.type(answer)
      let streams = Streams(
        input: Pipe.nameless(), output: Pipe.nameless(), errors: terminal.descriptor, terminal: terminal.path)
      let arguments = ["group", "accept", "default"]
      #expect(VaultCommands.run(arguments: arguments, environment: store.environment, streams: streams) == status)
      let shown = terminal.shown()
      #expect(shown.contains("comes back, with 1 item, removed ones included (epoch 2)"), "\(shown)")
      #expect(shown.contains("everything written since then is lost: this machine has seen epoch 3"))
      #expect(shown.contains("accept it? (yes/no) "))
    }
    #expect(store.run("get", "a").output == "old")
  }

  @Test func `without a terminal a state is accepted only with --yes`() throws {
    store.run("set", "a", input: "old")
    let group = store.groupFolder
    try FileManager.default.copyItem(atPath: group, toPath: store.folder.file("copy"))
    store.run("set", "a", input: "new")
    try FileManager.default.removeItem(atPath: group)
    try FileManager.default.moveItem(atPath: store.folder.file("copy"), toPath: group)
    let asked = store.run("group", "accept", "default")
    #expect(asked.status == 64 && asked.errors.contains("to accept it without asking: --yes"))
    #expect(store.run("get", "a").status == 14)
    #expect(store.run("group", "accept", "default", "--yes").status == 0)
    #expect(store.run("get", "a").output == "old")
  }

  @Test func `the hint about a group in use is not to repair it`() {
    let hint = UnchangedGroups.hint([UnchangedGroup(name: "team", problem: .busy(group: "team"))], "api")
    #expect(hint.hasPrefix("try again; see who holds it:") && hint.hasSuffix("; then repeat the command"))
    let full = UnchangedGroups.hint(
      [UnchangedGroup(name: "team", problem: .storage(.full))], "api", Circumstances(makesSteps: true))
    #expect(full == "not finished, but what was done is kept: free some space, then repeat the command")
  }

  @Test func `the hint about a published group says how vaultd can order the change again`() {
    for problem in [VaultError.denied(.notAMember), .unordered(group: "team", .unreachable("no server answers"))] {
      let waiting = [UnchangedGroup(name: "team", problem: problem)]
      #expect(UnchangedGroups.hint(waiting, "vault.service").contains("vault join --credential FILE"))
      #expect(!UnchangedGroups.hint(waiting, "api").contains("vault join"))
    }
  }

  @Test func `a group that could not be changed is named with its status and a hint`() throws {
    let credential = store.folder.file("new")
    store.run("group", "create", "team")
    store.run("app", "issue", "api", "--output", store.folder.file("old"), "--group", "team:read")
    let file = store.folder.file("store/groups/team/group.vault")
    for ending in ["", "-wal", "-shm"] { try FileManager.default.removeItem(atPath: file + ending) }
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(repeating: 0x61, count: 8_192), attributes: [.posixPermissions: 0o600]))
    for _ in 1...2 {
      let replaced = store.run("app", "issue", "api", "--output", credential, "--replace")
      #expect(replaced.status == 13)
      #expect(replaced.errors.contains("wrote a credential of 'api', issue "))
      #expect(replaced.errors.contains("vault: warning: 'team' was not changed (status 13): 'team' is damaged"))
      #expect(replaced.errors.contains("vault: error: 1 group was not changed, and may still admit 'api'\n"))
      #expect(replaced.errors.contains("or only: vault revoke team api\n"))
    }
    #expect(store.run("--credential", credential, "list").status == 0)
    let uninstalled = store.run("app", "uninstall", "api", "--revoke")
    #expect(uninstalled.status == 13 && uninstalled.errors.contains("kept 'api' under a new key;"))
  }

  @Test func `a group that is missing while a credential is replaced is named, and found when it is back`() throws {
    let credential = store.folder.file("new")
    store.run("group", "create", "team")
    store.run("app", "issue", "api", "--output", store.folder.file("old"), "--group", "team:read")
    let (file, hidden) = (store.folder.file("store/groups/team/group.vault"), store.folder.file("hidden"))
    try FileManager.default.moveItem(atPath: file, toPath: hidden)
    let replaced = store.run("app", "issue", "api", "--output", credential, "--replace")
    #expect(replaced.status == 14 && replaced.errors.contains("wrote a credential of 'api', issue "))
    #expect(
      replaced.errors.contains("vault: warning: 'team' was not changed (status 14): 'team' was last seen at epoch"))
    #expect(replaced.errors.contains("or give it up (vault group accept team), and repeat the command\n"))
    #expect(store.run("app", "uninstall", "api").status == 14)
    try FileManager.default.moveItem(atPath: hidden, toPath: file)
    for command in ["verify", "status"] {
      let shown = store.run(command)
      #expect(shown.status == 14 && shown.errors.contains("'team' still admits issue 1 of 'api'"))
      #expect(shown.errors.contains("remove it: vault revoke team api; or"))
    }
    #expect(store.run("revoke", "team", "api").status == 0)
    #expect(store.run("verify").status == 0 && store.run("status").status == 0)
  }

  @Test
  func
    `a store on another machine verifies except for groups bound to this one, which end with 11 if they are named`()
    throws
  {
    store.run("set", "a", input: "anywhere")
    store.run("group", "create", "bound", "--this-device-only")
    store.run("set", "a", "-g", "bound", input: "here")
    #expect(store.folder.mode("state/device.key") == 0o600)
    #expect(store.run("verify").status == 0)
    store.environment["VAULT_STATE"] = store.folder.file("elsewhere")
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    #expect(unsafe mkdir(store.folder.file("elsewhere"), 0o700) == 0)
    let words = "locked: 'bound' opens only on the machine it was made on; this machine has no device key"
    #expect(store.run("get", "a").output == "anywhere")
    let get = store.run("get", "a", "-g", "bound")
    #expect(
      get.status == 11
        && get.errors.hasPrefix("vault: error: \(words)\nvault: hint: use it on that device; "))
    let verify = store.run("verify")
    #expect(verify.status == 0, "\(verify.errors)")
    #expect(verify.output.contains("bound\t\(words)\t"))
    #expect(verify.output.contains("default\tverified\t1\t"))
    #expect(store.run("verify", "bound").status == 11)
    let status = store.run("status")
    #expect(status.status == 0 && status.output.contains("\(words)\n"))
    #expect(store.run("group", "list").output == "bound\ndefault\n")
    #expect(store.run("group", "show", "bound").status == 11)
    let json = store.run("verify", "--json")
    #expect(
      json.status == 0
        && json.output.contains(
          "{\"group\":\"bound\",\"name\":\"bound\",\"verified\":false,\"problem\":{\"status\":11,")
    )
  }
}
