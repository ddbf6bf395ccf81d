import Glibc
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct StoreLocationTests {
  private let ownerKey = PublicKey([UInt8](countingFrom: 0xa0, count: 32))!
  private let shortName = "a0a1a2a3a4a5a6a7a8a9aaabacadaeaf"

  private func expect(
    _ environment: [String: String], user: uid_t = 1000, home: String, state: String?,
    homeFolder: String? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let location = try StoreLocation(environment: environment, user: user) { asked in
      #expect(asked == user)
      return homeFolder
    }
    #expect(location.home == home, sourceLocation: sourceLocation)
    #expect(location.stateFolder(of: ownerKey) == state, sourceLocation: sourceLocation)
  }

  @Test func `a user's store is in their home folder`() throws {
    try expect(["HOME": "/home/u"], home: "/home/u/.local/share/vault", state: "/home/u/.local/state/vault")
    try expect(["HOME": "/"], home: "/.local/share/vault", state: "/.local/state/vault")
  }

  @Test func `absolute XDG folders take precedence over the home folder`() throws {
    try expect(
      ["HOME": "/home/u", "XDG_DATA_HOME": "/data", "XDG_STATE_HOME": "/state"], home: "/data/vault",
      state: "/state/vault")
    try expect(
      ["HOME": "/home/u", "XDG_DATA_HOME": "data", "XDG_STATE_HOME": ""], home: "/home/u/.local/share/vault",
      state: "/home/u/.local/state/vault")
  }

  @Test func `root's store is in the system's folders`() throws {
    try expect(
      ["HOME": "/root", "XDG_DATA_HOME": "/data", "XDG_STATE_HOME": "/state"], user: 0, home: "/var/lib/vault",
      state: "/var/lib/vault-state")
    try expect(["VAULT_HOME": "/v"], user: 0, home: "/v", state: "/var/lib/vault-state/\(shortName)")
  }

  @Test func `a store that is named has its own state folder, named by its owner's key`() throws {
    try expect(
      ["HOME": "/home/u", "VAULT_HOME": "/v"], home: "/v", state: "/home/u/.local/state/vault/\(shortName)")
    try expect(
      ["HOME": "/home/u", "VAULT_HOME": "/v", "XDG_STATE_HOME": "/state"], home: "/v",
      state: "/state/vault/\(shortName)")
  }

  @Test func `the store at the usual place has the same state folder if it is named`() throws {
    for name in ["/home/u/.local/share/vault", "/home/u/.local/share/vault/"] {
      try expect(
        ["HOME": "/home/u", "VAULT_HOME": name], home: "/home/u/.local/share/vault", state: "/home/u/.local/state/vault"
      )
    }
    try expect(["VAULT_HOME": "/var/lib/vault"], user: 0, home: "/var/lib/vault", state: "/var/lib/vault-state")
    // A state folder for this owner alone, which an earlier build made, stays in use.
    let base = "/tmp/\(UInt64.random(in: .min ... .max))"
    let own = base + "/vault/" + shortName
    for folder in [base, base + "/vault", own] { try #require(unsafe mkdir(folder, 0o700) == 0) }
    defer { for folder in [own, base + "/vault", base] { unsafe rmdir(folder) } }
    try expect(
      ["XDG_DATA_HOME": "/data", "XDG_STATE_HOME": base, "VAULT_HOME": "/data/vault"], home: "/data/vault", state: own)
  }

  @Test func `a state folder that is named is used as given`() throws {
    try expect(["VAULT_HOME": "/v/", "VAULT_STATE": "/s//"], home: "/v", state: "/s")
    try expect(["HOME": "/home/u", "VAULT_STATE": "/s"], home: "/home/u/.local/share/vault", state: "/s")
    try expect(["HOME": "/home/u", "VAULT_STATE": "/s"], user: 0, home: "/var/lib/vault", state: "/s")
  }

  @Test func `an empty variable counts as unset`() throws {
    try expect(
      ["HOME": "/home/u", "VAULT_HOME": "", "VAULT_STATE": ""], home: "/home/u/.local/share/vault",
      state: "/home/u/.local/state/vault")
  }

  @Test func `a relative path starts at the current folder`() throws {
    let current = unsafe String(cString: getcwd(nil, 0))
    try expect(["VAULT_HOME": "v", "VAULT_STATE": "s/t"], home: "\(current)/v", state: "\(current)/s/t")
  }

  @Test func `the user database is read only if HOME is needed and not set`() throws {
    try expect([:], home: "/list/.local/share/vault", state: "/list/.local/state/vault", homeFolder: "/list")
    try expect(
      ["HOME": "relative"], home: "/list/.local/share/vault", state: "/list/.local/state/vault", homeFolder: "/list")
    for environment in [["HOME": "/home/u"], ["VAULT_HOME": "/v", "VAULT_STATE": "/s"]] {
      _ = try StoreLocation(environment: environment, user: 1000) { _ in
        Issue.record("the list of users was asked")
        return nil
      }
    }
  }

  @Test func `without a home folder there is no store, or no state folder`() throws {
    #expect(throws: VaultError.noStore(path: "")) { try StoreLocation(environment: [:], user: 1000) { _ in nil } }
    try expect(["VAULT_HOME": "/v"], home: "/v", state: nil)
    try expect(["XDG_DATA_HOME": "/d"], home: "/d/vault", state: nil)
  }

  @Test func `the user database knows root and knows no user with an unused number`() {
    #expect(UnixUser.homeFolder(of: 0)?.hasPrefix("/") == true)
    #expect(UnixUser.homeFolder(of: 3_999_999_999) == nil)
  }

  @Test func `the state folder is accessible to its owner alone`() throws {
    let temporary = TemporaryFolder()
    let location = try StoreLocation(environment: ["VAULT_HOME": "/v", "VAULT_STATE": temporary.file("a/state")])
    try location.makeStateFolder(of: ownerKey)
    try location.makeStateFolder(of: ownerKey)
    #expect(temporary.mode("a") == 0o700)
    #expect(temporary.mode("a/state") == 0o700)
    temporary.write("file", [])
    let blocked = try StoreLocation(environment: ["VAULT_HOME": "/v", "VAULT_STATE": temporary.file("file/state")])
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .state, detail: "it is not the kind of file or folder that belongs here")
    ) {
      try blocked.makeStateFolder(of: ownerKey)
    }
  }

  @Test func `a group's folder is in the folder of groups`() throws {
    let location = try StoreLocation(environment: ["VAULT_HOME": "/v"])
    #expect(location.groupFolder("team.shared") == "/v/groups/team.shared")
  }
}
