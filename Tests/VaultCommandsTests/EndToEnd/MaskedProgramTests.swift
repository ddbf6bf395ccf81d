import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// `run --mask`, which filters a program's output, and `--as-file`.
@Suite struct MaskedProgramTests {
  private let store: TestStore
  private static let placeholder = "<concealed by vault>"

  init() throws {
    store = try TestStore()
    store.run("set", "password", input: "S3CR3T-hunter2")
    store.run("set", "key", input: "first line of it\nsecond line of it\n")
  }

  private var masked: [String] { ["run", "--mask", "--set", "P=vault:///password", "--set", "K=vault:///key"] }

  private func output(_ script: String) -> Executable.Result {
    store.execute(masked + ["--", "/bin/sh", "-c", script], input: Array("typed".utf8))
  }

  @Test func `values are replaced in each output separately, and the rest is unchanged`() {
    let result = output(#"cat; echo " $P|"; echo "$K"; printf 'S3CR3T-' ; printf 'S3CR3T-h' >&2; printf 'unter2;' >&2"#)
    #expect(result.output == "typed \(Self.placeholder)|\n\(Self.placeholder)\nS3CR3T-")
    #expect(result.errors == Self.placeholder + ";")
    #expect(result.status == 0)
  }

  @Test func `a value that arrives byte by byte is replaced, even after pauses`() {
    let script = #"for c in S 3 C R 3 T - h u n t e r 2 !; do printf %s $c; sleep 0.07; done"#
    // A pause lets the first bytes through, at most a quarter of the value.
    // How many depends on how the machine spreads the pauses.
    let shown = output(script).output
    #expect(shown.hasSuffix(Self.placeholder + "!"))
    #expect("S3C".hasPrefix(shown.dropLast(Self.placeholder.count + 1)), "\(shown)")
  }

  @Test func `a prompt that ends like the start of a value is shown while the program waits`() throws {
    let (reading, writing) = Pipe.pair()
    let (keyboard, typing) = Pipe.pair()
    defer { for end in [reading, keyboard, typing] { close(end) } }
    let process = Executable(
      ["-c", #"exec "$vault" run --mask --set P=vault:///password -- sh -c 'printf "name S"; read x' >&4 <&3"#],
      program: "/bin/sh", environment: store.scriptEnvironment, extra: [keyboard, writing])
    var shown: [UInt8] = []
    #expect(
      eventually {
        var byte: [UInt8] = [0]
        while Pipe.unreadCount(reading) > 0, unsafe read(reading, &byte, 1) == 1 { shown += byte }
        return shown.count >= 6
      })
    #expect(String(decoding: shown, as: UTF8.self) == "name S")
    process.send(SIGKILL)
    close(writing)
    #expect(process.wait().status == 128 + SIGKILL)
  }

  @Test func `a masked program's status or signal becomes ours`() {
    #expect(output("exit 7").status == 7)
    #expect(output("kill -KILL $$").status == 128 + SIGKILL)
    #expect(store.execute(["run", "--mask", "--", "no-such-program"], input: []).status == 127)
    #expect(store.execute(["run", "--mask", "--", "/"], input: []).status == 126)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2])
  func `each signal is passed on once`(signal: Int32) {
    let process = Executable(
      masked + [
        "--", "/bin/sh", "-c",
        "for s in INT TERM HUP QUIT USR1 USR2; do trap \"echo $s\" $s; done; echo ready; "
          + "until [ -e \(store.folder.file("sent")) ]; do sleep 0.05; done; exit 5",
      ], environment: store.environment)
    #expect(eventually { process.outputSoFar == "ready\n" })
    process.send(signal)
    let name = [SIGINT: "INT", SIGTERM: "TERM", SIGHUP: "HUP", SIGQUIT: "QUIT", SIGUSR1: "USR1", SIGUSR2: "USR2"][
      signal]
    #expect(eventually { process.outputSoFar == "ready\n\(name ?? "")\n" })
    _ = store.folder.write("sent", [])
    let result = process.wait()
    #expect(result.output == "ready\n\(name ?? "")\n")
    #expect(result.status == 5)
  }

  @Test func `if both outputs go to the same place, their order is kept`() {
    let script = "for i in 1 2 3 4 5; do echo $P; echo b >&2; done"
    let result = store.shell(#""$vault" run --mask --set P=vault:///password -- sh -c '"# + script + "' 2>&1")
    #expect(result.output == String(repeating: "\(Self.placeholder)\nb\n", count: 5))
  }

  @Test(arguments: [SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR, 40])
  func `signals that would end us are passed on to the program`(signal: Int32) {
    let script = "trap 'echo came; exit 5' \(signal); echo ready; for i in $(seq 3600); do sleep 0.05; done"
    let process = Executable(masked + ["--", "/bin/sh", "-c", script], environment: store.environment)
    #expect(eventually { process.outputSoFar == "ready\n" })
    process.send(signal)
    let result = process.wait()
    #expect(result.output == "ready\ncame\n" && result.status == 5)
  }

  @Test func `an alarm that was set before we started is passed on to the program`() {
    let script = #"trap "echo came; exit 5" ALRM; for i in $(seq 3600); do sleep 0.05; done"#
    // An alarm that comes before the program has its trap ends us, or the program.
    let result = store.shell(
      #"for time in 1 4 16 60; do perl -e 'alarm shift; exec @ARGV' $time "$vault" run --mask -- sh -c '"# + script
        + "'; status=$?; [ $status -eq 142 ] || exit $status; done; exit 1")
    #expect(result.output == "came\n" && result.status == 5)
  }

  @Test func `a value that is too short to be masked causes a warning`() {
    store.run("set", "short", input: "abc")
    store.run("set", "empty", input: "")
    let options = ["run", "--mask", "--set", "P=vault:///password", "--set", "E=vault:///empty"]
    let result = store.execute(options + ["--set", "S=vault:///short", "--", "/bin/sh", "-c", "echo $S"], input: [])
    #expect(result.output == "abc\n" && result.status == 0)
    #expect(result.errors.contains("--set S: the value is shorter than 4 bytes, and not masked"))
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test func `a background child does not delay the end, and a closed reader ends the program`() {
    #expect(output("sleep 100 & echo done").output == "done\n")
    let result = store.shell(
      #""$vault" run --mask --set P=vault:///password -- sh -c 'while echo x; do :; done' | head -n 1; echo "$?""#)
    #expect(result.output == "x\n0\n")
  }

  @Test func `the password of a login is masked and the user name is not`() {
    store.run("set", "login", "--type", "json", input: #"{"username":"annette","password":"correct-horse"}"#)
    let script = #"echo "$L" | cut -d: -f3; echo "$L" | tr -d '{}' | cut -d, -f1"#
    let options = ["run", "--mask", "--set", "L=vault:///login"]
    let result = store.execute(options + ["--", "/bin/sh", "-c", script], input: [])
    #expect(result.output == "\"\(Self.placeholder)\"}\n\"username\":\"annette\"\n")
  }

  @Test func `output that cannot be written is an error and ends the program`() {
    let result = store.shell(
      #""$vault" run --mask --set P=vault:///password -- sh -c 'while echo x; do :; done' >/dev/full; echo "$?""#)
    #expect(result.output == "23\n")
    #expect(result.errors.contains("the program's output cannot be written: "))
    #expect(store.shell(#""$vault" run --mask -- sh -c 'echo x >&2' 2>/dev/full; echo "$?""#).output == "23\n")
  }

  @Test func `on a terminal the program gets a terminal of the same size, and Ctrl-C once`() throws {
    let terminal = PseudoTerminal(columns: 101)
    let script =
      #"test -t 1 && stty size <&1; trap 'echo int' INT; echo ready; until [ -e "$folder/sent" ]; do sleep 0.05; done; echo $P; exit 3"#
    let process = Executable(
      ["-c", #"exec "$vault" run --mask --set P=vault:///password -- sh -c "$0" >/dev/tty 2>&1"#, script],
      program: "/bin/sh", environment: store.scriptEnvironment, terminal: terminal)
    try #require(terminal.waitUntilShown("ready\r\n"))
    terminal.type("\u{3}")
    #expect(terminal.waitUntilShown("int\r\n"))
    _ = store.folder.write("sent", [])
    #expect(process.wait().status == 3)
    #expect(terminal.shown() == "24 101\r\nready\r\n^Cint\r\n\(Self.placeholder)\r\n")
  }

  @Test func `with too few descriptors a program is not started rather than unmasked`() {
    let program = #""$vault" run --mask --set P=vault:///password -- sh -c 'echo $P; echo $P >&2'"#
    let script = store.folder.write(
      "script", Array("for number in $(seq 8 24); do (ulimit -n $number; \(program)) 2>&1; done".utf8))
    // The script has none of the descriptors that other tests have open.
    let result = store.shell("exec perl -MPOSIX -e 'POSIX::close($_) for 3..1023; exec @ARGV' sh \(script)")
    #expect(result.output.contains(Self.placeholder) && !result.output.contains("S3CR3T"), "\(result.output)")
  }

  // MARK: Files in memory

  @Test(arguments: [[], ["--mask"]])
  func `a value as a file can be read twice and by others, and not changed`(options: [String]) {
    let result = store.execute(
      ["run"] + options + [
        "--as-file", "K=vault:///key", "--as-file", "P=vault:///password", "--", "/bin/sh", "-c",
        #"cat "$K" "$K" | wc -c; stat -Lc '%a %s' "$P"; (echo x >>"$P") 2>/dev/null || echo sealed; wc -c <"$P""#,
      ], input: [])
    #expect(result.output == "70\n400 14\nsealed\n14\n")
    #expect(result.status == 0)
  }

  @Test func `a file in memory holds any bytes, and its value is masked too`() {
    _ = store.execute(["set", "bytes", "--exact"], input: [0, 1, 255, 10, 0, 7, 8])
    let options = ["run", "--mask", "--as-file", "B=vault:///bytes"]
    let script = #"od -An -tx1 "$B"; cat "$B""#
    let result = store.execute(options + ["--", "/bin/sh", "-c", script], input: [])
    #expect(result.output == " 00 01 ff 0a 00 07 08\n" + Self.placeholder)
    #expect(store.execute(["run", "--as-file", "B=x", "--", "true"], input: []).status == 64)
    #expect(store.execute(["run", "--as-file", "vault:///bytes", "--", "true"], input: []).status == 64)
  }

  @Test func `the program does not get the descriptor of a passphrase`() throws {
    let passphrase = Pipe.holding(Array("pass phrase\n".utf8))
    defer { close(passphrase) }
    let folder = TemporaryFolder()
    let environment = store.environment.merging(["VAULT_HOME": folder.file("s"), "VAULT_STATE": folder.file("t")]) {
      $1
    }
    let made = Executable(["init", "--passphrase-fd", "3"], environment: environment, extra: [passphrase]).wait()
    try #require(made.status == 0, "\(made.errors)")
    lseek(passphrase, 0, SEEK_SET)
    let result = Executable(
      ["run", "--passphrase-fd", "3", "--set", "A=vault:///x", "--", "/bin/sh", "-c", "true"], environment: environment,
      extra: [passphrase]
    ).wait()
    #expect(result.status == 10)
    lseek(passphrase, 0, SEEK_SET)
    let set = Executable(
      ["set", "x", "--passphrase-fd", "3"], input: Array("v".utf8), environment: environment, extra: [passphrase]
    ).wait()
    #expect(set.status == 0)
    lseek(passphrase, 0, SEEK_SET)
    let run = Executable(
      [
        "run", "--passphrase-fd", "3", "--set", "A=vault:///x", "--", "/bin/sh", "-c",
        "echo $A; test -e /proc/self/fd/3",
      ],
      environment: environment, extra: [passphrase]
    ).wait()
    #expect(run.output == "v\n" && run.status == 1)
  }
}
