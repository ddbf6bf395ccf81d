import Foundation
import Glibc
import Testing

@testable import VaultCommands

/// What a group is made with: lifetime, device, Unix group.
@Suite struct GroupCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `a group tells its lifetime, what opens it, and its Unix group`() throws {
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
  func `what makes no sense together ends with 64 and changes nothing`(_ arguments: [String]) {
    let before = store.folder.mode("store/groups/default")
    #expect(Transcript(["group"] + arguments, environment: store.environment).status == 64)
    #expect(store.run("group", "list").output == "default\n")
    #expect(
      store.folder.mode("store/groups/default") == before && store.folder.mode("store") == 0o700)
  }

  @Test
  func
    `a store on another machine verifies but for groups of this one, which give 11 where they are named`()
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
    let words = "locked: 'bound' opens only on the machine it was made on; no device key is here"
    #expect(store.run("get", "a").output == "anywhere")
    let get = store.run("get", "a", "-g", "bound")
    #expect(
      get.status == 11
        && get.errors.hasPrefix("vault: error: \(words)\nvault: hint: use it there; "))
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
          "{\"group\":\"bound\",\"verified\":false,\"problem\":{\"status\":11,")
    )
  }
}
