import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// A store that opens with a key file that is not remembered, and its key in the kernel's keyring. Each command is a process in its own
/// session, like one of cron or of a service.
@Suite(.needsKeyring) final class UnlockTests {
  private let folder = TemporaryFolder()
  private let environment: [String: String]

  init() throws {
    environment = ["VAULT_HOME": folder.file("store"), "VAULT_STATE": folder.file("state"), "HOME": folder.path]
    try #require(run(["init"], key: true).status == 0)
    let settings = run(["paths"], key: true).output.split(separator: "\n").first { $0.hasPrefix("settings\t") }
    try #require(unsafe unlink(String(settings?.split(separator: "\t")[1] ?? "")) == 0)
    try #require(run(["set", "token"], key: true, input: "s3cr3t").status == 0)
  }

  deinit { run(["lock"]) }

  @discardableResult
  private func run(
    _ arguments: [String], key: Bool = false, input: String = "", tracing: [String] = []
  ) -> Executable.Result {
    let command = arguments + (key ? ["--key-file", folder.file("key")] : [])
    guard !tracing.isEmpty else {
      return Executable(command, input: Array(input.utf8), environment: environment).wait()
    }
    return Executable(
      ["-f", "-qq", "-o", "/dev/null"] + tracing + [Executable.path] + command, program: "/usr/bin/strace",
      environment: environment
    ).wait()
  }

  /// The passphrase prompt of a command on a terminal.
  private func asked(_ arguments: [String], _ terminal: PseudoTerminal) throws -> Executable {
    let added = run(["slot", "add", "passphrase", "--new-passphrase-fd", "0"], key: true, input: "hunter2\n")
    try #require(added.status == 0, "\(added.errors)")
    let process = Executable(arguments, environment: environment, terminal: terminal)
    try #require(terminal.waitUntilShown(": "))
    return process
  }

  private func unlock(for length: String = "1h") throws {
    let unlocked = run(["unlock", "--for", length], key: true)
    try #require(unlocked.status == 0, "\(unlocked.errors)")
    #expect(unlocked.errors.hasPrefix("unlocked for \(length), until 2"))
  }

