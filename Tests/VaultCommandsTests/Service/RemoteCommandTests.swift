import Testing

@testable import VaultCommands

@Suite struct RemoteCommandTests {
  private let store: TestStore
  private let password = "c0rrect-horse"
  private let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
  private let key = "-----BEGIN PRIVATE KEY-----\nc0rrect-horse\n-----END PRIVATE KEY-----\n"

  init() throws {
    store = try TestStore()
    store.environment["VAULT_SOCKET"] = store.folder.file("no socket")
    store.environment["VAULT_KEY_FILE"] = store.keyFile
  }

  private func descriptor(_ text: String) -> String { String(Pipe.holding(Array(text.utf8))) }

  private func addOffice(_ more: String...) -> Transcript {
    let words = ["remote", "add", "office", "etcds://n1.example:2379,n2.example:2379", "--user", "web"]
    return Transcript(
      words + ["--password-fd", descriptor(password + "\n")] + more, environment: store.environment)
  }

  @Test func `a remote is added, listed and removed, and no output has its password`() throws {
    let added = addOffice(
      "--ca", store.folder.write("ca", Array(certificate.utf8)), "--cert",
      store.folder.write("cert", Array(certificate.utf8)), "--key", store.folder.write("pem", Array(key.utf8)))
    #expect(added.status == 0 && added.output.isEmpty && added.errors.isEmpty, "\(added.errors)")
    #expect(store.run("remote", "list").output == "office\tetcds://n1.example:2379,n2.example:2379\tweb\t\n")
    let listed = store.run("remote", "list", "--json").output
    #expect(
      listed
        == "[{\"name\":\"office\",\"address\":\"etcds://n1.example:2379,n2.example:2379\",\"tls\":true,\"ca\":true,"
        + "\"certificate\":true,\"user\":\"web\",\"maxAge\":null,\"heartbeat\":null,\"groups\":[]}]\n")
    let again = addOffice()
    #expect(again.status == 22 && again.errors.contains("--replace"))
    #expect(addOffice("--replace").status == 0)
    #expect(!store.run("audit", "--json").output.contains(password))
    #expect(store.run("remote", "remove", "office").status == 0)
    #expect(store.run("remote", "remove", "office").status == 10)
    #expect(store.run("remote", "list").output.isEmpty)
  }

  @Test func `a new address of a remote with published groups is not taken without asking its servers`() {
    let old = "etcd://n1.example:2379,n2.example:2379"
    store.run("remote", "add", "office", old)
    let note = "office \(String(repeating: "07", count: 32))"
    #expect(store.run("set", "-g", "vault.service", "published/default", input: note).status == 0)
    let refused = store.run("remote", "add", "office", "etcd://n3.example:2379", "--replace")
    #expect(refused.status == 11)
    #expect(
      refused.errors == """
        vault: error: locked: vaultd: nobody listens on its socket
        vault: hint: vaultd must run and reach the new servers; if they belong to the same cluster, or replace a lost one: --unchecked

        """)
    #expect(store.run("remote", "list").output.contains(old))
    #expect(store.run("remote", "add", "office", "etcd://n2.example:2379", "--max-age", "5m", "--replace").status == 0)
    #expect(store.run("remote", "add", "office", "etcd://n3.example:2379", "--unchecked").status == 64)
    #expect(store.run("remote", "add", "office", "etcd://n3.example:2379", "--replace", "--unchecked").status == 0)
    #expect(store.run("remote", "list").output.contains("etcd://n3.example:2379"))
  }

  @Test func `whoever gives an application a new password for etcd is told to provision the remote`() {
    #expect(addOffice().status == 0)
    var number = 0
    func isTold(_ options: String...) -> Bool {
      number += 1
      let words = ["app", "issue", "com.example.web", "--output", store.folder.file("\(number)"), "--remote", "office"]
      let issued = Transcript(words + options, environment: store.environment)
      #expect(issued.status == 0, "\(issued.errors)")
      let line = "until etcd has its new password: vault remote provision office\n"
      return issued.errors.contains("it cannot log in as 'vault-com.example.web' \(line)")
    }
    #expect(!isTold())
    #expect(isTold("--own-login", "--again"))
    #expect(!isTold("--again") && !isTold("--own-login", "--again"))
    #expect(isTold("--replace"))
    #expect(!isTold("--replace", "--shared-login"))
  }

  @Test func `a heartbeat that is not below the greatest age is refused`() {
    for age in ["5m", "10m"] {
      let refused = addOffice("--max-age", age, "--heartbeat", "10m")
      #expect(refused.status == 64 && refused.errors.contains("--heartbeat must be well below --max-age"))
    }
    #expect(store.run("remote", "list").output.isEmpty)
  }

  @Test func `on a machine that has joined, missing copies end status with 14 and sync with 15`() throws {
    #expect(addOffice().status == 0)
    let credential = store.folder.file("web.credential")
    store.run("app", "issue", "com.example.web", "--output", credential, "--remote", "office")
    var machine = store.environment
    machine["VAULT_HOME"] = store.folder.file("machine")
    machine["VAULT_STATE"] = store.folder.file("machine's state")
    #expect(Transcript(["join", "--credential", credential], environment: machine).status == 15)
    machine["VAULT_CREDENTIAL"] = credential
    machine["VAULT_KEY_FILE"] = nil
    func missing() {
      let status = Transcript(["status"], environment: machine)
      #expect(status.status == 14, "\(status.errors)")
      #expect(
        status.errors.contains(
          "vault: hint: on a machine that has joined a cluster, fetch it: vault sync; elsewhere"))
      let sync = Transcript(["sync"], environment: machine)
      #expect(sync.status == 15 && !sync.errors.isEmpty, "\(sync.errors)")
    }
    missing()
    // Once a group was there, it is missed.
    let copy = store.folder.file("machine/groups/com.example.web")
    #expect(store.shell("cp -a \"$folder/store/groups/com.example.web\" '\(copy)'").status == 0)
    #expect(Transcript(["status"], environment: machine).status == 0)
    #expect(store.shell("rm -r '\(copy)'").status == 0)
    missing()
  }

  @Test func `a password is never an argument`() {
    #expect(store.run("remote", "add", "office", "etcd://n1:2379", "--password", password).status == 64)
    let inAddress = store.run("remote", "add", "office", "etcd://web:\(password)@n1:2379")
    #expect(inAddress.status == 64 && !inAddress.errors.contains(password))
  }

  @Test func `an incomplete login or certificate is a usage error`() {
    for options in [["--password-fd", "0"], ["--cert", "a"], ["--key", "a"]] {
      let transcript = Transcript(
        ["remote", "add", "office", "etcd://n1:2379"] + options, environment: store.environment)
      #expect(transcript.status == 64, "\(options)")
    }
    // Without a terminal nobody can be asked for the password.
    #expect(store.run("remote", "add", "office", "etcd://n1:2379", "--user", "web").status == 11)
  }

  @Test func `a password without TLS to another machine is added with a warning`() {
    let add = { (address: String) in
      store.run("remote", "add", "r", address, "--user", "web", "--password-fd", descriptor(password + "\n"))
    }
    #expect(add("etcd://127.0.0.1:2379,[::1]:2379").errors.isEmpty)
    store.run("remote", "remove", "r")
    let warned = add("etcd://n1:2379")
    #expect(warned.status == 0 && warned.errors.contains("unencrypted"))
  }

  @Test func `a file that is too long or not a certificate is refused`() {
    let long = store.folder.write("long", [UInt8](repeating: 0x41, count: 65_537))
    #expect(store.run("remote", "add", "r", "etcd://n1:2379", "--ca", long).status == 20)
    let other = store.folder.write("other", Array("password=\(password)".utf8))
    let refused = store.run("remote", "add", "r", "etcd://n1:2379", "--ca", other)
    #expect(refused.status == 64 && !refused.errors.contains(password))
  }

  @Test func `users in etcd are made only through vaultd, and no output contains the password`() {
    #expect(addOffice().status == 0)
    let provisioned = Transcript(
      ["remote", "provision", "office", "--root-password-fd", descriptor(password + "\n")],
      environment: store.environment)
    #expect(provisioned.status == 11 && provisioned.output.isEmpty, "\(provisioned.errors)")
    #expect(!provisioned.errors.contains(password))
    #expect(store.run("remote", "provision", "office").status == 11)
    for login in [["--own-login"], ["--shared-login"], ["--remote", "office", "--own-login", "--shared-login"]] {
      let words = ["app", "issue", "web", "--output", store.folder.file("unused")] + login
      let refused = Transcript(words, environment: store.environment)
      #expect(refused.status == 64, "\(refused.errors)")
    }
  }

  @Test(arguments: ["0s", "5", "m", "-1m", "5 m", "99999999999d"])
  func `an invalid length of time is refused`(_ text: String) {
    #expect(addOffice("--max-age", text).status == 64)
    #expect(addOffice("--heartbeat", text).status == 64)
  }

  @Test func `the times of a remote are listed`() {
    #expect(addOffice("--max-age", "5m", "--heartbeat", "60s").status == 0)
    #expect(store.run("remote", "list", "--json").output.contains("\"maxAge\":300,\"heartbeat\":60,"))
  }

  // MARK: Joining

  private func issue(_ app: String, _ file: String, _ options: String...) -> Transcript {
    Transcript(
      ["app", "issue", app, "--output", store.folder.file(file)] + options, environment: store.environment)
  }

  private func join(_ file: String, _ options: String...) -> Transcript {
    var environment = store.environment
    environment["VAULT_KEY_FILE"] = nil
    return Transcript(
      ["join", "--credential", store.folder.file(file), "--store", store.folder.file("other")] + options,
      environment: environment)
  }

  @Test func `joining keeps the credential and says that no vaultd runs`() throws {
    #expect(addOffice().status == 0)
    #expect(issue("com.example.web", "credential", "--remote", "nowhere").status == 10)
    #expect(issue("com.example.web", "credential", "--remote", "office").status == 0)
    let joined = join("credential")
    #expect(joined.status == 15, "\(joined.errors)")
    #expect(joined.errors.contains("systemctl start vaultd") && !joined.errors.contains(password))
    #expect(store.folder.mode("other") == 0o700 && store.folder.mode("other/groups") == 0o700)
    #expect(store.folder.mode("other/joined") == 0o700 && !store.folder.exists("other/identity"))
    #expect(store.folder.mode("other/joined/com.example.web") == 0o600)
    #expect(store.folder.read("other/joined/com.example.web") == store.folder.read("credential"))
  }

  @Test func `a credential without a remote is not joined`() {
    #expect(issue("com.example.web", "credential").status == 0)
    let joined = join("credential")
    #expect(joined.status == 18 && joined.errors.contains("--again --remote NAME"))
    #expect(!store.folder.exists("other"))
  }

  @Test func `a sealed credential is joined with its passphrase`() {
    #expect(addOffice().status == 0)
    let issued = Transcript(
      [
        "app", "issue", "com.example.web", "--output", store.folder.file("sealed"), "--remote", "office",
        "--new-passphrase-fd", descriptor("for the other machine\n"),
      ], environment: store.environment)
    #expect(issued.status == 0, "\(issued.errors)")
    #expect(join("sealed", "--passphrase-fd", descriptor("another\n")).status == 16)
    #expect(!store.folder.exists("other"))
    #expect(join("sealed", "--passphrase-fd", descriptor("for the other machine\n")).status == 15)
    let kept = store.folder.read("other/joined/com.example.web")
    #expect(kept.dropFirst(16).prefix(2).elementsEqual([0, 3]))
  }

  @Test func `a store of joined applications has no owner, and commands say what opens it`() {
    #expect(addOffice().status == 0)
    #expect(issue("com.example.web", "credential", "--remote", "office").status == 0)
    #expect(join("credential").status == 15)
    var environment = store.environment
    environment["VAULT_HOME"] = store.folder.file("other")
    environment["VAULT_STATE"] = store.folder.file("other state")
    environment["VAULT_KEY_FILE"] = nil
    environment["VAULT_SOCKET"] = nil
    environment["XDG_RUNTIME_DIR"] = store.folder.file("none")
    for command in [["list"], ["status"], ["init", "--key-file", store.folder.file("new")], ["app", "list"]] {
      let transcript = Transcript(command, environment: environment)
      #expect(transcript.status == 11, "\(command): \(transcript.errors)")
      #expect(transcript.errors.contains("the owner of their groups is elsewhere"))
    }
    #expect(!store.folder.exists("other/identity"))
    let paths = Transcript(["paths"], environment: environment)
    #expect(paths.status == 0 && paths.output.contains("joined credentials"), "\(paths.errors)")
    // The credential knows the group's state, so a group that was not fetched yet is as one whose file is gone.
    let read = Transcript(["list", "--credential", store.folder.file("credential")], environment: environment)
    #expect(read.status == 14, "\(read.errors)")
  }
}
