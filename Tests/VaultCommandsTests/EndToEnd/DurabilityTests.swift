import Glibc
import Ground
import Synchronization
import TestSupport
import Testing

@testable import VaultCommands

/// An acknowledged write is on the disk.
@Suite struct DurabilityTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// The writes, syncs and renames of a command in order, according to strace: `write`, `sync` or `rename`, and the path of
  /// the file, which the system tells only root about a hardened process, or the new name.
  private func trace(_ command: String, input: String = "") throws -> [(call: String, path: String)] {
    let script = """
      strace -f -y -qq -o "$folder/trace" \
        -e trace=pwrite64,write,fsync,fdatasync,sync,syncfs,msync,sync_file_range,rename "$vault" \(command)
      """
    let result = store.shell(script, input: input)
    try #require(result.status == 0, "\(result.errors)")
    return String(decoding: store.folder.read("trace"), as: UTF8.self).split(separator: "\n").compactMap { line in
      let call = line.drop { $0.isNumber || $0 == " " }
      guard let end = call.firstIndex(of: "("), call.contains(" = ") else { return nil }
      if call.hasPrefix("rename") { return ("rename", String(call.split(separator: "\"").dropFirst(3).first ?? "")) }
      let path = call.split(separator: "<", maxSplits: 1).last?.prefix { $0 != ">" } ?? ""
      return (call[..<end].contains("sync") ? "sync" : "write", String(path))
    }
  }

  @Test(.needsRoot, .needsTracing)
  func `an output file is on the disk before it has its name, and its name before the command ends`() throws {
    store.execute("set", "a", input: "value")
    let calls = try trace("get a --output \"$folder/out\"")
    let folder = store.folder.path
    let place = try #require(calls.firstIndex { $0 == ("rename", "\(folder)/out") })
    let before = calls[..<place].filter { $0.path.hasPrefix("\(folder)/#") || $0.path.hasPrefix("\(folder)/.vault-") }
    #expect(before.map(\.call) == ["write", "sync"], "\(calls)")
    #expect(calls[place...].contains { $0 == ("sync", folder) }, "\(calls)")
  }

  @Test(.needsRoot, .needsTracing, arguments: [10, 600, 100_000, 400_000])
  func `a set syncs one to three times, and the log last`(byteCount: Int)
    throws
  {
    for _ in 0..<2 {
      let calls = try trace("set traced", input: String(repeating: "x", count: byteCount))
      let syncs = calls.filter { $0.call == "sync" }
      // A log that has grown large is moved into the file on this occasion.
      #expect((1...(byteCount > 1_000 ? 5 : 3)).contains(syncs.count), "\(syncs)")
      let inLog = calls.filter { $0.path.hasSuffix("group.vault-wal") }
      #expect(inLog.first?.call == "write")
      #expect(inLog.last?.call == "sync")
    }
  }

  /// After an error the system takes the pages for clean: another process would read the frames back, build on them, and
  /// its own sync would not write them.
  @Test(.needsTracing) func `what a failed sync left in the log is cut off`() throws {
    store.execute("set", "a", input: "one")
    let log = "store/groups/default/group.vault-wal"
    let before = store.folder.read(log)
    let failed = store.trace(["set", "a"], input: "two", ["fdatasync"], ["-e", "inject=fdatasync:error=EIO"])
    #expect(failed.status == 23, "\(failed.errors)")
    #expect(!before.isEmpty && store.folder.read(log) == before)
    #expect(store.execute("get", "a").output == "one")
    #expect(store.execute("set", "b", input: "three").status == 0)
  }

  @Test(.needsRoot, .needsTracing)
  func `a state that a killed writer may not have synced is on the disk before the witness names it`() throws {
    store.execute("set", "a", input: "one")
    let killing = ["-e", "inject=fdatasync:signal=KILL:when=1"]
    let killed = store.trace(["set", "a"], input: "two", ["fdatasync"], killing)
    #expect(killed.status != 0)
    let calls = try trace("get a")
    let raised = try #require(calls.firstIndex { $0.call == "write" && $0.path.contains("/witness/") }, "\(calls)")
    #expect(calls[..<raised].contains { $0.call == "sync" && $0.path.hasSuffix("group.vault-wal") }, "\(calls)")
  }

  @Test(.needsRoot, .needsTracing)
  func `the witness of a removed, new or accepted group is on the disk, and so is the folder of a new one`() throws {
    let made = try trace("group create team")
    #expect(made.contains { $0.call == "sync" && $0.path.hasSuffix("/groups") }, "\(made)")
    func expectSynced(_ command: String) throws {
      let calls = try trace(command)
      let syncs = calls.filter { $0.call == "sync" }.map(\.path)
      #expect(syncs.contains { $0.contains("/witness/") && $0.hasSuffix("/team") }, "\(calls)")
    }
    try expectSynced("group remove team --yes")
    try expectSynced("group create team")
    let old = store.shell(
      """
      cd "$folder/store/groups" && cp -a team ../old && printf x | "$vault" set a -g team && rm -r team && mv ../old team
      """)
    #expect(old.status == 0, "\(old.errors)")
    try expectSynced("group accept team --yes")
  }

  /// The results of all writers together.
  private struct Tally {
    var killed = 0
    var tries = 0
    var acknowledged: [Int: Int] = [:]
    var failures: [String] = []

    func isEnough(_ kills: Int) -> Bool { killed >= kills && acknowledged.count >= 3 || !failures.isEmpty }
  }

  private static func value(_ writer: Int, _ number: Int) -> [UInt8] {
    let start = Array("\(writer):\(number):".utf8)
    let count = [10, 600, 5_000, 70_000, 300_000][number % 5]
    return start + [UInt8](repeating: UInt8(ascii: "x"), count: count)
  }

  @Test func `writers killed at any moment lose no acknowledged write`() throws {
    let writers = 6
    let kills = RunLength.of(500, sample: 25)
    let environment = store.environment
    store.execute("set", "warm", input: "x")
    let tally = Mutex(Tally())
    onThreads(writers + 1) { writer in
      if writer == writers { return DurabilityTests.readMeanwhile(environment, tally, until: kills) }
      var random = SeededGenerator(seed: UInt64(writer))
      var number = 0
      // Estimates how long a set takes, so that some runs are killed and others finish.
      var longest = 100_000.0
      while tally.withLock({ !$0.isEnough(kills) }) {
        number += 1
        let process = Executable(
          ["set", "item\(writer)"], input: DurabilityTests.value(writer, number), environment: environment)
        usleep(UInt32.random(in: 0..<UInt32(longest), using: &random))
        process.send(SIGKILL)
        let result = process.wait()
        longest = max(1_000, min(longest * (result.status == 0 ? 0.8 : 1.2), 10_000_000))
        tally.withLock { tally in
          tally.tries += 1
          switch result.status {
          case 0: tally.acknowledged[writer] = number
          case 128 + SIGKILL: tally.killed += 1
          // On a slow disk its turn did not come in ten seconds.
          case 15: break
          default: tally.failures.append("\(result.status): \(result.errors)")
          }
        }
      }
    }
    let end = tally.withLock { $0 }
    #expect(end.failures.isEmpty)
    for writer in 0..<writers { expectKept(writer, atLeast: end.acknowledged[writer] ?? 0) }
    let verified = store.execute("verify")
    #expect(verified.status == 0, "\(verified.output)")
  }

  private static func readMeanwhile(_ environment: [String: String], _ tally: borrowing Mutex<Tally>, until kills: Int)
  {
    while tally.withLock({ !$0.isEnough(kills) }) {
      for arguments in [["get", "item0"], ["list"], ["status"], ["history", "warm"]] {
        let result = Executable(arguments, environment: environment).wait()
        if result.status == 0 || result.status == 10 && arguments[0] == "get" { continue }
        tally.withLock { $0.failures.append("\(arguments[0]) \(result.status): \(result.errors)") }
      }
    }
  }

  /// Checks that the item has one of the values that were set, complete and at least as new as the last acknowledged one.
  private func expectKept(_ writer: Int, atLeast acknowledged: Int) {
    let result = store.execute("get", "item\(writer)")
    if acknowledged == 0 && result.status == 10 { return }
    let fields = result.output.prefix(30).split(separator: ":")
    guard result.status == 0, fields.count > 1, let number = Int(fields[1]) else {
      Issue.record("item \(writer): \(result.status) \(result.errors)")
      return
    }
    #expect(number >= acknowledged)
    #expect(result.outputBytes == DurabilityTests.value(writer, number))
  }
}
