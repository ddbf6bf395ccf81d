import Foundation
import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Marked texts go through every command, in valid and invalid calls, and must appear only in the output that shows them on request.
@Suite struct LeakTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private enum Mark: String, CaseIterable {
    case value = "S3CR3T-VALUE"
    case name = "S3CR3T-NAME"
    case label = "S3CR3T-LABEL"
    case key = "S3CR3T-KEY"
    case attribute = "S3CR3T-ATTRIBUTE"
    case typed = "S3CR3T-TYPED"

    /// The common part of all marks, in the clear and in base64.
    static let traces = ["S3CR3T", "s3cr3t", "UzNDUjNU", "MzQ1IzV", "M0NSM1"]
  }

  /// Runs a command. No mark may be on stderr, and only those in `shown` on stdout.
  private func check(
    _ arguments: [String], input: String = "", status: Int32, shown: Set<Mark> = [],
    environment: [String: String] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let result = store.attempt(arguments, input: input, environment: environment)
    let words = arguments.joined(separator: " ")
    #expect(result.status == status, "\(words): \(result.errors)", sourceLocation: sourceLocation)
    for trace in Mark.traces { #expect(!result.errors.contains(trace), "\(words)", sourceLocation: sourceLocation) }
    for mark in Mark.allCases {
      #expect(
        result.output.contains(mark.rawValue) == shown.contains(mark), "\(words): \(mark)",
        sourceLocation: sourceLocation)
    }
  }

  private let name = Mark.name.rawValue
  private let pair = Mark.key.rawValue + "=" + Mark.attribute.rawValue
  private var setting: [String] { ["set", name, "--label", Mark.label.rawValue, "-a", pair] }

  private func checkCommands() {
    check(setting, input: Mark.value.rawValue + " 1", status: 0)
    check(setting + ["--json"], input: Mark.value.rawValue, status: 0, shown: [.name])
    check(["get", name], status: 0, shown: [.value])
    check(["get", name, "--json"], status: 0, shown: [.name, .value])
    check(["get", name, "--version", "1"], status: 0, shown: [.value])
    check(["list"], status: 0, shown: [.name, .label])
    check(["list", "S3CR3T-N", "-a", pair, "--match", "s3cr3t-label"], status: 0, shown: [.name, .label])
    check(["list", "--json"], status: 0, shown: [.name, .label, .key, .attribute])
    check(["info", name], status: 0, shown: [.name, .label, .key, .attribute])
    check(["info", name, "--json"], status: 0, shown: [.name, .label, .key, .attribute])
    check(["history", name], status: 0)
    check(["history", name, "--json"], status: 0)
    for arguments in [["status"], ["verify"], ["group", "show", "default"], ["group", "list"]] {
      check(arguments, status: 0)
      check(arguments + ["--json"], status: 0)
    }
    check(["set", name, "--keep-value", "--label", "other"], status: 0)
    check(["remove", name], status: 0)
    check(["restore", name], status: 0)
    check(["get", name, "--output", store.folder.file("out")], status: 0)
  }

  private func checkFailures() {
    let typed = Mark.typed.rawValue
    let wrong: [([String], Int32)] = [
      ([typed], 64), (["group", typed], 64), (["help", typed], 64), (["set", "a", typed], 64),
      (["set", "a", "--\(typed)"], 64),
      (["set", "a", "--\(typed)=\(typed)"], 64), (["set", "a", "-\(typed)"], 64), (["set", "a", "--labl", typed], 64),
      (["set", "a", "--if-version", typed], 64), (["set", "a", "--if-version=\(typed)"], 64),
      (["set", "a", "--expires", typed], 64), (["set", "a", "--fd", typed], 64), (["set", "a", "-a", typed], 64),
      (["set", "a", "-a", "=\(typed)"], 64), (["set", "a", "-g", typed], 64), (["set", "a", "--file", typed], 64),
      (["set", "a", "--label", "\(typed)\n"], 64), (["set", "\(typed)\n"], 64),
      (["set", "a", "-a", "\(typed)\n=v"], 64),
      (["set", "a", "--file", "/dev/null/\(typed)"], 64), (["set", "a", "--key-file", typed], 11),
      (["set", "a", "--passphrase-fd", typed], 64), (["set", name, "--if-version", "99"], 18),
      (["set", "\(typed)\(String(repeating: "x", count: 1_024))"], 20), (["get", typed], 10),
      (["get", name, typed], 64),
      (["get", name, "--version", typed], 64), (["get", name, "--version", "99"], 10),
      (["get", name, "-g", typed], 64),
      (["get", name, "-g", typed.lowercased()], 10), (["get", name, "--output", "/nowhere/\(typed)"], 64),
      (["get", name, "--\(typed)"], 64), (["list", typed, typed], 64), (["list", "-a", typed], 64),
      (["info", typed], 10),
      (["history", typed], 10), (["remove", typed], 10), (["restore", typed], 10),
      (["restore", name, "--version", typed], 64),
      (["status", typed], 64), (["verify", typed], 64), (["group", "create", typed], 64),
      (["group", "create", "g", "--keep", typed], 64), (["group", "show", typed], 64),
      (["group", "accept", typed], 64),
      (["group", "compact", typed], 64), (["group", "remove", typed.lowercased()], 10), (["init", typed], 64),
      (["init", "--key-file", store.keyFile, typed], 64),
    ]
    for (arguments, status) in wrong {
      check(arguments, input: Mark.value.rawValue, status: status)
      // Some commands have no --json and report an error.
      let json = store.attempt(arguments + ["--json"], input: Mark.value.rawValue)
      // With --json two items are read, and here the second does not exist.
      #expect(
        [status, 64].contains(json.status) || arguments == ["get", name, typed] && json.status == 10,
        "\(arguments): \(json.errors)")
      #expect(!(json.errors + json.output).contains("S3CR3T"), "\(arguments)")
    }
    check(["get", name], status: 64, environment: ["VAULT_GROUP": typed])
    check(["get", name], status: 11, environment: ["VAULT_KEY_FILE": typed])
    check(["set", "big"], input: String(repeating: Mark.value.rawValue, count: 100_000), status: 20)
  }

  @Test func `no command leaks a mark, whatever goes wrong`() throws {
    store.environment["TMPDIR"] = store.folder.file("temporary")
    checkCommands()
    checkFailures()
    expectNothingInFiles()
    #expect(!FileManager.default.fileExists(atPath: store.folder.file("temporary")))
  }

  @Test func `arguments that are not UTF-8, unwritable output and damage leak no mark`() throws {
    checkCommands()
    let scripts: [(script: String, status: Int32)] = [
      (#""$vault" get "$(printf 'S3CR3T\377')""#, 64),
      (#""$vault" set a --label "$(printf 'S3CR3T\377')""#, 64),
      (#"printf 'S3CR3T\377' | "$vault" set binary"#, 0),
      (#""$vault" get S3CR3T-NAME >/dev/full"#, 23),
      (#""$vault" get S3CR3T-NAME --json >/dev/full"#, 23),
      (#""$vault" list --json >/dev/full"#, 23),
      (#""$vault" get S3CR3T-NAME --output /dev/full"#, 12),
      (#"ulimit -f 8; head -c 100000 /dev/zero | tr '\0' S | "$vault" set S3CR3T-NAME"#, 23),
      (#"printf 'S3CR3T\n' | "$vault" list --passphrase-fd 0"#, 11),
      (
        #"mv "$folder/key" "$folder/key.away"; printf S3CR3T-SHORT >"$folder/key"; chmod 600 "$folder/key"; "$vault" list"#,
        11
      ),
      (
        #"printf S3CR3T-S3CR3T-S3CR3T-S3CR3T-S3CR >"$folder/key"; "$vault" list; s=$?; mv "$folder/key.away" "$folder/key"; exit $s"#,
        16
      ),
      (
        #"dd if=/dev/urandom of="$folder/store/groups/default/group.vault" bs=1 seek=9000 count=20000 conv=notrunc 2>&-;"#
          + #" rm "$folder/store/groups/default/group.vault-wal"; "$vault" get S3CR3T-NAME"#, 13
      ),
      (#""$vault" list --json"#, 13), (#""$vault" info S3CR3T-NAME --json"#, 13), (#""$vault" verify --json"#, 13),
      (#"printf S3CR3T-VALUE | "$vault" set S3CR3T-NAME --json"#, 13), (#""$vault" status"#, 13),
    ]
    for (script, status) in scripts {
      let result = store.shell(script)
      #expect(result.status == status, "\(script): \(result.errors)")
      #expect(!result.errors.contains("S3CR3T"), "\(script)")
      #expect(!result.output.contains("S3CR3T"), "\(script)")
    }
    expectNothingInFiles()
  }

  @Test func `a program gets its secret, and the secret is nowhere else`() {
    checkCommands()
    store.shell(#"rm "$folder/out"; mkdir "$folder/here""#)
    let scripts: [(script: String, status: Int32, shown: Int)] = [
      (#""$vault" run --set A=vault:///S3CR3T-NAME -- sh -c 'ulimit -c; test "$A" = S3CR3T-VALUE'"#, 0, 0),
      (#""$vault" run --mask --set A=vault:///S3CR3T-NAME -- sh -c 'echo $A; echo $A >&2; env | grep ^A='"#, 0, 0),
      // The process that masks a program's output is visible to others.
      (
        #""$vault" run --mask --set A=vault:///S3CR3T-NAME -- sh -c 'cd /proc/$PPID; cat cmdline environ | grep -ac S3CR3T-[V]ALUE'"#,
        1, 0
      ),
      (#""$vault" run --as-file A=vault:///S3CR3T-NAME -- sh -c 'env; test "$(cat "$A")" = S3CR3T-VALUE'"#, 0, 0),
      (#""$vault" run --set A=vault:///S3CR3T-NAME -- no-such-program"#, 127, 0),
      (#""$vault" run --set A=vault:///S3CR3T-NAME --set B=S3CR3T-TYPED -- true"#, 64, 0),
      (#"echo 'a {{ vault:///S3CR3T-NAME }}' | "$vault" inject"#, 0, 1),
      (#"echo 'S3CR3T {{ vault:///S3CR3T-NAME }} {{ vault:///S3CR3T' | "$vault" inject -o out"#, 64, 0),
      (#"echo 'S3CR3T {{ vault:///S3CR3T-NAME }}' | "$vault" inject -o /dev/full"#, 12, 0),
      (#"ulimit -f 0; echo '{{ vault:///S3CR3T-NAME }}' | "$vault" inject -o out"#, 23, 0),
      (#""$vault" env"#, 0, 1), (#""$vault" env >/dev/full"#, 23, 0), (#""$vault" env --shell S3CR3T-TYPED"#, 64, 0),
      (#"EDITOR='grep -c S3CR3T-VALUE' "$vault" edit S3CR3T-NAME"#, 0, 0),
      (#"EDITOR='echo S3CR3T-TYPED; false' "$vault" edit S3CR3T-ABSENT"#, 10, 0),
      (#"EDITOR='sh -c "exit 3"' "$vault" edit S3CR3T-NAME"#, 1, 0),
    ]
    for (script, status, shown) in scripts {
      let result = store.shell("cd \"$folder/here\"; " + script)
      #expect(result.status == status, "\(script): \(result.errors)")
      #expect(!result.errors.contains("S3CR3T"), "\(script): \(result.errors)")
      #expect(result.output.components(separatedBy: "S3CR3T-VALUE").count - 1 == shown, "\(script)")
    }
    #expect(store.shell(#"ls -A "$folder/here""#).output.isEmpty)
    expectNothingInFiles()
  }

  /// No file of the store or its state contains a mark.
  private func expectNothingInFiles() {
    var count = 0
    for part in ["store", "state"] {
      let names = FileManager.default.enumerator(atPath: store.folder.file(part))?.compactMap { $0 as? String } ?? []
      for name in names {
        #expect(!Mark.traces.contains { name.contains($0) })
        let bytes = store.folder.read("\(part)/\(name)")
        if !bytes.isEmpty { count += 1 }
        for trace in Mark.traces { #expect(!bytes.contains(Array(trace.utf8)), "\(name)") }
      }
    }
    #expect(count > 5)
  }

  @Test func `a crash with a secret in memory prints nothing and leaves no core`() throws {
    let relative = !["|", "/"].contains(store.shell("cat /proc/sys/kernel/core_pattern").output.prefix(1))
    let (reading, writing) = Pipe.pair()
    defer { close(writing) }
    // The crash handler is set to its most verbose mode.
    let environment = store.scriptEnvironment.merging(["SWIFT_BACKTRACE": "enable=yes,interactive=no"]) { $1 }
    func start(_ command: String) -> Executable {
      Executable(
        ["-c", #"mkdir -p "$folder/here" && cd "$folder/here" && ulimit -c unlimited && exec "# + command],
        program: "/bin/sh",
        environment: environment, extra: [reading])
    }
    let bytes = Array(Mark.value.rawValue.utf8)
    #expect(unsafe write(writing, bytes, bytes.count) == bytes.count)
    let process = start(#""$vault" set a --fd 3"#)
    try #require(eventually { Pipe.unreadCount(reading) == 0 })
    process.send(SIGSEGV)
    let result = process.wait()
    #expect(result.status == 128 + SIGSEGV)
    #expect(result.output.isEmpty)
    #expect(result.errors.isEmpty)
    #expect(store.shell(#"ls "$folder/here""#).output.isEmpty)
    // The same crash in another program does leave a core, so this test can fail.
    let other = start("sleep 100")
    #expect(eventually { other.commandLine == ["sleep", "100"] })
    other.send(SIGSEGV)
    #expect(other.wait().status == 128 + SIGSEGV)
    if relative { #expect(!store.shell(#"ls "$folder/here""#).output.isEmpty) }
  }
}
