import Foundation
import Glibc
import Testing

@testable import VaultCommands

@Suite struct RestoreBackupTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.run("set", "a", input: "one")
    store.run("group", "create", "team")
    store.run("set", "b", "-g", "team", input: "two")
    let made = store.run("backup", backup)
    try #require(made.status == 0, "\(made.errors)")
  }

  private var backup: String { store.folder.file("backup") }

  private func results(_ transcript: Transcript) throws -> [String: String] {
    let groups = try #require(try readJSON(transcript.output)["groups"] as? [[String: Any]])
    return Dictionary(uniqueKeysWithValues: groups.map { ($0["group"] as! String, $0["result"] as! String) })
  }

  /// Simulates another machine: the store has the identity and no groups, and the state folder is empty.
  private func moveToNewMachine() throws {
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    let copied = store.shell(
      #"mkdir -m 700 "$folder/new" "$folder/new/groups" && cp -a "$folder/backup/identity" "$folder/new""#)
    try #require(copied.status == 0, "\(copied.errors)")
  }

  @Test func `a group that already equals the backup is unchanged`() throws {
    let before = store.folder.read("store/groups/default/group.vault")
    let restored = store.run("restore-backup", backup, "--json")
    #expect(restored.status == 0)
    #expect(try Set(results(restored).values) == ["unchanged"])
    #expect(store.folder.read("store/groups/default/group.vault") == before)
    #expect(!store.folder.exists("store/set-aside"))
  }

  @Test func `a backup that is not there is not called damaged`() throws {
    var recovering = store.environment
    recovering["VAULT_HOME"] = store.folder.file("new")
    for command in [["restore-backup", "s3cret"], ["init", "--key-file", store.keyFile, "--recover", "s3cret"]] {
      let refused = Transcript(command, environment: command[0] == "init" ? recovering : store.environment)
      #expect(refused.status == 13)
      #expect(
        refused.errors == """
          vault: error: there is no backup: no such file or folder
          vault: hint: nothing was changed; name a folder that vault backup made

          """)
      let report = try readJSON(store.run("restore-backup", "s3cret", "--json").errors)
      #expect(report["level"] as? String == "backup" && report["status"] as? Int == 13)
    }
    let other = store.run("restore-backup", store.folder.path)
    #expect(other.errors.hasPrefix("vault: error: damaged or altered (backup: "), "\(other.errors)")
  }

  @Test(arguments: ["restore-backup", "init"])
  func `an identity that is missing in the backup is not taken for the store's`(command: String) {
    var environment = store.environment
    environment["VAULT_KEY_FILE"] = store.keyFile
    if command == "init" { environment["VAULT_HOME"] = store.folder.file("new") }
    let arguments = command == "init" ? ["init", "--recover", backup] : [command, backup]
    _ = store.shell(#"rm -r "$folder/backup/identity""#)
    let refused = Transcript(arguments, environment: environment)
    #expect(refused.status == 13)
    #expect(
      refused.errors.hasPrefix("vault: error: the backup is damaged or was altered (identity: "), "\(refused.errors)")
    #expect(refused.errors.contains(": cp -a OTHER/identity \(backup)/\n"), "\(refused.errors)")
    #expect(store.shell(#"cp -a "$folder/store/identity" "$folder/backup/""#).status == 0)
    #expect(Transcript(arguments, environment: environment).status == 0)
  }

  @Test func `a backup that others can write is named with its path, and not taken for the store`() {
    _ = store.shell(#"chmod 777 "$folder/backup""#)
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    var recovering = store.environment
    recovering["VAULT_HOME"] = store.folder.file("new")
    for refused in [
      store.run("restore-backup", backup), Transcript(["init", "--recover", backup], environment: recovering),
    ] {
      #expect(
        refused.errors == """
          vault: error: the system's permissions do not allow it: the backup is open to other users (mode 777)
          vault: hint: it must be yours alone: chmod -R go= \(backup); a FAT or exFAT disk keeps no modes: keep a tar file there, and unpack that on another disk

          """)
      #expect(refused.status == 12)
    }
    #expect(store.run("backup", store.keyFile).status == 22)
    _ = store.shell(#"chmod -R go= "$folder/backup" && chmod 775 "$folder/store""#)
    let open = store.run("list")
    #expect(open.status == 12 && open.errors.contains("chmod go-w \(store.folder.file("store"))"), "\(open.errors)")
  }

  @Test func `a group that neither the backup nor the store has is named, and the status is 10`() throws {
    _ = store.shell(#"rm -r "$folder/backup/groups/team""#)
    #expect(store.run("restore-backup", backup).status == 0)
    let absent = store.run("restore-backup", backup, "team")
    #expect(absent.status == 10 && absent.errors.contains("the backup has no such group"), "\(absent.errors)")
    _ = store.shell(#"rm -r "$folder/store/groups/team""#)
    let restored = store.run("restore-backup", backup)
    #expect(restored.status == 10 && restored.output.contains("team\tnot in the backup"), "\(restored.output)")
    #expect(!restored.errors.contains("stays closed"), "\(restored.errors)")
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    let recovered = store.run("init", "--recover", backup, "--key-file", store.keyFile)
    #expect(recovered.status == 10 && recovered.errors.contains("neither in the backup nor in the store: team"))
    #expect(store.run("get", "a").output == "one")
  }

  @Test func `a recovery says which groups stay closed until they are accepted`() throws {
    store.run("set", "a", input: "newer")
    _ = store.shell(#"mv "$folder/store" "$folder/lost""#)
    let recovered = store.run("init", "--recover", backup, "--key-file", store.keyFile)
    #expect(recovered.status == 0, "\(recovered.errors)")
    #expect(recovered.errors.contains("it stays closed until you run: vault group accept default"))
  }

  @Test func `a backup without the list of groups begins no recovery`() throws {
    _ = store.shell(#"rm -r "$folder/backup/groups/vault.owner""#)
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    #expect(store.run("init", "--recover", backup, "--key-file", store.keyFile).status == 13)
    #expect(!store.folder.exists("new"))
  }

  @Test func `a restoration of everything does not put back the record of decisions`() throws {
    #expect(store.run("audit", "begin").status == 0)
    let backup = store.folder.file("with record")
    #expect(store.run("backup", backup).status == 0)
    #expect(store.run("group", "create", "later").status == 0)
    store.run("set", "a", input: "newer")
    let replaced = store.run("restore-backup", backup, "--replace", "--json")
    #expect(replaced.status == 0, "\(replaced.errors)")
    #expect(try results(replaced)["vault.audit"] == "kept" && results(replaced)["default"] == "restored")
    #expect(store.run("audit").output.contains("later"))
    let named = store.run("restore-backup", backup, "vault.audit", "--replace", "--json")
    #expect(try results(named) == ["vault.audit": "restored"])
  }

  @Test func `a newer state is replaced only on request, and its files are kept`() throws {
    store.run("set", "a", input: "newer")
    let refused = store.run("restore-backup", backup)
    #expect(refused.status == 22)
    #expect(refused.errors.contains("keep the current files aside: vault restore-backup \(backup) default --replace\n"))
    #expect(store.run("get", "a").output == "newer")
    let replaced = store.run("restore-backup", backup, "--replace", "--json")
    #expect(replaced.status == 0)
    #expect(try results(replaced) == ["default": "restored", "team": "unchanged", "vault.owner": "unchanged"])
    let groups = try #require(try readJSON(replaced.output)["groups"] as? [[String: Any]])
    let kept = try #require(groups[0]["kept"] as? String)
    // Putting the kept files back makes their items readable.
    #expect(store.run("get", "a").status == 14)
    let back = store.shell(
      #"rm -r "$folder/store/groups/default" && mv "\#(kept)" "$folder/store/groups/default" && "$vault" get a"#)
    #expect(back.output == "newer", "\(back.errors)")
  }

  @Test func `a restoration of a newer group on a machine that has seen nothing is done once`() throws {
    store.run("set", "b", "-g", "team", input: "newer")
    store.run("group", "rotate", "team")
    try FileManager.default.removeItem(atPath: store.folder.file("state"))
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    let first = store.run("restore-backup", backup, "team", "--replace")
    #expect(first.status == 0 && first.output.contains("restored, with a new key"))
    let restored = store.folder.read("store/groups/team/group.vault")
    let again = store.run("restore-backup", backup, "team", "--replace", "--json")
    #expect(try again.status == 0 && results(again) == ["team": "unchanged"])
    #expect(store.folder.read("store/groups/team/group.vault") == restored)
    #expect(store.run("get", "b", "-g", "team").output == "two")
  }

  @Test func `if the list of groups has diverged, a group that was never seen here says so`() throws {
    _ = store.shell(#"cp -a "$folder/store" "$folder/other"; cp -a "$folder/state" "$folder/other-state""#)
    var elsewhere = store.environment
    elsewhere["VAULT_HOME"] = store.folder.file("other")
    elsewhere["VAULT_STATE"] = store.folder.file("other-state")
    for name in ["late", "later"] {
      #expect(Transcript(["group", "create", name], environment: elsewhere).status == 0)
    }
    store.run("group", "create", "mine")
    _ = store.shell(
      #"cd "$folder/other/groups" && rm -r ../../store/groups/vault.owner && cp -a vault.owner late ../../store/groups/"#
    )
    let verified = store.run("verify")
    #expect(verified.status == 13)
    #expect(
      verified.output.contains("late\t'late' is not confirmed by the list of groups, vault.owner: it does not open\t"),
      "\(verified.output)")
    #expect(!verified.output.contains("(witness") && verified.output.contains("'vault.owner' (epoch "))
    #expect(
      verified.errors.contains("if vault verify refuses vault.owner, too, begin with that;"), "\(verified.errors)")
    #expect(store.run("group", "accept", "vault.owner", "--yes").status == 0)
    #expect(store.run("verify", "late").status == 0)
  }

  @Test func `a restored list of groups that is older says how it opens again, and so do groups that it lacks`() {
    store.run("group", "create", "new")
    _ = store.shell(#"cd "$folder/store/groups/vault.owner" && rm -f group.vault-wal && echo > group.vault"#)
    let restored = store.run("restore-backup", backup, "vault.owner", "--replace")
    #expect(restored.errors.contains("it stays closed until you run: vault group accept vault.owner\n"))
    #expect(store.run("group", "accept", "vault.owner", "--yes").status == 0)
    let verified = store.run("verify")
    #expect(verified.status == 13)
    #expect(
      verified.errors.contains(
        "if you put another copy of the group or of vault.owner there yourself: vault group accept new;"))
    #expect(store.run("group", "accept", "new", "--yes").status == 0)
    #expect(store.run("verify").status == 0)
  }

  /// Makes a backup in which the application web is in the group team, and then puts api there in its place.
  private func replaceMember() throws -> String {
    let backup = store.folder.file("with web")
    for app in ["web", "api"] { store.run("app", "issue", app, "--output", store.folder.file(app)) }
    store.run("grant", "team", "web", "--rights", "read")
    try #require(store.run("backup", backup).status == 0)
    store.run("revoke", "team", "web")
    store.run("grant", "team", "api", "--rights", "read")
    store.run("set", "c", "-g", "team", input: "newer")
    return backup
  }

  @Test func `a dry run says what would come back and who would lose access, and changes nothing`() throws {
    let backup = try replaceMember()
    #expect(store.run("audit", "begin").status == 0)
    let before = try readJSON(store.run("group", "show", "team", "--json").output)["epoch"] as? Int
    let records = store.run("audit").output
    let planned = store.run("restore-backup", backup, "team", "--replace", "--dry-run")
    #expect(planned.status == 0 && planned.output == "team\twould be restored\t1\t3\towner\n", "\(planned)")
    #expect(planned.errors.hasPrefix("restoring 'team':\nthe state of "), "\(planned.errors)")
    for words in ["with 1 item,", "comes back: owner", "stays out: web (issue 1)", "loses access: api (issue 1)"] {
      #expect(planned.errors.contains(words), "\(planned.errors)")
    }
    #expect(try readJSON(store.run("group", "show", "team", "--json").output)["epoch"] as? Int == before)
    #expect(store.run("audit").output == records && !store.folder.exists("store/set-aside"))
    let json = store.run("restore-backup", backup, "--dry-run", "--json")
    #expect(json.status == 22)
    #expect(
      try results(json) == [
        "api": "unchanged", "default": "unchanged", "team": "failed", "vault.owner": "kept", "web": "unchanged",
      ], "\(json.output)")
    #expect(store.run("restore-backup", backup, "nothing", "--dry-run").status == 10)
    #expect(store.run("get", "c", "-g", "team").output == "newer")
  }

  @Test func `a dry run says of the list of groups what the restoration does, also if a page is damaged`() throws {
    func owner(_ more: String...) throws -> String? {
      let command = ["restore-backup", backup, "--json"] + more
      return try results(Transcript(command, environment: store.environment))["vault.owner"]
    }
    #expect(try owner("--dry-run") == "unchanged")
    let json = try readJSON(store.run("restore-backup", backup, "--dry-run", "--json").output)
    let groups = try #require(json["groups"] as? [[String: Any]])
    #expect(groups.map { $0["name"] as? String } == ["default", "team", "vault.owner"])
    store.run("group", "create", "new")
    #expect(try owner("--dry-run") == "kept")
    // A backup has the group in one file.
    #expect(store.run("backup", store.folder.file("newer")).status == 0)
    let bytes = store.folder.read("newer/groups/vault.owner/group.vault")
    var unread = 0
    for page in 1..<bytes.count / 4_096 {
      var damaged = bytes
      for index in page * 4_096..<(page + 1) * 4_096 { damaged[index] ^= 0x55 }
      store.shell(
        #"cd "$folder" && rm -r store/groups/vault.owner && cp -a newer/groups/vault.owner store/groups"#)
      _ = store.folder.write("store/groups/vault.owner/group.vault", damaged)
      let planned = try owner("--dry-run")
      #expect(try planned == owner(), "page \(page)")
      if planned == "failed", store.run("group", "list").status == 0 { unread += 1 }
    }
    #expect(unread > 0)
  }

  @Test func `on a terminal, groups are replaced only after a yes, or with --yes`() throws {
    let backup = try replaceMember()
    func restore(_ arguments: String...) -> (status: Int32, shown: String) {
      let terminal = PseudoTerminal()
      terminal.type(arguments.isEmpty ? "no\n" : "")
      let streams = Streams(
        input: Pipe.nameless(), output: Pipe.nameless(), errors: terminal.descriptor, terminal: terminal.path)
      let status = VaultCommands.run(
        arguments: ["restore-backup", backup, "team", "--replace"] + arguments, environment: store.environment,
        streams: streams)
      return (status, terminal.shown())
    }
    let refused = restore()
    #expect(refused.status == 130 && refused.shown.contains("replace what is there? (yes/no) "), "\(refused.shown)")
    #expect(refused.shown.contains("loses access: api (issue 1)"), "\(refused.shown)")
    #expect(store.run("get", "c", "-g", "team").output == "newer")
    let replaced = restore("--yes")
    #expect(replaced.status == 0 && replaced.shown.contains("loses access: api (issue 1)"), "\(replaced.shown)")
    #expect(store.run("get", "c", "-g", "team").status == 14)
    let accepted = store.run("group", "accept", "team", "--yes")
    #expect(accepted.errors.contains("stays out: web (issue 1)"), "\(accepted.errors)")
    #expect(store.run("get", "b", "-g", "team").output == "two")
  }

  @Test func `a restored older state is refused until it is accepted`() throws {
    store.run("set", "a", input: "newer")
    let restored = store.run("restore-backup", backup, "--replace")
    #expect(restored.errors.contains("stays closed until you run: vault group accept default"))
    for command in [["get", "a"], ["list"], ["set", "a"], ["verify"]] {
      #expect(Transcript(command, environment: store.environment).status == 14, "\(command)")
    }
    #expect(store.run("group", "accept", "default", "--yes").status == 0)
    #expect(store.run("get", "a").output == "one")
    #expect(store.run("set", "a", input: "again").status == 0)
    #expect(store.run("verify").status == 0)
  }

  @Test func `a lost group is restored, and the others are unchanged`() throws {
    store.run("set", "a", input: "newer")
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/team"))
    let restored = store.run("restore-backup", backup, "--json")
    #expect(restored.status == 22)
    #expect(try results(restored) == ["default": "failed", "team": "restored", "vault.owner": "unchanged"])
    #expect(store.run("get", "b", "-g", "team").output == "two")
    #expect(store.run("get", "a").output == "newer")
    #expect(store.run("verify").status == 0)
  }

  @Test func `in a store that shares groups, a group that comes back says that its files are private`() throws {
    #expect(store.run("group", "create", "shared", "--unix-group", "\(getegid())").status == 0)
    let backup = store.folder.file("with-shared")
    #expect(store.run("backup", backup).status == 0)
    let words = "are private; if it was shared: vault group share shared --unix-group G\n"
    #expect(!store.run("restore-backup", backup, "--replace").errors.contains(words))
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/shared"))
    let restored = store.run("restore-backup", backup)
    #expect(restored.status == 0 && restored.errors.contains("the files of 'shared' \(words)"), "\(restored.errors)")
    #expect(store.folder.mode("store/groups/shared") == 0o700)
    // What has to be accepted first is said first.
    store.run("set", "a", "-g", "shared", input: "newer")
    let older = store.run("restore-backup", backup, "shared", "--replace", "--yes")
    #expect(older.status == 0 && !older.errors.contains(words), "\(older.errors)")
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/shared"))
    let closed = store.run("restore-backup", backup, "shared").errors.split(separator: "\n")
    let accepting = closed.firstIndex { $0.hasSuffix("it stays closed until you run: vault group accept shared") }
    let sharing = closed.firstIndex { $0.hasSuffix(words.dropLast()) }
    #expect(try #require(accepting) < #require(sharing), "\(closed)")
    #expect(store.run("group", "accept", "shared", "--yes").status == 0)
    // The registry is never shared.
    try FileManager.default.removeItem(atPath: store.folder.file("store/groups/vault.owner"))
    #expect(!store.run("restore-backup", backup).errors.contains("private"))
    #expect(FileManager.default.fileExists(atPath: store.folder.file("store/groups/vault.owner")))
  }

  @Test func `a removed group is restored once that is accepted`() {
    store.run("group", "remove", "team", "--yes")
    // The second time, its files are there, and it is still closed.
    for result in ["restored", "already in this state"] {
      let restored = store.run("restore-backup", backup)
      #expect(restored.status == 0 && restored.output.contains("team\t\(result)\t"), "\(restored.output)")
      #expect(restored.errors.contains("it stays closed until you run: vault group accept team"), "\(restored.errors)")
    }
    #expect(store.run("get", "b", "-g", "team").status == 14)
    #expect(store.run("group", "accept", "team", "--yes").status == 0)
    #expect(store.run("get", "b", "-g", "team").output == "two")
    #expect(store.run("verify").status == 0)
  }

  @Test func `a removed group that is restored can be removed again without being accepted`() {
    store.run("group", "remove", "team", "--yes")
    store.run("restore-backup", backup)
    let removed = store.run("group", "remove", "team", "--yes")
    #expect(removed.status == 0, "\(removed.errors)")
    #expect(!store.folder.exists("store/groups/team"))
    #expect(store.run("verify").status == 0)
    #expect(store.run("group", "remove", "team", "--yes").status == 10)
  }

  @Test func `on a machine that has seen nothing, restored groups get new keys and higher numbers`() throws {
    try moveToNewMachine()
    let restored = store.run("restore-backup", backup, "--json")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try Set(results(restored).values) == ["restored"])
    #expect(store.run("get", "a").output == "one")
    #expect(store.run("get", "b", "-g", "team").output == "two")
    let shown = try readJSON(store.run("group", "show", "team", "--json").output)
    #expect(shown["generation"] as? Int == 1_025)
    #expect(shown["roster"] as? Int == 1_025)
    #expect(shown["epoch"] as? Int == 1_026)
    #expect(store.run("verify").status == 0)
    #expect(store.run("group", "create", "another").status == 0)
    // Restoring again finds every group present.
    let again = store.run("restore-backup", backup, "--json")
    #expect(again.status == 0)
    #expect(try results(again) == ["default": "unchanged", "team": "unchanged", "vault.owner": "kept"])
  }

  @Test func `a group that is missing from the backup is named and can be created again`() throws {
    try FileManager.default.removeItem(atPath: backup + "/groups/team")
    try moveToNewMachine()
    let restored = store.run("restore-backup", backup)
    #expect(restored.status == 10)
    #expect(restored.output.contains("team\tnot in the backup\t"))
    #expect(store.run("verify").status == 0)
    #expect(store.run("group", "create", "team").status == 0)
  }

  @Test func `a backup with one flipped bit is refused before anything is changed`() throws {
    store.run("set", "a", input: "newer")
    let path = "backup/groups/default/group.vault"
    var bytes = store.folder.read(path)
    let index = try #require(bytes.indices.last { bytes[$0] != 0 })
    bytes[index] ^= 1
    _ = store.folder.write(path, bytes)
    let before = store.folder.read("store/groups/default/group.vault")
    let refused = store.run("restore-backup", backup, "--replace", "--json")
    #expect(refused.status == 13)
    #expect(try results(refused)["default"] == "failed")
    #expect(store.folder.read("store/groups/default/group.vault") == before)
    #expect(store.run("get", "a").output == "newer")
    #expect(!store.folder.exists("store/set-aside"))
  }

  @Test func `another store's backup, a folder that is not a backup, and the store itself are refused`() throws {
    let other = try TestStore()
    #expect(other.run("restore-backup", backup).status == 18)
    _ = store.folder.write("file", [1])
    for place in ["nothing", "file"] {
      let refused = store.run("restore-backup", store.folder.file(place))
      let words = place == "file" ? "(backup: " : "there is no backup: no such file or folder"
      #expect(refused.status == 13 && refused.errors.contains(words), "\(refused.errors)")
      #expect(refused.errors.hasSuffix("nothing was changed; name a folder that vault backup made\n"))
    }
    #expect(store.run("restore-backup", store.folder.file("store")).status == 64)
    try FileManager.default.removeItem(atPath: backup + "/identity")
    #expect(store.run("restore-backup", backup).status == 13)
  }

  @Test func `a damaged group is replaced from the backup, and the damaged files are kept`() throws {
    store.run("set", "a", input: "newer")
    let path = "store/groups/default/group.vault"
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.folder.file(path + suffix)) }
    _ = store.folder.write(path, [UInt8](repeating: 0x61, count: 8_192))
    #expect(store.run("restore-backup", backup).status == 22)
    #expect(store.run("restore-backup", backup, "--replace").status == 0)
    #expect(store.run("group", "accept", "default", "--yes").status == 0)
    #expect(store.run("get", "a").output == "one")
    let kept = try FileManager.default.contentsOfDirectory(atPath: store.folder.file("store/set-aside"))
    #expect(kept.count == 1)
    #expect(store.folder.read("store/set-aside/\(kept[0])/group.vault") == [UInt8](repeating: 0x61, count: 8_192))
  }

  @Test func `restoring one group of a backup leaves the others unchanged`() throws {
    store.run("set", "a", input: "newer")
    store.run("set", "b", "-g", "team", input: "newer")
    let restored = store.run("restore-backup", backup, "team", "--replace", "--json")
    #expect(restored.status == 0, "\(restored.errors)")
    #expect(try results(restored) == ["team": "restored"])
    #expect(store.run("get", "a").output == "newer")
    #expect(store.run("group", "accept", "team", "--yes").status == 0)
    #expect(store.run("get", "b", "-g", "team").output == "two")
    #expect(store.run("restore-backup", backup, "team", "nothing").status == 10)
  }
}
