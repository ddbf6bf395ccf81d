import Testing

@testable import VaultCommands

/// Programs with secrets in their environment.
@Suite struct RunProgramTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    for (name, value) in [("db/password", "hunter2"), ("db/user", "ann"), ("a b#c", "odd")] {
      store.run("set", name, "--field", "", input: value)
    }
    store.run("set", "server", "--type", "json", input: #"{"host":"db\u0031","port":5432}"#)
  }

  private func output(_ options: [String], _ script: String) -> Executable.Result {
    store.execute(["run"] + options + ["--", "/bin/sh", "-c", script], input: [])
  }

  @Test func `a prefix without its slash and a reference without its third slash are recognized`() {
    let cut = output(["--prefix", "db"], #"printf "$_PASSWORD""#)
    #expect(cut.output == "hunter2")
    #expect(cut.errors.contains("the names after this prefix begin with '/', which becomes '_': end the prefix with"))
    #expect(output(["--prefix", "db/"], #"printf "$PASSWORD""#).errors.isEmpty)
    for option in [["--env-prefix", "DB"], ["--only", "_PASSWORD"]] {
      #expect(output(["--prefix", "db"] + option, "true").errors.isEmpty, "\(option)")
    }
    let group = output(["--set", "A=vault://db/password"], "true")
    #expect(group.status == 10)
    #expect(group.errors.contains("vault: hint: an item of the default group is vault:///NAME; list the groups: "))
  }

  @Test func `a program that gets no value says so on a terminal alone`() {
    func errors(_ options: String) -> String {
      store.shell(#"script -qec '"$vault" run \#(options) -- true' /dev/null"#).output
    }
    #expect(errors("").hasPrefix("the program gets no value: name a group (-g GROUP), a reference (--set), or make"))
    #expect(errors("--set A=vault:///db/user").isEmpty)
    #expect(output([], "true").errors.isEmpty)
  }

  @Test func `vaultd's companion items set no variables`() {
    for name in ["db/user//kv", "//kv"] { store.run("set", name, "--type", "json", input: "{}") }
    let result = output(["-g", "default", "--prefix", "db/"], "env | grep __KV=")
    #expect(result.output.isEmpty && result.errors.isEmpty && result.status == 1)
    #expect(!store.run("env", "-g", "default").output.contains("__KV="))
  }

  @Test func `references are replaced by values before the program starts`() {
    store.environment["INHERITED"] = "vault:///db/user"
    let file = store.folder.write("env", Array("# for the server\nFILE=vault:///server#port\nPLAIN='p q'\n".utf8))
    let result = output(
      ["--env-file", file, "--set", "DB=vault://default/db/password", "--set", "ODD=vault:///a%20b%23c"],
      #"printf '%s|' "$INHERITED" "$FILE" "$PLAIN" "$DB" "$ODD""#)
    #expect(result.output == "ann|5432|p q|hunter2|odd|")
    #expect(result.errors.isEmpty && result.status == 0)
  }

  @Test func `the option named last takes precedence`() {
    store.environment["A"] = "inherited"
    let file = store.folder.write("env", Array("A=file\nA=last\nDB_USER=file\nDB_PASSWORD=file\n".utf8))
    #expect(output(["--env-file", file], "printf $A").output == "last")
    #expect(
      output(["--env-file", file, "--group", "default", "--prefix", "db/"], "printf $A.$USER.$DB_USER").output
        == "last.ann.file")
    #expect(
      output(["--group", "default", "--prefix", "db/", "--set", "USER=vault:///server#host"], "printf $USER").output
        == "db1")
  }

  @Test func `nothing that opens the store reaches the program`() {
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    store.environment["VAULT_STATE"] = store.folder.file("state")
    store.environment["CREDENTIALS_DIRECTORY"] = store.folder.path + "/none"
    let file = store.folder.write(
      "env", Array("VAULT_HOME=/x\nCREDENTIALS_DIRECTORY=/x\nOTHER=/y\nVAULT_ADDR=/z\n".utf8))
    let result = output(["--env-file", file], "env; ls -l /proc/self/fd | grep -c '\(store.folder.path)'")
    let variables = result.output.split(separator: "\n").filter { $0.hasPrefix("VAULT_") || $0.hasPrefix("CRED") }
    // A variable that only another program of this name reads is kept.
    #expect(variables == ["VAULT_ADDR=/z"])
    #expect(result.output.contains("OTHER=/y\n"))
    #expect(result.output.hasSuffix("\n0\n"))
  }

  @Test func `what is set for the start of our own runtime does not reach the program`() {
    #expect(!output([], "env").output.contains("SWIFT_BACKTRACE"))
    store.environment["SWIFT_BACKTRACE"] = "color=no"
    #expect(output([], "echo $SWIFT_BACKTRACE").output == "color=no\n")
  }

  @Test func `the program replaces our process, and its status becomes ours`() {
    #expect(output([], "exit 10").status == 10)
    #expect(output([], "kill -TERM $$").status == 128 + 15)
    #expect(store.execute(["run", "--", "no-such-program"], input: []).status == 127)
    #expect(store.execute(["run", "--", store.folder.path], input: []).status == 126)
    #expect(store.execute(["run", "--", store.folder.write("plain", [])], input: []).status == 126)
    #expect(store.execute(["run"], input: []).status == 64)
    #expect(
      store.execute(["run", "--", "/bin/sh", "-c", "printf '%s,' \"$@\"", "0", "-x", "--json", "a b"], input: []).output
        == "-x,--json,a b,")
  }

  @Test(arguments: [
    (["--set", "A=vault:///absent"], Int32(10), "--set A: no such item"),
    (["--set", "A=hunter2"], 64, "this is not a reference: it does not begin with vault://"),
    (["--set", "vault:///db/user"], 64, "--set needs NAME=vault://GROUP/NAME"),
    (["--set", "A=vault:///server#absent"], 10, "--set A: the value has no such field"),
    (["--set", "A=vault:///db/user#x"], 18, "the value is plain text and has no fields"),
    (["--env-file", "/nonexistent"], 64, "the file of --env-file cannot be read"),
    (["--only", "A"], 10, "--only lists a variable for which there is no item"),
    (["--only", "db_user"], 10, "did you mean DB_USER?"),
    (["--only", "DB_USRE"], 10, "did you mean DB_USER?"),
    (["--only", ","], 64, "--only lists no variable"),
    (["--env-prefix", "1"], 64, "--env-prefix cannot start a variable's name"),
  ]) func `the program does not start if a reference cannot be read`(options: [String], status: Int32, words: String) {
    let result = output(options, "echo started")
    #expect(result.status == status && !result.output.contains("started"))
    #expect(result.errors.contains(words) && !result.errors.contains("hunter2"))
  }

  @Test func `a reference inside a value of an env file stays as it is, and the line is named`() {
    let file = store.folder.write("env", Array("A=vault:///db/user\nB=http://ann:vault:///db/user@host\n".utf8))
    let result = output(["--env-file", file], "printf $B")
    #expect(result.output == "http://ann:vault:///db/user@host")
    #expect(
      result.errors == """
        vault: warning: \(file), line 2: 'vault://' is passed to the program unchanged, because only a whole value can be \
        a reference

        """)
  }

  @Test func `a value that no variable can hold is refused, and the hint says how a program gets it`() {
    store.run("set", "large", input: String(repeating: "x", count: 200_000))
    let result = output(["--set", "A=vault:///large"], "true")
    #expect(result.status == 126 && result.errors.contains("vault run --as-file NAME=REFERENCE"), "\(result.errors)")
  }

  @Test func `a defect in an env file is named with its line, and a clash of names with the variable`() {
    let file = store.folder.write("env", Array("A=1\nB='hunter2\n".utf8))
    let result = output(["--env-file", file], "echo started")
    #expect(result.status == 64 && result.errors.contains("\(file), line 2: a quote is never closed"))
    #expect(!result.errors.contains("hunter2"))
    store.run("set", "db-user", input: "x")
    let clash = output(["--group", "default"], "echo started")
    #expect(
      clash.status == 18 && clash.errors.contains("two items would both set DB_USER: 'db") && clash.output.isEmpty)
  }

  @Test(arguments: ["path", "ld/preload", "bash-env", "GIT_SSH_COMMAND", "vault home", "prompt.command", "random"])
  func `an item that could hijack a program is refused unless it is listed`(item: String) {
    store.run("set", "x/\(item)", input: "orders")
    let variable = item.uppercased().replacing(/[^A-Z]/, with: "_")
    for command in [["run", "--group", "default", "--prefix", "x/", "--", "/bin/echo", "started"], ["env"]] {
      let result = store.execute(command + (command == ["env"] ? ["--prefix", "x/"] : []), input: [])
      #expect(result.status == 18 && result.output.isEmpty)
      #expect(result.errors.contains("would set variables that can hijack a program: \(variable)\n"))
      #expect(result.errors.contains("-g default --only A,B; or accept every name: --trust-names"))
    }
    store.run("set", "x/MAKEFLAGS", input: "orders")
    let both = [variable, "MAKEFLAGS"].sorted().joined(separator: ",")
    #expect(store.execute(["env", "--prefix", "x/"], input: []).errors.contains("program: \(both)\n"))
    #expect(store.execute(["env", "--prefix", "x/", "--only", both], input: []).status == 0)
    let escaped = item.replacing(" ", with: "%20")
    let meant = store.execute(["run", "--set", "\(variable)=vault:///x/\(escaped)", "--", "/usr/bin/env"], input: [])
    #expect(meant.output.contains("\(variable)=orders\n") || variable == "LD_PRELOAD")
  }

  @Test func `-g and VAULT_GROUP name the group, and a valid variable name keeps its spelling`() {
    store.run("group", "create", "web")
    for name in ["x/TF_VAR_region", "x/http_port", "x/token", "x/Api-key"] {
      store.run("set", name, "-g", "web", input: name)
    }
    let script = #"printf '%s|' "$TF_VAR_region" "$http_port" "$TOKEN" "$API_KEY""#
    #expect(output(["-g", "web", "--prefix", "x/"], script).output == "x/TF_VAR_region|x/http_port|x/token|x/Api-key|")
    store.environment["VAULT_GROUP"] = "web"
    #expect(output(["--prefix", "x/"], script).output == "x/TF_VAR_region|x/http_port|x/token|x/Api-key|")
    #expect(output([], script).output == "||||")
    #expect(output(["--prefix", "x/", "--only", "TOKEN"], script).output == "||x/token||")
    #expect(output(["--prefix", "x/", "--env-prefix", "APP_"], #"printf "$APP_TOKEN""#).output == "x/token")
  }

  @Test(arguments: ["run", "env"])
  func `a group that others can write sets only variables that the caller lists`(command: String) {
    store.run("group", "create", "team")
    store.run("set", "x/token", "-g", "team", input: "value")
    let run = { (options: [String], environment: [String: String]?) in
      let end = command == "run" ? ["--", "/usr/bin/env"] : ["--shell", "json"]
      return Executable(
        [command, "-g", "team"] + options + end, environment: environment ?? store.environment
      ).wait()
    }
    store.run("app", "issue", "reader", "--output", store.folder.file("reader"), "--group", "team:read")
    #expect(run([], nil).output.contains("X_TOKEN"))
    store.run("app", "issue", "writer", "--output", store.folder.file("writer"), "--group", "team:write")
    for options in [[], ["--prefix", "x/"]] {
      let refused = run(options, nil)
      #expect(refused.status == 18 && refused.output.isEmpty)
      #expect(refused.errors.contains("'writer' can write 'team', and could choose which variables are set"))
    }
    for options in [["--only", "X_TOKEN"], ["--trust-names"]] { #expect(run(options, nil).output.contains("X_TOKEN")) }
    #expect(run(["--env-prefix", "APP_"], nil).output.contains("APP_X_TOKEN"))
    // Someone who can write the group needs no protection from their own names, but a reader does.
    for (name, status) in [("writer", Int32(0)), ("reader", 18)] {
      let environment = store.environment.merging(["VAULT_CREDENTIAL": store.folder.file(name)]) { $1 }
      #expect(run([], environment).status == status)
    }
  }

  @Test(arguments: [
    "CC", "http_proxy", "PYTHONPYCACHEPREFIX", "READNULLCMD", "GH_PAGER", "AWS_CONFIG_FILE", "RUSTC",
    "ERL_AFLAGS", "PYTHONINSPECT", "LESSKEY", "ELECTRON_RUN_AS_NODE",
  ])
  func `a variable that can hijack a program is refused in any group unless it is listed or trusted`(variable: String) {
    store.run("set", variable, input: "orders")
    #expect(store.execute(["env"], input: []).status == 18)
    #expect(store.execute(["env", "--only", variable], input: []).output == "export \(variable)='orders'\n")
    #expect(store.execute(["run", "--only", variable, "--", "/usr/bin/env"], input: []).output.contains("=orders\n"))
  }

  @Test func `with --env-prefix, only the name that the program sees is checked`() {
    for name in ["LD_PRELOAD", "EDITOR", "HTTP_PROXY"] { store.run("set", name, input: "orders") }
    let harmless = store.execute(["run", "--env-prefix", "MYAPP_", "--", "/usr/bin/env"], input: [])
    #expect(harmless.status == 0, "\(harmless.errors)")
    #expect(harmless.output.contains("MYAPP_LD_PRELOAD=orders\n") && harmless.output.contains("MYAPP_EDITOR=orders\n"))
    store.run("set", "D_PRELOAD", input: "orders")
    #expect(
      store.execute(["run", "--prefix", "D_", "--env-prefix", "LD_", "--", "/usr/bin/env"], input: []).status == 18)
  }

  @Test(arguments: [[], ["--mask"]])
  func `a script without an interpreter line is run by the shell`(options: [String]) {
    let script = store.folder.write("script", Array("echo \"$0 $1 $A\"\n".utf8), mode: 0o700)
    let result = store.execute(["run"] + options + ["--set", "A=vault:///db/user", "--", script, "b c"], input: [])
    #expect(result.output == "\(script) b c ann\n" && result.status == 0)
  }

  @Test func `a value that no environment can hold is refused`() {
    _ = store.execute(["set", "zero"], input: [0x61, 0, 0x62])
    let result = output(["--set", "A=vault:///zero"], "echo started")
    #expect(result.status == 64 && result.errors.contains("zero byte") && result.output.isEmpty)
  }

  @Test func `read writes exactly the value`() {
    #expect(store.run("read", "vault://default/db/password").output == "hunter2")
    #expect(store.run("read", "vault:///server#host").output == "db1")
    #expect(store.run("read", "vault:///absent").status == 10)
    #expect(store.run("read", "hunter2").status == 64)
    #expect(!store.run("read", "hunter2").errors.contains("hunter2"))
  }
}
