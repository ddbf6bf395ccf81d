import Glibc
import Testing

@testable import VaultCommands

/// Every command that writes, killed before each of its system calls in turn, or told by the system that one failed.
@Suite(.needsTracing) struct CrashPointTests {
  private let store: TestStore

  /// A command, and what may come of it when it is run again after it was interrupted.
  private struct Operation {
    let arguments: [String]
    var input = ""
    let again: Set<Int32>
    /// What `get a` may give when the command did not succeed; nil if there is no such item then.
    var before: String? = "old"
    /// What `get a` gives when it did.
    var after: String? = "old"

    static let all: [Operation] = [
      Operation(arguments: ["set", "a"], input: "new", again: [0], after: "new"),
      Operation(arguments: ["set", "b"], input: String(repeating: "n", count: 300_000), again: [0]),
      Operation(arguments: ["set", "fresh"], input: "new", again: [0]),
      Operation(arguments: ["remove", "a"], again: [0, 10], after: nil),
      Operation(arguments: ["remove", "a", "--destroy"], again: [0, 10], after: nil),
      Operation(arguments: ["restore", "gone"], again: [0, 18]),
      Operation(arguments: ["group", "create", "fresh"], again: [0, 22]),
      Operation(arguments: ["group", "remove", "other"], again: [0, 10]),
      Operation(arguments: ["group", "compact", "default"], again: [0]),
      Operation(arguments: ["group", "rotate", "default"], again: [0]),
      Operation(arguments: ["grant", "default", "com.example.web", "--rights", "read"], again: [0]),
      Operation(arguments: ["revoke", "default", "com.example.api"], again: [0, 10]),
      Operation(arguments: ["app", "issue", "com.example.new", "--output", "$folder/new"], again: [0, 22]),
      Operation(arguments: ["app", "issue", "com.example.api", "--output", "$folder/new", "--replace"], again: [0, 22]),
      Operation(arguments: ["app", "uninstall", "com.example.api", "--revoke"], again: [0]),
    ]
  }

  private static let calls = [
    "openat", "write", "pwrite64", "ftruncate", "fsync", "fdatasync", "rename", "renameat", "renameat2", "link",
    "unlink",
    "unlinkat", "mkdir", "mkdirat", "rmdir", "flock", "fchmod", "close",
  ]

  init() throws { store = try TestStore() }

  /// Something in the store, and a copy of it to begin from again and again.
  private func fill() throws {
    let result = store.shell(
      """
      printf kept | "$vault" set keep && printf old | "$vault" set a && head -c 100000 /dev/zero | "$vault" set b &&
      printf x | "$vault" set gone && "$vault" remove gone && "$vault" group create other &&
      printf y | "$vault" set y -g other &&
      "$vault" app issue com.example.api --output "$folder/api" --group default:write &&
      "$vault" app issue com.example.web --output "$folder/web" && mkdir "$folder/base" && cp -a "$folder/store" "$folder/state" "$folder/base"
      """)
    try #require(result.status == 0, "\(result.errors)")
  }

