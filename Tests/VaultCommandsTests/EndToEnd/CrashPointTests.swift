import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// Every command that writes, killed before each of its system calls in turn, or run while one system call fails.
@Suite(.needsTracing) struct CrashPointTests {
  private let store: TestStore

  /// A command, and the allowed outcomes of running it again after an interruption.
  private struct Operation {
    let arguments: [String]
    var input = ""
    let again: Set<Int32>
    /// The value of `a` if the command did not take effect; nil if there is no such item.
    var before: String? = "old"
    /// The value of `a` if the command took effect.
    var after: String? = "old"
    /// Whether the group has lost a signed value before, so that the command rebuilds it elsewhere.
    var isOfDamage = false

    /// The allowed statuses of `verify` after the interruption. Until the command is repeated, it reports a group that is
    /// half removed, and one that still admits a credential which was replaced or is to be removed.
    var verified: Set<Int32> {
      let removes = arguments[0] == "revoke" || arguments.prefix(2) == ["group", "remove"]
      let isReported = removes || ["--replace", "--revoke"].contains(arguments.last)
      return Set(isOfDamage ? [0, 13] : [0]).union(isReported ? [14] : [])
    }

    static let all: [Operation] = [
      Operation(arguments: ["set", "a"], input: "new", again: [0], after: "new"),
      Operation(arguments: ["set", "b"], input: String(repeating: "n", count: 300_000), again: [0]),
      Operation(arguments: ["set", "fresh"], input: "new", again: [0]),
      Operation(arguments: ["remove", "a"], again: [0, 10], after: nil),
      Operation(arguments: ["remove", "a", "--destroy", "--yes"], again: [0, 10], after: nil),
      Operation(arguments: ["restore", "gone"], again: [0, 18]),
      Operation(arguments: ["move", "a", "--as", "moved"], again: [0, 10], after: nil),
      Operation(
        arguments: ["import", "-", "--replace", "--from", "dotenv"], input: "a=new\nfresh=new\n", again: [0],
        after: "new"),
      Operation(arguments: ["group", "create", "fresh"], again: [0, 22]),
      Operation(arguments: ["group", "remove", "other", "--yes"], again: [0, 10]),
      Operation(arguments: ["group", "compact", "default", "--yes"], again: [0]),
      Operation(arguments: ["group", "rotate", "default"], again: [0]),
      Operation(arguments: ["grant", "default", "com.example.web", "--rights", "read"], again: [0]),
      Operation(arguments: ["revoke", "default", "com.example.api"], again: [0, 10]),
      Operation(arguments: ["group", "share", "default", "--unix-group", "\(getegid())"], again: [0]),
      Operation(arguments: ["group", "share", "default", "--private"], again: [0]),
      Operation(arguments: ["app", "issue", "com.example.new", "--output", "$folder/new"], again: [0, 22]),
      Operation(
        arguments: ["app", "issue", "com.example.api", "--output", "$folder/new", "--replace"], again: [0, 22]),
      Operation(arguments: ["app", "uninstall", "com.example.api", "--revoke"], again: [0]),
      Operation(
        arguments: ["service", "enroll", "--output", "$folder/new", "--group", "default"], again: [0, 22]),
      Operation(arguments: ["app", "bind", "com.example.new", "--unit", "new"], again: [0]),
      Operation(
        arguments: ["revoke", "default", "com.example.api", "--accept", "--drop-unproved"], again: [0, 10],
        isOfDamage: true),
      Operation(arguments: ["group", "rotate", "default", "--drop-unproved"], again: [0], isOfDamage: true),
    ]
  }

  init() throws { store = try TestStore() }

