import Glibc
import Ground
import Synchronization
import TestSupport
import Testing

@testable import VaultCommands

/// Many processes that use one group at the same time.
@Suite struct ManyProcessesTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  /// Runs a script many times at once; `$number` differs in each.
  ///
  /// - Returns: their whole output on stdout and stderr.
  private func atOnce(_ count: Int, _ script: String, beside other: String? = nil) -> String {
    let environment = store.scriptEnvironment
    let words = Mutex("")
    onThreads(other == nil ? count : count + 1) { number in
      let result = Executable(
        ["-c", number < count ? script : other!], program: "/bin/sh",
        environment: environment.merging(["number": String(number)]) { $1 }
      ).wait()
      words.withLock { $0 += result.output + result.errors }
    }
    return words.withLock { $0 }
  }

  @Test func `sixteen processes set and get without losing an update or failing to read`() {
    let rounds = RunLength.of(100, sample: 2)
    #expect(store.execute("set", "warm", input: "x").status == 0)
    let words = atOnce(
      16,
      """
      \(TestStore.put)
      for round in $(seq \(rounds)); do
        put common $number
        "$vault" get common >/dev/null || echo "get common: $?"
        put own$number $round
        [ "$("$vault" get own$number)" = $round ] || echo "get own: not what was set"
      done
      """,
      beside: """
        for round in $(seq \(rounds)); do
          for command in status verify list "history warm" "info warm"; do
            "$vault" $command >/dev/null || echo "$command: $?"
          done
        done
        """)
    #expect(words.isEmpty, "\(words)")
    #expect(store.execute("history", "common").output.hasPrefix("\(16 * rounds)\tpresent\t"))
    for number in 0..<16 {
      #expect(store.execute("history", "own\(number)").output.hasPrefix("\(rounds)\tpresent\t"))
    }
    #expect(store.execute("verify").status == 0)
  }

  @Test func `a counter that many processes raise with --if-version counts every turn`() {
    let rounds = RunLength.of(50, sample: 3)
    #expect(store.execute("set", "count", input: "0").status == 0)
    let words = atOnce(
      4,
      """
      for round in $(seq \(rounds)); do
        status=18
        while [ $status = 18 ] || [ $status = 15 ]; do
          json=$("$vault" get count --json) || echo "get: $?"
          version=${json#*\\"version\\":} && version=${version%%,*}
          value=${json#*\\"value\\":\\"} && value=${value%%\\"*}
          printf %s $((value + 1)) | "$vault" set count --if-version $version 2>/dev/null
          status=$?
        done
        [ $status = 0 ] || echo "set: $status"
      done
      """)
    #expect(words.isEmpty, "\(words)")
    #expect(store.execute("get", "count").output == String(4 * rounds))
  }

  @Test func `exactly one of two processes changes the same version`() {
    for version in 0..<RunLength.of(50, sample: 4) {
      let both = ["left", "right"].map { side in
        Executable(
          ["set", "contested", "--if-version", String(version)], input: Array("\(side) \(version)".utf8),
          environment: store.environment)
      }
      let statuses = both.map { $0.wait().status }
      #expect(statuses.sorted() == [0, 18])
      let winner = statuses[0] == 0 ? "left" : "right"
      #expect(store.execute("get", "contested").output == "\(winner) \(version)")
    }
  }

  @Test func `exactly one of two processes makes the same store or group`() {
    for round in 0..<RunLength.of(30, sample: 2) {
      for arguments in [["group", "create", "g\(round)"], ["init", "--key-file", store.folder.file("key\(round)")]] {
        var environment = store.environment
        if arguments[0] == "init" {
          environment["VAULT_HOME"] = store.folder.file("store\(round)")
          environment["VAULT_STATE"] = store.folder.file("state\(round)")
        }
        let both = (0..<2).map { _ in Executable(arguments, environment: environment) }
        let results = both.map { $0.wait() }
        #expect(results.filter { $0.status == 0 }.count == 1, "\(arguments): \(results)")
        // On a slow disk, the other one may give up first.
        #expect(results.allSatisfy { [0, 15, 22].contains($0.status) }, "\(arguments): \(results)")
        #expect(Executable(["verify"], environment: environment).wait().status == 0)
      }
    }
  }

  /// Holds the writers' lock of the group, as a stopped writer would.
  private func holdLock() -> Int32 {
    let descriptor = unsafe open(store.groupFolder + "/lock", O_RDWR | O_CLOEXEC)
    #expect(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    return descriptor
  }

  @Test func `a writer waits for another writer, and readers do not`() {
    #expect(store.execute("set", "a", input: "old").status == 0)
    let lock = holdLock()
    let waiting = Executable(["set", "a"], input: Array("new".utf8), environment: store.environment)
    var file = stat()
    #expect(unsafe fstat(lock, &file) == 0)
    #expect(eventually { lockWaiterCount(inode: UInt64(file.st_ino)) > 0 || waiting.hasEnded })
    #expect(store.execute("get", "a").output == "old")
    #expect(!waiting.hasEnded)
    close(lock)
    #expect(waiting.wait().status == 0)
    #expect(store.execute("verify").status == 0)
    #expect(store.execute("get", "a").output == "new")
  }

  @Test(.needsTime) func `a writer gives up with 15 after waiting for ten seconds`() {
    #expect(store.execute("set", "a", input: "old").status == 0)
    let lock = holdLock()
    defer { close(lock) }
    let began = ContinuousClock.now
    let result = store.execute("set", "a", input: "new")
    #expect(result.status == 15)
    #expect(result.errors.hasPrefix("vault: error: 'default' is in use by another process or thread\n"))
    #expect(ContinuousClock.now - began > .seconds(9))
    #expect(store.execute("get", "a").output == "old")
  }

  @Test func `a reader whose output is blocked does not block a writer`() {
    for number in 0..<3 {
      let label = String(repeating: "l", count: 60_000)
      #expect(store.execute("set", "long\(number)", "--label", label, input: "v").status == 0)
    }
    let setPipeSize: Int32 = 1_031
    let readers = ["list --json", "list"].map { arguments in
      let (reading, writing) = Pipe.pair()
      defer { close(writing) }
      // Uses the smallest possible pipe, so that each of them has more output than fits.
      #expect(fcntl(reading, setPipeSize, 4_096) == 4_096)
      let process = Executable(
        ["-c", "exec \"$vault\" \(arguments) >&3"], program: "/bin/sh", environment: store.scriptEnvironment,
        extra: [writing])
      return (process, reading)
    }
    for (process, reading) in readers {
      #expect(eventually { Pipe.unreadCount(reading) == 4_096 })
      // The bytes 120 to 127 of the index are locked while a snapshot is read or written.
      let locks = store.shell("cat /proc/locks").output.split(separator: "\n").map { $0.split(separator: " ") }
      #expect(
        locks.filter { $0.dropFirst(4).first == "\(process.process)" && (120...127).contains(Int($0[6]) ?? 0) } == [])
    }
    let big = String(repeating: "x", count: 200_000)
    for number in 0..<4 { #expect(store.execute("set", "big\(number)", input: big).status == 0) }
    for (process, reading) in readers {
      #expect(Pipe.readAll(reading).count > 4_096)
      close(reading)
      #expect(process.wait().status == 0)
    }
  }
}