  private func startAgain() {
    store.shell(#"rm -rf "$folder/store" "$folder/state" "$folder/new" && cp -a "$folder/base/." "$folder""#)
  }

  private func arguments(of operation: Operation) -> [String] {
    operation.arguments.map { $0.replacing("$folder", with: store.folder.path) }
  }

  private func trace(_ operation: Operation, _ calls: [String], _ options: [String]) -> Executable.Result {
    Executable(
      ["-f", "-qq", "-o", store.folder.file("trace"), "-e", "trace=" + calls.map { "?" + $0 }.joined(separator: ",")]
        + options + [Executable.path] + arguments(of: operation),
      program: "/usr/bin/strace", input: Array(operation.input.utf8), environment: store.environment
    ).wait()
  }

  /// One system call of many: the `number`th of its name.
  private struct Point: CustomStringConvertible {
    let call: String
    let number: Int
    var description: String { "\(call) \(number)" }
  }

  /// The system calls of an undisturbed run: all, or a sample of them.
  private func points(of operation: Operation, _ calls: [String], sample: Int) throws -> [Point] {
    let result = trace(operation, calls, [])
    try #require(result.status == 0, "\(result.errors)")
    var counts: [String: Int] = [:]
    let all = String(decoding: store.folder.read("trace"), as: UTF8.self).split(separator: "\n").compactMap { line in
      let name = String(line.drop { $0.isNumber || $0 == " " }.prefix { $0 != "(" })
      guard calls.contains(name) else { return nil as Point? }
      counts[name, default: 0] += 1
      return Point(call: name, number: counts[name]!)
    }
    try #require(!all.isEmpty)
    guard !RunLength.isFull else { return all }
    var random = SeededGenerator(seed: UInt64(all.count))
    return Array(all.shuffled(using: &random).prefix(sample))
  }

  private func expectSound(_ operation: Operation, _ point: Point, verified: Set<Int32> = [0]) {
    #expect(store.execute("get", "keep").output == "kept", "\(point)")
    let verify = store.execute("verify")
    #expect(verified.contains(verify.status), "\(point): \(verify.output)")
    let again = store.execute(arguments(of: operation), input: Array(operation.input.utf8))
    #expect(operation.again.contains(again.status), "\(point): \(again.errors)")
    #expect(store.execute("verify").status == 0, "\(point)")
    #expect(store.execute("set", "last", input: "x").status == 0, "\(point)")
  }

  @Test func `killed at any call, a command has done all or nothing, and can be run again`() throws {
    try fill()
    for operation in Operation.all {
      startAgain()
      for point in try points(of: operation, Self.calls, sample: 2) { try expectWhole(operation, killedAt: point) }
    }
  }

  private func expectWhole(_ operation: Operation, killedAt point: Point) throws {
    startAgain()
    let killed = trace(operation, [point.call], ["-e", "inject=\(point.call):signal=KILL:when=\(point.number)"])
    #expect(killed.status == 128 + SIGKILL, "\(point)")
    let get = store.execute("get", "a")
    #expect(
      [operation.before, operation.after].contains(get.status == 10 ? nil : get.output), "\(point): \(get.errors)")
    // Of a group that is half removed, verify says so, until it is removed.
    expectSound(operation, point, verified: operation.arguments.prefix(2) == ["group", "remove"] ? [0, 14] : [0])
  }

  @Test func `killed at any call, init can be run again`() throws {
    let operation = Operation(arguments: ["init", "--key-file", store.folder.file("new-key")], again: [0, 22])
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    let clear = #"rm -rf "$folder/new" "$folder/new-state" "$folder/new-key""#
    for point in try points(of: operation, Self.calls, sample: 8) {
      store.shell(clear)
      let killed = trace(operation, [point.call], ["-e", "inject=\(point.call):signal=KILL:when=\(point.number)"])
      #expect(killed.status == 128 + SIGKILL, "\(point)")
      let again = store.execute(operation.arguments, input: [])
      #expect(operation.again.contains(again.status), "\(point): \(again.errors)")
      #expect(store.execute("set", "a", input: "x").status == 0, "\(point)")
      let verify = store.execute("verify")
      #expect(verify.status == 0, "\(point): \(verify.output)")
    }
  }

  @Test func `told that the disk is full, a command says 23 and has changed nothing, or has done all`() throws {
    try fill()
    let calls = ["write", "pwrite64", "ftruncate", "mkdir", "mkdirat", "rename", "renameat", "renameat2"]
    for operation in Operation.all {
      startAgain()
      for point in try points(of: operation, calls, sample: 1) {
        startAgain()
        let told = trace(operation, [point.call], ["-e", "inject=\(point.call):error=ENOSPC:when=\(point.number)"])
        #expect([0, 23].contains(told.status), "\(point): \(told.errors)")
        let get = store.execute("get", "a")
        let value = get.status == 10 ? nil : get.output
        #expect(value == (told.status == 0 ? operation.after : operation.before), "\(point): \(get.errors)")
        expectSound(operation, point, verified: operation.arguments.prefix(2) == ["group", "remove"] ? [0, 14] : [0])
      }
    }
  }

  @Test(arguments: 1...2) func `a change that the disk did not confirm is not called undone`(sync: Int) throws {
    try fill()
    startAgain()
    let operation = Operation.all[0]
    let told = trace(operation, ["fdatasync"], ["-e", "inject=fdatasync:error=EIO:when=\(sync)"])
    #expect([0, 23].contains(told.status))
    if told.status == 23 { #expect(told.errors.contains("may have been made or not"), "\(told.errors)") }
    let get = store.execute("get", "a")
    #expect(get.output == "new" || told.status == 23 && get.output == "old")
    #expect(store.execute("verify").status == 0)
  }
}
