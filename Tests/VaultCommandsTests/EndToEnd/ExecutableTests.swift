import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Properties that only a separate process can show: exit status, limits, signals, and other processes at the same time.
@Suite struct ExecutableTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func run(_ arguments: String..., input: String = "") -> Executable.Result {
    Executable(arguments, input: Array(input.utf8), environment: store.environment).wait()
  }

  private func shell(_ script: String) -> Executable.Result {
    var environment = store.environment
    environment["vault"] = Executable.path
    environment["PATH"] = "/usr/bin:/bin"
    return Executable(["-c", script], program: "/bin/sh", environment: environment).wait()
  }

  @Test func `a store made by one process is read by another`() {
    #expect(run("set", "db/password", "--label", "Orders", input: "one\n").status == 0)
    #expect(run("set", "db/password", input: "two\n").status == 0)
    #expect(run("get", "db/password").outputBytes == Array("two".utf8))
    #expect(run("get", "db/password", "--version", "1").output == "one")
    #expect(run("list").output.hasPrefix("db/password\tOrders\t2\t"))
    #expect(run("get", "absent").status == 10)
  }

  @Test func `an export to KeePass that is ended takes its program along, and leaves no file`() throws {
    store.run("set", "a", input: "value")
    let before = store.folder.names()
    // The program may have ended before it could be stopped.
    for _ in 0..<100 {
      let passphrase = Pipe.holding(Array("a pass phrase\n".utf8))
      defer { close(passphrase) }
      let export = Executable(
        [
          "export", "--to", "kdbx", "-g", "default", "--replace", "--output", store.folder.file("new.kdbx"),
          "--file-passphrase-fd", "3",
        ], environment: store.environment, extra: [passphrase])
      // It limits its memory first of all.
      let isReady = eventually {
        export.hasEnded || export.child.flatMap { Executable.limit("Max address space", of: $0) } == "4294967296"
      }
      guard isReady, let program = export.child, kill(program, SIGSTOP) == 0,
        eventually({ Executable.state(of: program) != "R" && Executable.state(of: program) != "S" }),
        Executable.state(of: program) == "T"
      else {
        _ = export.wait()
        continue
      }
      defer { kill(program, SIGKILL) }
      export.send(SIGTERM)
      #expect(export.wait().status == 128 + SIGTERM)
      #expect(eventually { [nil, "Z"].contains(Executable.state(of: program)) })
      #expect(store.folder.names().filter { $0 != "new.kdbx" } == before)
      return
    }
    Issue.record("the program was never stopped")
  }

  @Test func `the quickstart shows its main job, and its help names its forms`() {
    let shown = shell("VAULT_QUICKSTART=$(dirname \"$vault\") exec '\(TestStore.clone)/tools/quickstart'")
    #expect(shown.status == 0 && shown.output.contains("It works, and"), "\(shown.output)\(shown.errors)")
    let help = shell("exec '\(TestStore.clone)/tools/quickstart' --help")
    #expect(help.status == 0 && help.errors.isEmpty)
    for form in ["  --service   ", "  --cluster   ", "VAULT_QUICKSTART "] { #expect(help.output.contains(form)) }
    #expect(shell("exec '\(TestStore.clone)/tools/quickstart' --other").status == 64)
    // A folder with nothing but what the script calls first stands for a machine without curl.
    let folder = store.folder.path + "/bare"
    let bare = shell(
      "mkdir '\(folder)' && ln -s /usr/bin/dirname '\(folder)' && "
        + "PATH='\(folder)' exec /bin/bash '\(TestStore.clone)/tools/quickstart' --service")
    #expect(bare.status == 69 && bare.errors == "quickstart: there is no curl; install it: apt-get install curl\n")
  }

  @Test func `help goes to stdout and ends with 0`() {
    let result = run("--help")
    #expect(result.status == 0)
    #expect(result.output.contains("Exit statuses:"))
    #expect(result.errors.isEmpty)
  }

  @Test func `an argument that is not UTF-8 is refused and not repeated`() {
    let result = shell(#"exec "$vault" get "$(printf '\377s3cret')""#)
    #expect(result.status == 64)
    #expect(result.errors == "vault: error: an argument is not UTF-8\n")
  }

  @Test func `concurrent sets by many processes are all kept`() {
    let writers = (0..<8).map { number in
      Executable(
        ["-c", TestStore.put + "for i in 1 2 3 4 5; do put common $i; done"], program: "/bin/sh",
        environment: store.scriptEnvironment)
    }
    for writer in writers {
      let result = writer.wait()
      #expect(result.status == 0 && result.output.isEmpty, "\(result.output)\(result.errors)")
    }
    #expect(run("history", "common").output.hasPrefix("40\tpresent\t"))
  }

  @Test func `a value can follow the passphrase on the same descriptor`() {
    let both = Pipe.holding(Array("a passphrase of its own\nvalue\n".utf8))
    defer { close(both) }
    var environment = store.environment
    environment["VAULT_HOME"] = store.folder.file("other")
    environment["VAULT_STATE"] = store.folder.file("other-state")
    let once = Pipe.holding(Array("a passphrase of its own\n".utf8))
    defer { close(once) }
    #expect(Executable(["init", "--passphrase-fd", "3"], environment: environment, extra: [once]).wait().status == 0)
    let set = Executable(["set", "a", "--passphrase-fd", "3", "--fd", "3"], environment: environment, extra: [both])
      .wait()
    #expect(set.status == 0, "\(set.errors)")
    lseek(once, 0, SEEK_SET)
    let get = Executable(["get", "a", "--passphrase-fd", "3"], environment: environment, extra: [once]).wait()
    #expect(get.output == "value")
  }

  @Test func `a descriptor that was not handed over is refused, and no file of the store is taken for it`() {
    #expect(run("set", "a", input: "x").status == 0)
    for number in 3...9 {
      let close = "exec \(number)<&-;"
      for command in ["set a --fd", "export --to kdbx -g default --output \"$folder/out\" --file-passphrase-fd"] {
        let result = shell("\(close) \"$vault\" \(command) \(number)")
        #expect(result.status == 64 && result.errors.contains("it is not open"), "\(result.errors)")
      }
    }
    #expect(run("get", "a").output == "x")
    #expect(!store.folder.exists("out"))
  }

  @Test func `a reader that closes the pipe early is not an error`() {
    for number in 0..<3 {
      #expect(run("set", "item\(number)", input: String(repeating: "x", count: 100_000)).status == 0)
    }
    let result = shell(#"{ "$vault" get item1; echo "status $?" >&2; } | true"#)
    #expect(result.errors == "status 0\n")
  }

  @Test func `a problem is not hidden by a reader that closes the pipe early`() {
    store.run("group", "create", "team")
    let long = String(repeating: "x", count: 100)
    let lines = (0..<400).map { "A\($0)\(long)=x\n" }.joined()
    #expect(store.run("import", "-", "--from", "dotenv", input: lines).status == 0)
    #expect(store.unread("list --all").status == 0)
    #expect(store.shell(#"rm -r "$folder/store/groups/team""#).status == 0)
    #expect(store.unread("list --all").status == 14)
  }

  @Test func `output that cannot be written is an error`() {
    #expect(run("set", "a", input: "x").status == 0)
    let result = shell(#""$vault" get a >/dev/full"#)
    #expect(result.status == 23)
    #expect(result.errors.hasPrefix("vault: error: the output cannot be written: the disk is full\n"))
  }

  @Test func `a file that may not grow is an error of the output, and does not end the process`() {
    #expect(run("set", "a", input: String(repeating: "x", count: 200_000)).status == 0)
    let result = shell(#"ulimit -f 100; "$vault" get a >"$folder/out""#)
    #expect(result.status == 23)
    #expect(result.errors.hasPrefix("vault: error: the output cannot be written: the file cannot grow any further\n"))
  }

  @Test func `closed standard descriptors do not harm the store`() {
    #expect(run("set", "a", input: "x").status == 0)
    #expect(shell(#""$vault" get a <&- >&- 2>&-"#).status == 23)
    #expect(shell(#""$vault" get absent <&- >&- 2>&-"#).status == 10)
    #expect(run("get", "a").output == "x")
    #expect(run("verify").status == 0)
  }

  @Test func `a user without an entry in passwd can use a store`() throws {
    guard geteuid() == 0, unsafe access("/usr/bin/setpriv", X_OK) == 0 else { return }
    let home = store.folder.file("nobody")
    let script = """
      mkdir "\(home)" && chown 54321 "\(home)" && chmod 711 "\(store.folder.path)" && cd / &&
      export HOME="\(home)" && unset VAULT_HOME VAULT_STATE &&
      cp "$vault" "\(home)/vault" && chmod 755 "\(home)/vault" && run="setpriv --reuid=54321 --clear-groups \(home)/vault" &&
      $run init --key-file "\(home)/key" && printf x | $run set a && $run get a
      """
    let result = shell(script)
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output == "x")
  }

  @Test(.needsOtherUsers, .enabled(if: Machine.hasPython, "python3 is not here"))
  func `another user's socket in a world-writable folder is not trusted`() {
    let place = store.folder.file("anybodys")
    let listener = """
      import os, socket
      s = socket.socket(socket.AF_UNIX)
      s.bind("socket")
      os.chmod("socket", 0o666)
      s.listen()
      print("ready", flush=True)
      s.settimeout(60)
      s.accept()
      """
    let script = """
      mkdir "\(place)" && chmod 1777 "\(place)" && chmod 711 "\(store.folder.path)" && cd "\(place)" &&
      mkfifo -m 666 ready && { setpriv --reuid=12345 --clear-groups /usr/bin/python3 -c '\(listener)' >ready & } &&
      read -r _ <ready
      VAULT_SOCKET="\(place)/socket" VAULT_HOME="\(place)/none" "$vault" get a
      status=$?
      kill $!
      exit $status
      """
    let result = shell(script)
    #expect(result.status == 11)
    #expect(result.errors.hasPrefix("vault: error: locked: vaultd: another user listens on its socket\n"))
  }
}
