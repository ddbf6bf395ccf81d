import Foundation
import Testing

@testable import VaultCommands

@Suite struct BackupCommandTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "a", input: "one")
    store.run("set", "a", input: "two")
    store.run("group", "create", "team")
    store.run("set", "large", "-g", "team", input: String(repeating: "x", count: 100_000))
  }

  private var backup: String { store.folder.file("backup") }

  @Test func `a backup is laid out like a store, and only its owner can read its files`() {
    let made = store.run("backup", backup)
    #expect(made.status == 0, "\(made.errors)")
    #expect(made.output == "default\tcopied\t1\t1\t3\nteam\tcopied\t1\t0\t2\nvault.owner\tcopied\t2\t2\t5\n")
    for folder in ["", "/identity", "/groups", "/groups/default", "/groups/team", "/groups/vault.owner"] {
      #expect(store.folder.mode("backup" + folder) == 0o700)
    }
    for file in ["identity/identity", "groups/default/group.vault", "groups/vault.owner/group.vault"] {
      #expect(store.folder.mode("backup/" + file) == 0o600)
    }
    #expect(store.folder.read("backup/identity/identity") == store.folder.read("store/identity/identity"))
    let names = try? FileManager.default.contentsOfDirectory(atPath: backup + "/groups/default")
    #expect(names == ["group.vault"])
  }

  @Test func `a group in JSON has its name under the same key as in group list`() throws {
    let verified = store.run("verify", "--json").output
    #expect(verified.contains(#"{"group":"team","name":"team","verified":true"#), "\(verified)")
    let copied = store.run("backup", backup, "--json").output
    #expect(copied.contains(#"{"group":"team","name":"team","result":"copied""#), "\(copied)")
    let restored = store.run("restore-backup", backup, "--json").output
    #expect(restored.contains(#"{"group":"team","name":"team","result":"unchanged"}"#), "\(restored)")
  }

  @Test func `a backup opens as a store in which everything verifies`() {
    store.run("backup", backup)
    store.environment["VAULT_HOME"] = backup
    store.environment["VAULT_STATE"] = store.folder.file("elsewhere")
    #expect(store.run("get", "a", "--key-file", store.keyFile).output == "two")
    #expect(store.run("get", "a", "--version", "1", "--key-file", store.keyFile).output == "one")
    #expect(store.run("get", "large", "-g", "team", "--key-file", store.keyFile).output.utf8.count == 100_000)
  }

  @Test func `a folder that is not empty or is inside the store is refused and unchanged`() {
    _ = store.folder.write("file", [1])
    let busy = store.run("backup", store.folder.path)
    #expect(busy.status == 22)
    #expect(store.run("backup", store.folder.file("file")).status == 22)
    for inside in ["store", "store/x", "store/groups/default/x"] {
      #expect(store.run("backup", store.folder.file(inside)).status == 64)
    }
    #expect(store.folder.names() == ["file", "key", "state", "store"])
    #expect(store.run("verify").status == 0)
  }

  @Test func `a backup goes into an empty folder of any mode, and a second one into it is refused`() throws {
    try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: false)
    #expect(store.run("backup", backup).status == 0)
    #expect(store.folder.mode("backup") == 0o700)
    let before = store.folder.read("backup/groups/default/group.vault")
    #expect(store.run("backup", backup).status == 22)
    #expect(store.folder.read("backup/groups/default/group.vault") == before)
  }

  @Test func `a group whose files are gone is named, and a backup without it does not count`() throws {
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/team"))
    let made = store.run("backup", backup)
    #expect(made.status == 14, "\(made.errors)")
    let results = made.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
    #expect(results == ["default", "team", "vault.owner"], "\(made.output)")
    #expect(store.run("status").output.contains("last backup: none"))
  }

  @Test(arguments: [false, true])
  func `a backup without the list of groups is no success`(hasWitness: Bool) throws {
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/vault.owner"))
    if !hasWitness { try FileManager.default.removeItem(atPath: store.folder.file("state/witness")) }
    let made = store.run("backup", backup)
    #expect(made.status == 14 && made.errors.contains("vault group accept vault.owner"), "\(made.errors)")
    let results = made.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
    // Only the registry could confirm groups that this machine never saw.
    #expect(results == (hasWitness ? ["default", "team", "vault.owner"] : []), "\(made.output)")
    #expect(store.run("status").output.contains("last backup: none"))
    // A new list is made of the groups, after it was shown.
    let accepted = store.run("group", "accept", "vault.owner", "--yes")
    #expect(accepted.status == 0 && accepted.errors.contains("group team\n"), "\(accepted.errors)")
    #expect(store.run("backup", store.folder.file("second")).status == 0)
    #expect(store.run("verify").status == 0)
  }

  @Test func `a group that does not verify is named, and the others are backed up`() throws {
    // These are the last bytes of the large value.
    var bytes = store.folder.read("store/groups/team/group.vault")
    store.run("group", "compact", "team", "--yes")
    bytes = store.folder.read("store/groups/team/group.vault")
    let index = try #require(bytes.indices.last { bytes[$0] != 0 })
    bytes[index - 40] ^= 1
    _ = store.folder.write("store/groups/team/group.vault", bytes)
    let made = store.run("backup", backup, "--json")
    #expect(made.status == 13)
    #expect(try readJSON(made.errors)["name"] as? String == "damaged")
    let groups = try #require(try readJSON(made.output)["groups"] as? [[String: Any]])
    #expect(groups.map { $0["result"] as? String } == ["copied", "failed", "copied"])
    #expect(!store.folder.exists("backup/groups/team"))
    #expect(store.folder.exists("backup/groups/default/group.vault"))
    #expect(try readJSON(store.run("status", "--json").output)["backup"] is NSNull)
  }

  @Test func `a backup into a folder that does not exist is a mistake in the path`() {
    let refused = store.run("backup", store.folder.file("mistyped/backup"))
    #expect(refused.status == 64)
    #expect(
      refused.errors == """
        vault: error: the folder above the backup's does not exist
        vault: hint: check the path; make that folder first, or mount the disk that it is on

        """)
    #expect(!store.folder.exists("mistyped"))
  }

  @Test func `status says when the last backup was made`() throws {
    #expect(store.run("status").output.contains("last backup: none\n"))
    store.run("backup", backup)
    let time = try #require(try readJSON(store.run("status", "--json").output)["backup"] as? String)
    #expect(time.hasPrefix("20") && time.hasSuffix("Z"))
    #expect(store.run("status").output.contains("last backup: \(time)\n"))
  }

  @Test func `only the owner can back up, restore and repair`() {
    #expect(store.run("app", "issue", "com.example.notes", "--output", store.folder.file("credential")).status == 0)
    #expect(store.run("grant", "team", "com.example.notes", "--rights", "write").status == 0)
    store.run("backup", backup)
    let credential = store.folder.file("credential")
    for arguments in [["backup", store.folder.file("other")], ["restore-backup", backup], ["repair", "team"]] {
      let refused = Transcript(arguments + ["--credential", credential], environment: store.environment)
      #expect(refused.status == 12, "\(arguments): \(refused.errors)")
    }
    #expect(!store.folder.exists("other") && !store.folder.exists("store/set-aside"))
  }

  @Test func `a group bound to this device is left out of a backup and named`() throws {
    #expect(store.run("group", "create", "here", "--this-device-only").status == 0)
    let made = store.run("backup", backup)
    #expect(made.status == 0)
    #expect(made.output.contains("here\tleft out: bound to a device\t"))
    #expect(!store.folder.exists("backup/groups/here"))
  }
}