  /// Fills the store and makes a copy from which each run starts.
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
    try damage()
  }

  /// Makes a second copy to start from, in which the middle of `b`'s value is damaged.
  private func damage() throws {
    try #require(store.execute("group", "compact", "default", "--yes").status == 0)
    let file = store.folder.read("store/groups/default/group.vault")
    // A page that begins with the number of the next page belongs to a long value.
    func word(_ page: Int) -> Int { file[page * 4_096..<page * 4_096 + 4].reduce(0) { $0 << 8 | Int($1) } }
    let page = try #require((1..<file.count / 4_096).first { word($0) == $0 + 2 })
    store.shell(
      """
      head -c 16 /dev/zero | dd of="$folder/store/groups/default/group.vault" bs=1 seek=\(page * 4_096 + 2_000) \
        conv=notrunc status=none
      """)
    try #require(store.execute("get", "b").status == 13 && store.execute("get", "a").output == "old")
    let copied = store.shell(#"mkdir "$folder/damaged" && cp -a "$folder/store" "$folder/state" "$folder/damaged""#)
    try #require(copied.status == 0)
  }

  private func startAgain(_ operation: Operation? = nil) {
    let base = operation?.isOfDamage == true ? "damaged" : "base"
    store.shell(#"rm -rf "$folder/store" "$folder/state" "$folder/new" && cp -a "$folder/\#(base)/." "$folder""#)
  }

  private func arguments(of operation: Operation) -> [String] {
    operation.arguments.map { $0.replacing("$folder", with: store.folder.path) }
  }

  private func expectSound(_ operation: Operation, _ point: TestStore.SystemCall) {
    #expect(store.execute("get", "keep").output == "kept", "\(point)")
    let verify = store.execute("verify")
    #expect(operation.verified.contains(verify.status), "\(point): \(verify.output)")
    let again = store.execute(arguments(of: operation), input: Array(operation.input.utf8))
    #expect(operation.again.contains(again.status), "\(point): \(again.errors)")
    #expect(store.execute("verify").status == 0, "\(point)")
    #expect(store.execute("set", "last", input: "x").status == 0, "\(point)")
    guard !operation.isOfDamage else { return }
    func left() -> String {
      store.shell(#"cd "$folder/store" && find . -path './set-aside/*' -o -name 'group.vault.*'"#).output
    }
    // The next command that makes a draft removes those of killed processes.
    if !left().isEmpty { #expect(store.execute("group", "rotate", "default").status == 0, "\(point)") }
    #expect(left().isEmpty, "\(point): \(left())")
  }

  @Test func `a command killed at any call has done everything or nothing, and can be repeated`() throws {
    try fill()
    for operation in Operation.all {
      startAgain(operation)
      for point in try store.systemCalls(of: arguments(of: operation), input: operation.input, sample: 3) {
        try expectWhole(operation, killedAt: point)
      }
    }
  }

  private func expectWhole(_ operation: Operation, killedAt point: TestStore.SystemCall) throws {
    startAgain(operation)
    let killed = store.trace(arguments(of: operation), input: operation.input, [point.name], point.killing)
    #expect(killed.status == 128 + SIGKILL, "\(point)")
    let get = store.execute("get", "a")
    #expect(
      [operation.before, operation.after].contains(get.status == 10 ? nil : get.output), "\(point): \(get.errors)")
    expectSound(operation, point)
  }

  @Test func `a move between groups that is killed at any call leaves the whole item in at least one group`() throws {
    try fill()
    startAgain()
    let move = Operation(arguments: ["move", "a", "--to", "other", "--replace"], again: [0, 10])
    var places: Set<[String?]> = []
    for point in try store.systemCalls(of: move.arguments, sample: 12) {
      startAgain()
      let killed = store.trace(move.arguments, [point.name], point.killing)
      #expect(killed.status == 128 + SIGKILL, "\(point)")
      let found = [["get", "a"], ["get", "a", "-g", "other"]].map { arguments in
        let get = store.execute(arguments, input: [])
        return get.status == 10 ? nil : get.output
      }
      #expect(found.contains("old") && Set(found).isSubset(of: ["old", nil]), "\(point)")
      places.insert(found)
      expectSound(move, point)
    }
    // At least one of the calls is between the two transactions.
    #expect(places.contains(["old", "old"]) || !RunLength.isFull)
  }

  @Test func `a grant that is killed at any call does not let in whoever was removed`() throws {
    try fill()
    startAgain()
    // A member of the older copy, which then comes back in the place of the group.
    let prepared = store.shell(
      """
      cp -a "$folder/store/groups/default" "$folder/older" && "$vault" revoke default com.example.api &&
      rm -rf "$folder/base" && mkdir "$folder/base" && cp -a "$folder/store" "$folder/state" "$folder/base"
      """)
    try #require(prepared.status == 0, "\(prepared.errors)")
    let grant = ["grant", "default", "com.example.api", "--rights", "read"]
    let get = ["get", "a", "-g", "default", "--credential", store.folder.file("api")]
    for point in try store.systemCalls(of: grant, ["fdatasync", "pwrite64"], sample: 12) {
      startAgain()
      #expect(store.trace(grant, [point.name], point.killing).status == 128 + SIGKILL, "\(point)")
      let isMember = store.execute(get, input: []).status == 0
      store.shell(#"cd "$folder/store/groups" && rm -rf default && cp -a "$folder/older" default"#)
      let accepted = store.execute("group", "accept", "default", "--yes")
      #expect(accepted.status == 0, "\(point): \(accepted.errors)")
      #expect(store.execute(get, input: []).status == 12 || isMember, "\(point)")
    }
  }

  @Test func `a grant on a full disk lets in whoever was removed, or says that it must be repeated`() throws {
    try fill()
    startAgain()
    let revoked = store.shell(
      """
      "$vault" revoke default com.example.api && rm -rf "$folder/base" && mkdir "$folder/base" &&
      cp -a "$folder/store" "$folder/state" "$folder/base"
      """)
    try #require(revoked.status == 0, "\(revoked.errors)")
    let grant = ["grant", "default", "com.example.api", "--rights", "read"]
    var unfinished = 0
    for point in try store.systemCalls(of: grant, ["pwrite64"], sample: 12) {
      startAgain()
      let told = store.trace(grant, [point.name], point.failing("ENOSPC"))
      #expect([0, 23].contains(told.status), "\(point): \(told.errors)")
      let verify = store.execute("verify").status
      let isUnfinished = told.errors.contains("to finish the change, repeat the command")
      #expect(verify == (isUnfinished ? 14 : 0), "\(point): \(told.errors)")
      if isUnfinished { unfinished += 1 }
      #expect(store.execute(grant, input: []).status == 0 && store.execute("verify").status == 0, "\(point)")
    }
    #expect(unfinished > 0 || !RunLength.isFull)
  }

  @Test func `init killed at any call can be repeated`() throws {
    let operation = Operation(arguments: ["init", "--key-file", store.folder.file("new-key")], again: [0, 22])
    store.environment["VAULT_HOME"] = store.folder.file("new")
    store.environment["VAULT_STATE"] = store.folder.file("new-state")
    let clear = #"rm -rf "$folder/new" "$folder/new-state" "$folder/new-key""#
    for point in try store.systemCalls(of: arguments(of: operation), sample: 8) {
      store.shell(clear)
      let killed = store.trace(arguments(of: operation), input: operation.input, [point.name], point.killing)
      #expect(killed.status == 128 + SIGKILL, "\(point)")
      let again = store.execute(operation.arguments, input: [])
      #expect(operation.again.contains(again.status), "\(point): \(again.errors)")
      #expect(store.execute("set", "a", input: "x").status == 0, "\(point)")
      let verify = store.execute("verify")
      #expect(verify.status == 0, "\(point): \(verify.output)")
    }
  }

  @Test func `on a full disk a command ends with 23 and has done everything or nothing`() throws {
    try fill()
    let calls = ["write", "pwrite64", "ftruncate", "mkdir", "mkdirat", "rename", "renameat", "renameat2"]
    for operation in Operation.all {
      startAgain(operation)
      for point in try store.systemCalls(of: arguments(of: operation), input: operation.input, calls, sample: 1) {
        startAgain(operation)
        let told = store.trace(arguments(of: operation), input: operation.input, [point.name], point.failing("ENOSPC"))
        #expect([0, 23].contains(told.status), "\(point): \(told.errors)")
        let get = store.execute("get", "a")
        let value = get.status == 10 ? nil : get.output
        #expect(value == (told.status == 0 ? operation.after : operation.before), "\(point): \(get.errors)")
        expectSound(operation, point)
      }
    }
  }

  @Test func `a file system that can neither exchange folders nor refuse a taken name is enough`() throws {
    try fill()
    for operation in Operation.all {
      startAgain(operation)
      let told = store.trace(
        arguments(of: operation), input: operation.input, ["renameat2"], ["-e", "inject=renameat2:error=EINVAL"])
      #expect(told.status == 0, "\(operation.arguments): \(told.errors)")
      expectSound(operation, TestStore.SystemCall(name: "renameat2", number: 0))
    }
  }

  @Test(arguments: [
    ["group", "rotate", "default"], ["revoke", "default", "com.example.api"],
    ["group", "share", "default", "--unix-group", "\(getegid())"],
  ])
  func `a group whose folders are exchanged in steps does not stay away if the command is killed`(
    _ arguments: [String]
  ) throws {
    try fill()
    var points = 0
    while true {
      startAgain()
      let killing = TestStore.SystemCall(name: "rename", number: points + 1).killing
      let options = ["-e", "inject=renameat2:error=EINVAL"] + killing
      let status = store.trace(arguments, ["renameat2", "rename"], options).status
      guard status == 128 + SIGKILL else {
        #expect(status == 0)
        break
      }
      points += 1
      // A verification or the same command puts the files back.
      let again = points % 2 == 0 ? arguments : ["verify"]
      let settled = store.execute(again, input: [])
      let isRevoked = arguments.first == "revoke" && [10, 14].contains(settled.status)
      #expect(settled.status == 0 || isRevoked, "\(points): \(settled.errors)")
      #expect(store.execute("get", "a").output == "old", "\(points)")
      #expect([0, 10].contains(store.execute(arguments, input: []).status), "\(points)")
      #expect(store.execute("verify").status == 0, "\(points)")
    }
    #expect(points >= 3)
  }

  @Test(arguments: 1...2) func `a change is not reported as undone if the disk did not confirm it`(sync: Int) throws {
    try fill()
    startAgain()
    let operation = Operation.all[0]
    let told = store.trace(
      arguments(of: operation), input: operation.input, ["fdatasync"],
      TestStore.SystemCall(name: "fdatasync", number: sync).failing("EIO"))
    #expect([0, 23].contains(told.status))
    if told.status == 23 { #expect(told.errors.contains("may have been made or not"), "\(told.errors)") }
    let get = store.execute("get", "a")
    #expect(get.output == "new" || told.status == 23 && get.output == "old")
    #expect(store.execute("verify").status == 0)
  }
}
