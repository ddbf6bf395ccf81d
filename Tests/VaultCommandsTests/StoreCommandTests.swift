import Foundation
import Testing
import Vault

@testable import VaultCommands

@Suite struct StoreCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  @Test func `without the state folder that remembers the key file, the error names the folder that does not`() {
    let state = store.folder.file("state")
    _ = store.shell(#"mv "$folder/state" "$folder/elsewhere""#)
    for makes in [false, true] {
      if makes { _ = store.shell(#"mkdir -m 700 "$folder/state""#) }
      let refused = store.run("list")
      #expect(refused.status == 11)
      #expect(
        refused.errors.contains("the one used before is not known: the state folder '\(state)' does not remember it\n"),
        "\(refused.errors)")
      #expect(refused.errors.contains("if another state folder remembers it, set VAULT_STATE;"))
    }
    store.environment["VAULT_STATE"] = store.folder.file("elsewhere")
    #expect(store.run("list").status == 0)
  }

  @Test func `init makes a key file for its owner alone, and a store only once`() {
    #expect(store.folder.mode("key") == 0o600)
    #expect(store.folder.read("key").count == 32)
    #expect(store.folder.mode("store") == 0o700)
    let again = store.run("init", "--key-file", store.keyFile)
    #expect(again.status == 22)
    #expect(store.run("list").status == 0)
  }

  @Test(arguments: ["VAULT_HOME", "VAULT_STATE", "VAULT_KEY_FILE", "--key-file"], ["~/s3cret", "~root/s3cret", "~"])
  func `init makes nothing in a folder that is called '~' because of quotes`(name: String, path: String) {
    var environment = store.environment
    environment["VAULT_HOME"] = store.folder.file("new")
    if name.hasPrefix("VAULT") { environment[name] = path }
    let option =
      name == "--key-file" ? [name, path] : name == "VAULT_KEY_FILE" ? [] : ["--key-file", store.keyFile]
    for recover in [[], ["--recover", store.folder.file("backup")]] {
      let refused = Transcript(["init"] + option + recover, environment: environment)
      let words = "vault: error: \(name) begins with '~', which is not the home folder here\n"
      #expect(refused.status == 64 && refused.errors.hasPrefix(words), "\(refused.errors)")
      #expect(!refused.errors.contains("s3cret") && !store.folder.exists("new"))
    }
  }

  @Test func `a missing key file is named if it is the remembered one, and not if the command line named it`() {
    let gone = store.folder.file("gone")
    for command in [["list"], ["status"], ["read", "vault:///a"], ["rotate-value", "a", "--", "true"]] {
      let named = Transcript(
        [command[0], "--key-file", gone] + command.dropFirst(), environment: store.environment)
      let words = "locked: the key file does not exist\n"
      #expect(named.status == 11 && named.errors.contains(words), "\(named.errors)")
      #expect(!named.output.contains(gone))
      var environment = store.environment
      environment["VAULT_KEY_FILE"] = gone
      let variable = Transcript(command, environment: environment)
      #expect(variable.status == 11 && variable.errors.contains(words), "\(variable.errors)")
    }
    _ = store.shell(#"mv "$folder/key" "$folder/elsewhere""#)
    let remembered = store.run("list")
    #expect(remembered.status == 11)
    #expect(remembered.errors.hasPrefix("vault: error: locked: the key file '\(store.keyFile)' does not exist\n"))
  }

  @Test func `every command that needs a store reports a missing one`() {
    store.environment["VAULT_HOME"] = store.folder.file("nowhere")
    // The screen needs a terminal first, allow a project's file, and join makes a store.
    let needNone = ["vault init", "vault paths", "vault completions", "vault pick", "vault allow", "vault join"]
    for command in NamedCommand.leaves
    where !needNone.contains(command.path) && !command.path.hasPrefix("vault archive")
      && !command.path.hasPrefix("vault credential")
    {
      let words = command.path.split(separator: " ").dropFirst().map(String.init)
      let takesNoName = [
        "vault status", "vault group list", "vault passphrase change", "vault app list", "vault exposure",
        "vault slot list", "vault slot add passphrase", "vault slot add key-file", "vault slot add recovery",
        "vault slot add systemd", "vault slot remove", "vault recovery create", "vault identity show", "vault run",
        "vault read", "vault unlock", "vault lock", "vault import", "vault export", "vault inject",
        "vault env", "vault expiring", "vault service enroll", "vault service show", "vault service revoke",
        "vault audit", "vault audit verify", "vault audit begin", "vault remote list", "vault ssh list",
        "vault askpass list",
      ].contains(command.path)
      let others = [
        "vault grant": ["b", "--rights", "read"], "vault revoke": ["b"], "vault group share": ["--private"],
        "vault run": ["--set", "A=vault:///a", "--", "true"], "vault read": ["vault:///a"],
        "vault inject": ["-i", store.folder.write("template", Array("{{ vault:///a }}".utf8))],
        "vault import": ["-", "--from", "dotenv"], "vault copy": ["--as", "b"], "vault move": ["--as", "b"],
        "vault export": ["--to", "json", "-g", "default", "--yes-print-secrets"],
        "vault app issue": ["--output", store.folder.file("credential")],
        "vault slot add key-file": ["--new-key-file", store.folder.file("new")],
        "vault slot add systemd": ["--output", store.folder.file("new")], "vault slot remove": ["1"],
        "vault rotate-value": ["--", "true"], "vault app bind": ["--unit", "b"], "vault app unbind": ["--all"],
        "vault service enroll": ["--output", store.folder.file("credential")], "vault remote add": ["etcd://b:1"],
        "vault group publish": ["--remote", "b"], "vault askpass add": ["b"],
      ]
      let arguments = words + (takesNoName ? [] : ["a"]) + (others[command.path] ?? [])
      let transcript = Transcript(arguments, environment: store.environment)
      #expect(transcript.status == 21, "\(arguments): \(transcript.errors)")
      #expect(transcript.output.isEmpty)
      #expect(!store.folder.exists("nowhere"))
    }
  }

  @Test func `a group can be made, shown, listed and removed`() throws {
    #expect(store.run("group", "create", "team.shared", "--keep", "3").status == 0)
    #expect(store.run("group", "create", "team.shared").status == 22)
    #expect(store.run("group", "list").output == "default\nteam.shared\n")
    #expect(store.run("group", "list", "--json").output == "[{\"name\":\"default\"},\n{\"name\":\"team.shared\"}]\n")
    let shown = try readJSON(store.run("group", "show", "team.shared", "--json").output)
    #expect(shown["keep"] as? Int == 3)
    #expect(shown["members"] as? [[String: String]] == [["member": "owner", "rights": "write"]])
    #expect(store.run("group", "show", "team.shared").output.contains("keeps: 3 versions of an item\n"))
    for value in 1...5 { store.run("set", "a", "-g", "team.shared", input: "\(value)") }
    #expect(store.run("history", "a", "-g", "team.shared").output.split(separator: "\n").count == 3)
    #expect(store.run("group", "remove", "team.shared", "--yes").status == 0)
    #expect(store.run("group", "list").output == "default\n")
    #expect(store.run("get", "a", "-g", "team.shared").status == 10)
  }

  @Test(arguments: ["Team", "a..b", ".a", "vault.x", "", "a/b"]) func `an invalid group name is refused`(
    name: String
  ) {
    let transcript = store.run("group", "create", name)
    #expect(transcript.status == 64)
    #expect(store.run("group", "list").output == "default\n")
  }

  @Test(arguments: ["0", "1001", "-1", "x"]) func `a group keeps 1 to 1,000 versions`(count: String) {
    #expect(store.run("group", "create", "team", "--keep=\(count)").status == 64)
  }

  @Test func `compacting forgets removed items`() {
    store.run("set", "a", input: "x")
    store.run("set", "b", input: "y")
    store.run("remove", "a")
    #expect(store.run("group", "compact", "default", "--yes").errors == "1 removed item was deleted\n")
    #expect(store.run("history", "a").status == 10)
    #expect(store.run("get", "b").output == "y")
  }

  @Test func `a vanished group is reported until that is accepted`() throws {
    store.run("group", "create", "team")
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/team"))
    #expect(store.run("list", "-g", "team").status == 14)
    #expect(store.run("group", "create", "team").status == 14)
    let verify = store.run("verify", "--json")
    #expect(verify.status == 14)
    #expect(
      verify.output.contains("{\"group\":\"team\",\"name\":\"team\",\"verified\":false,\"problem\":{\"status\":14,"))
    #expect(try readJSON(verify.errors)["status"] as? Int == 14)
    store.run("set", "a", input: "x")
    let lists = [["list", "--all"], ["search", "a"], ["expiring"]]
    let ofGroup = [
      ["env", "-g", "team"], ["group", "show", "team"], ["watch", "team", "--", "/bin/true"], ["status"],
    ]
    for command in lists + ofGroup {
      let told = Transcript(command, environment: store.environment)
      #expect(told.status == 14, "\(command): \(told.errors)")
      #expect((told.output + told.errors).contains("its file is gone"), "\(command): \(told.errors)")
    }
    #expect(store.run("list", "--all").output.hasPrefix("default\ta\t"))
    // Without an answer the group is not given up.
    let unasked = store.run("group", "accept", "team")
    #expect(unasked.status == 64 && unasked.errors.contains("--yes"), "\(unasked.errors)")
    #expect(store.run("verify").status == 14)
    #expect(store.run("group", "accept", "team", "--yes").status == 0)
    #expect(store.run("verify").status == 0)
    #expect(store.run("group", "create", "team").status == 0)
  }

  @Test func `a store without its folder of groups is damaged, and a backup brings the groups back`() throws {
    let backup = store.folder.file("backup")
    store.run("set", "a", input: "x")
    store.run("backup", backup)
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups"))
    for command in [["status"], ["verify"], ["backup", backup + "2"], ["list", "--all"]] {
      let told = Transcript(command, environment: store.environment)
      #expect(told.status == 13 && told.errors.contains("vault restore-backup DIR\n"), "\(command): \(told.errors)")
    }
    #expect(store.run("restore-backup", backup).status == 0)
    #expect(store.run("get", "a").output == "x")
  }

  @Test func `a store that lost its list of groups says so`() throws {
    store.run("set", "a", input: "x")
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/vault.owner"))
    #expect(store.run("status").output.contains("vault.owner\t\t\t\t'vault.owner' was last seen"))
    let list = store.run("list", "--all")
    #expect(list.status == 14 && list.output.hasPrefix("default\ta\t"), "\(list.errors)")
    #expect(list.errors.contains("'vault.owner' was skipped"))
  }

  @Test func `the identity of a backup opens a store that lost its own, with everything written since`() {
    store.run("backup", store.folder.file("backup"))
    store.run("set", "a", input: "newer")
    for damage in [#"rm -r "$folder/store/identity""#, #"truncate -s 9 "$folder/store/identity/identity""#] {
      _ = store.shell(damage)
      let refused = store.run("get", "a")
      let hint = "cp -a BACKUP/identity \(store.folder.file("store"))/;"
      #expect(refused.status == 13 && refused.errors.contains(hint), "\(refused.errors)")
      let (identity, paths) = (store.run("identity", "show"), store.run("paths"))
      #expect(identity.status == 13 && identity.errors.contains(hint), "\(identity.errors)")
      #expect(paths.status == 0 && paths.output.contains("\nidentity\t"), "\(paths.errors)")
      _ = store.shell(#"cp -a "$folder/backup/identity" "$folder/store/""#)
      #expect(store.run("get", "a").output == "newer")
    }
  }

  @Test func `status shows each group's state`() throws {
    store.run("set", "a", input: "x")
    let status = try readJSON(store.run("status", "--json").output)
    #expect(status["locked"] as? Bool == false)
    #expect(status["home"] as? String == store.folder.file("store"))
    let group = try #require((status["groups"] as? [[String: Any]])?.first)
    #expect(group["name"] as? String == "default")
    #expect(group["verified"] as? Bool == true)
    #expect(group["items"] as? Int == 1)
    #expect(store.run("status").output.contains("locked: no\ndefault\t1\t2\t1\tverified\n"))
  }

  @Test func `status ends with 13 and says so while the witness is unusable, as verify does`() throws {
    store.run("set", "a", input: "x")
    for damage in [
      "head -c 512 /dev/urandom >$(find state/witness -type f -name default)", "chmod 777 state/witness",
      "chmod 777 state", "rm -r state",
    ] {
      _ = store.shell("cp -a \"$folder/state\" \"$folder/kept\" && cd \"$folder\" && \(damage)")
      let status = store.run("status", "--json", "--key-file", store.keyFile)
      #expect(status.status == 13, "\(damage): \(status)")
      let group = try #require((readJSON(status.output)["groups"] as? [[String: Any]])?.first)
      let problem = try #require(group["problem"] as? [String: Any], "\(damage)")
      #expect(group["verified"] as? Bool == false && problem["level"] as? String == "witness")
      let error = try readJSON(status.errors)
      #expect(error["status"] as? Int == 13)
      #expect(error["message"] as? String == problem["message"] as? String)
      let verified = store.run("verify", "--json", "--key-file", store.keyFile)
      #expect(verified.status == 13)
      #expect(try readJSON(verified.errors)["message"] as? String == problem["message"] as? String, "\(damage)")
      _ = store.shell(#"rm -rf "$folder/state" && mv "$folder/kept" "$folder/state""#)
      #expect(store.run("status").status == 0)
    }
  }

  @Test func `the hints of an unusable witness say what to look at`() {
    store.run("set", "a", input: "x")
    _ = store.shell(#"chmod 777 "$folder/state/witness""#)
    let written = store.run("set", "a", input: "y")
    #expect(written.status == 13 && written.errors.contains("open to others (chmod -R go=)"), "\(written.errors)")
    #expect(written.errors.contains("vault group accept default\n"))
    let accepted = store.run("group", "accept", "default", "--yes")
    #expect(accepted.status == 23 && accepted.errors.contains("to see the path: vault paths"), "\(accepted.errors)")
  }

  @Test func `the hint of a file in the place of a store is to name the store's folder`() {
    store.environment["VAULT_HOME"] = store.keyFile
    for command in [["list"], ["init", "--key-file", store.folder.file("other")]] {
      let refused = Transcript(command, environment: store.environment)
      #expect(refused.status == 13)
      #expect(
        refused.errors.contains("hint: if this is not the store's folder, set VAULT_HOME;"), "\(refused.errors)")
    }
  }

  @Test func `a store that no passphrase opens is not said to be unlocked by vault unlock`() {
    store.run("recovery", "create")
    #expect(store.run("slot", "remove", "1", "--yes").status == 0)
    let locked = store.run("get", "a")
    #expect(locked.status == 11)
    let hint = "vault: hint: name what opens it: --key-file FILE, --credential FILE or --recovery-fd N\n"
    #expect(locked.errors.hasSuffix(hint), "\(locked.errors)")
  }

  @Test func `status of a locked store shows what can be read, and ends with 11`() throws {
    try FileManager.default.removeItem(atPath: store.keyFile)
    let status = store.run("status", "--json")
    #expect(status.status == 11)
    let shown = try readJSON(status.output)
    #expect(shown["locked"] as? Bool == true)
    #expect((shown["groups"] as? [[String: Any]])?.first?["verified"] as? Bool == false)
    #expect(try readJSON(status.errors)["name"] as? String == "locked")
    #expect(store.run("list").status == 11)
    #expect(store.run("group", "list").output == "default\n")
  }

  @Test func `the error for a damaged group names the check that failed`() throws {
    store.run("set", "a", input: "x")
    let path = "store/groups/default/group.vault"
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.folder.file(path + suffix)) }
    _ = store.folder.write(path, [UInt8](repeating: 0x61, count: 8_192))
    for command in [["get", "a"], ["list"], ["set", "a"], ["status"], ["verify"]] {
      let transcript = Transcript(command + ["--json"], environment: store.environment)
      #expect(transcript.status == 13, "\(command)")
      let error = try readJSON(transcript.errors)
      #expect(error["name"] as? String == "damaged")
      #expect(error["level"] is String)
    }
    #expect(store.folder.read(path) == [UInt8](repeating: 0x61, count: 8_192))
  }

  @Test func `every command accepts a source for the key, and then tries no other`() {
    store.run("set", "a", input: "x")
    #expect(store.run("get", "a", "--key-file", store.keyFile).output == "x")
    let wrong = store.folder.write("wrong", [UInt8](repeating: 1, count: 32))
    #expect(store.run("get", "a", "--key-file", wrong).status == 16)
    store.environment["VAULT_KEY_FILE"] = wrong
    #expect(store.run("get", "a").status == 16)
    #expect(store.run("get", "a", "--key-file", store.keyFile).output == "x")
    let open = store.folder.write("open", [UInt8](repeating: 1, count: 32), mode: 0o644)
    #expect(store.run("get", "a", "--key-file", open).status == 11)
    let both = store.run("get", "a", "--key-file", store.keyFile, "--passphrase-fd", "0")
    #expect(
      both.errors.hasPrefix(
        "vault: error: --key-file and --passphrase-fd exclude each other\nusage: vault get NAME[#FIELD] "))
    #expect(both.status == 64)
  }
}