  /// The line for the store's key in the kernel's list; `nil` once the key is gone.
  private func kernelsLine() -> Substring? {
    let words = run(["identity", "show", "--json"]).output.split(separator: "\"").map(String.init)
    let owner = words.first { $0.count == 64 }
    let descriptor = unsafe open("/proc/keys", O_RDONLY)
    defer { close(descriptor) }
    let lines = String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: "\n")
    return lines.first { $0.contains("vault1:\(owner ?? "?")") && !$0.contains(" expd ") }
  }

  @Test func `all commands on items work from a new session in an unlocked store without a prompt`() throws {
    #expect(run(["get", "token"]).status == 11)
    try unlock()
    #expect(run(["get", "token"]).output == "s3cr3t")
    #expect(run(["set", "token"], input: "n3w").status == 0)
    #expect(run(["list"]).output.contains("token"))
    #expect(run(["read", "vault://default/token"]).output == "n3w")
    #expect(run(["status"]).output.contains("locked: no, unlocked until 2"))
    #expect(run(["lock"]).errors == "locked\n")
    #expect(run(["get", "token"]).status == 11)
    #expect(run(["status"]).status == 11)
    #expect(run(["lock"]).errors == "it was not unlocked\n")
  }

  @Test(.enabled(if: Executable.isThere("/usr/bin/perl"), "needs perl"))
  func `a process with new and empty keyrings finds the key and can lock the store`() throws {
    try unlock()
    // A systemd service has such a session keyring, which is not linked to the user's.
    let joining = """
      my $keyctl = { x86_64 => 250, aarch64 => 219 }->{(split " ", `uname -m`)[0]};
      syscall($keyctl, 1, 0) >= 0 or die; exec @ARGV
      """
    func apart(_ command: String...) -> Executable.Result {
      Executable(
        ["-e", joining, "--", Executable.path] + command, program: "/usr/bin/perl",
        environment: environment.merging(["PATH": Machine.path]) { $1 }
      ).wait()
    }
    #expect(apart("get", "token").output == "s3cr3t")
    #expect(apart("lock").errors == "locked\n")
    #expect(run(["get", "token"]).status == 11)
  }

  @Test func `the store is locked when its time has passed`() throws {
    try unlock(for: "1s")
    #expect(eventually { run(["get", "token"]).status == 11 })
    #expect(eventually { kernelsLine() == nil })
  }

  @Test func `unlocking again sets a new time and needs the key again`() throws {
    try unlock(for: "1s")
    #expect(run(["unlock", "--for", "1h"]).status == 11)
    try unlock(for: "1h")
    usleep(2_200_000)
    #expect(run(["get", "token"]).output == "s3cr3t")
  }

  @Test func `the kernel keeps the key with a time limit and shows it to this user alone`() throws {
    #expect(kernelsLine() == nil)
    try unlock(for: "2h")
    let fields = try #require(kernelsLine()).split(separator: " ")
    // The kernel rounds down: 2h only within the first second.
    #expect(["1h", "2h"].contains(fields[3]), "\(fields)")
    #expect(fields[4] == "3f0b0000", "\(fields)")
  }

  @Test func `an unlocked store refuses the owner's operations without a key and allows them with one`() throws {
    try unlock()
    let commands = [
      ["group", "create", "team"], ["app", "issue", "app.one", "--output", folder.file("credential")],
      ["passphrase", "change", "--new-passphrase-fd", "0"], ["exposure"],
      ["group", "rotate", "default"], ["recovery", "create"],
    ]
    for command in commands {
      let refused = run(command, input: "new words\n")
      #expect(refused.status == 11, "\(command)")
      #expect(refused.errors.contains("the store is unlocked only for items, and this needs its owner"))
      #expect(!refused.errors.contains("vault unlock"))
    }
    #expect(run(["group", "list"]).output.contains("default"))
    #expect(!run(["group", "list"]).output.contains("team"))
    let terminal = PseudoTerminal()
    let process = try asked(["group", "create", "team"], terminal)
    terminal.type("hunter2\n")
    #expect(process.wait().status == 0)
    #expect(run(["set", "-g", "team", "a"], input: "1").status == 0)
  }

  @Test func `changing the passphrase of an unlocked store asks for the present one first`() throws {
    try unlock()
    let terminal = PseudoTerminal()
    let process = try asked(["passphrase", "change"], terminal)
    #expect(terminal.shown().hasSuffix("present passphrase of ~/store: "), "\(terminal.shown())")
    terminal.type("hunter2\n")
    for prompt in ["new passphrase of ~/store: ", "the same again: "] {
      try #require(terminal.waitUntilShown(prompt))
      terminal.type("words of its own\n")
    }
    #expect(process.wait().status == 0)
    run(["lock"])
    #expect(run(["get", "token", "--passphrase-fd", "0"], input: "words of its own\n").output == "s3cr3t")
  }

  @Test func `Ctrl-C at the prompt of an unlocked store ends with 130`() throws {
    try unlock()
    let terminal = PseudoTerminal()
    let process = try asked(["group", "create", "team"], terminal)
    terminal.type("\u{3}")
    #expect(process.wait().status == 130)
  }

  @Test func `in an unlocked store verify proves the groups and says that the owner's list was not proved`() throws {
    try unlock()
    let verified = run(["verify"])
    #expect(verified.status == 0)
    #expect(verified.output.contains("default\tverified"))
    #expect(verified.output.contains("vault.owner\tnot proved"))
    #expect(
      verified.errors.contains("a missing group would not be noticed") && verified.errors.contains("--passphrase-fd"))
    #expect(run(["verify"], key: true).output.contains("vault.owner\tverified"))
  }

  @Test func `in an unlocked store verify and backup use the key file that is remembered`() throws {
    let own = ["VAULT_HOME": folder.file("own"), "VAULT_STATE": folder.file("own-state"), "HOME": folder.path]
    func run(_ arguments: String...) -> Executable.Result { Executable(arguments, environment: own).wait() }
    try #require(run("init", "--key-file", folder.file("own-key")).status == 0)
    defer { _ = run("lock") }
    try #require(run("unlock", "--for", "1h").status == 0)
    let verified = run("verify")
    #expect(verified.output.contains("vault.owner\tverified") && verified.errors.isEmpty, "\(verified)")
    let copied = run("backup", folder.file("own-backup"))
    #expect(copied.output.contains("vault.owner\tcopied\t"), "\(copied)")
    #expect(unsafe rename(folder.file("own-key"), folder.file("away")) == 0)
    #expect(run("verify").output.contains("vault.owner\tnot proved"))
  }

  @Test func `an unlocked store can be backed up without a prompt and restored from the backup`() throws {
    try unlock()
    let made = run(["backup", folder.file("backup")])
    #expect(made.status == 0, "\(made.errors)")
    #expect(made.output.contains("default\tcopied") && made.output.contains("vault.owner\tcopied, not proved"))
    #expect(made.errors.contains("the list of groups were copied without being proved"))
    run(["lock"])
    let new = ["VAULT_HOME": folder.file("new"), "VAULT_STATE": folder.file("new-state"), "HOME": folder.path]
    let back = Executable(
      ["init", "--recover", folder.file("backup"), "--key-file", folder.file("key")], environment: new
    ).wait()
    #expect(back.status == 0, "\(back.errors)")
    #expect(Executable(["get", "token"], environment: new).wait().output == "s3cr3t")
    #expect(Executable(["verify"], environment: new).wait().status == 0)
  }

  @Test func `no other source is tried if one is named, even in an unlocked store`() throws {
    try unlock()
    #expect(run(["get", "token", "--key-file", folder.file("absent")]).status == 11)
    #expect(run(["get", "token", "--passphrase-fd", "0"], input: "wrong").status == 11)
  }

  @Test(.needsTracing, arguments: ["ENOSYS", "EPERM", "EDQUOT"])
  func `if the kernel keeps no keys, unlock says so and suggests the key file`(error: String) throws {
    let refused = run(["unlock"], key: true, tracing: ["-e", "trace=add_key", "-e", "inject=add_key:error=\(error)"])
    #expect(refused.status == 11)
    #expect(refused.errors.contains("the kernel keeps no key for this user: "))
    #expect(refused.errors.contains("vault slot add key-file"))
    #expect(kernelsLine() == nil)
  }

  @Test(.needsTracing, arguments: ["SET_TIMEOUT", "SETPERM", "LINK"])
  func `an unlock that is killed or refused at any step leaves no key without a time limit`(step: String) throws {
    let number = ["SET_TIMEOUT": 1, "SETPERM": 2, "LINK": 3][step]!
    for fault in ["error=EACCES", "signal=KILL"] {
      let ended = run(
        ["unlock"], key: true, tracing: ["-e", "trace=keyctl", "-e", "inject=keyctl:\(fault):when=\(number)"])
      #expect(ended.status != 0)
      #expect(run(["get", "token"]).status == 11)
      // The kernel needs a moment to clear away what a killed process held.
      #expect(eventually { kernelsLine() == nil }, "\(step) \(fault)")
    }
  }

  @Test(.needsOtherUsers) func `another user cannot find the key`() throws {
    try unlock()
    let line = try #require(kernelsLine()).split(separator: " ")
    let (number, title) = (try #require(Int32(line[0], radix: 16)), line[8].dropLast())
    // The store itself is made readable, so that only the key is missing. The calls try to read, describe, link, find and
    // revoke the key: KEYCTL_READ, DESCRIBE, LINK into the session's keyring, SEARCH from the user's, and REVOKE.
    let script = """
      chmod -R a+rX "$folder" && mkdir -m 777 "$folder/other"
      as() { setpriv --reuid=34999 --clear-groups "$@"; }
      as cat /proc/keys | grep -c vault1:
      as perl -e '
        my $keyctl = { x86_64 => 250, aarch64 => 219 }->{(split " ", `uname -m`)[0]};
        my ($number, $title, $type, $buffer) = (shift, shift, "user", "\\0" x 4096);
        print join(" ", map { syscall($keyctl, @$_) } [11, $number + 0, $buffer, 4096], [6, $number + 0, $buffer, 4096],
          [8, $number + 0, -3], [10, -4, $type, $title, 0], [3, $number + 0]), "\\n";
      ' \(number) '\(title)'
      VAULT_STATE="$folder/other" as "$vault" get token || echo refused
      chmod -R go-rwx "$folder/store" && "$vault" get token
      """
    let seen = Executable(
      ["-c", script], program: "/bin/sh",
      environment: environment.merging(["vault": Executable.path, "folder": folder.path, "PATH": Machine.path]) { $1 }
    ).wait()
    #expect(seen.output == "0\n-1 -1 -1 -1 -1\nrefused\ns3cr3t", "\(seen.errors)")
  }

  @Test(arguments: ["0s", "8d", "1", "m", "-1m", "1.5h", "99999999999999999d", ""])
  func `an invalid or too long time is refused`(length: String) {
    #expect(run(["unlock", "--for=\(length)"], key: true).status == 64)
  }

  @Test func `an application is told that a credential needs no unlocking`() throws {
    let credential = folder.file("credential")
    #expect(run(["app", "issue", "app.one", "--output", credential], key: true).status == 0)
    #expect(run(["unlock", "--credential", credential]).status == 12)
  }
}
