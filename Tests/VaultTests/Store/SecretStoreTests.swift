import Foundation
import TestSupport
import Testing

@testable import Vault

extension SecretStore {
  /// The status of a store that perhaps nothing opens, as `vault status` shows it.
  static func status(at location: StoreLocation) throws(VaultError) -> StoreStatus {
    do { return try open(at: location).status() } catch .locked(let reason) {
      return try lockedStatus(location, .locked(reason))
    }
  }
}

/// A new store in its own folder, opened with a key file.
final class StoreFixture {
  let folder: String
  let location: StoreLocation
  var keyFile: String { folder + "/key" }

  init() throws {
    folder = NSTemporaryDirectory() + "vault-store-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    location = try StoreLocation(home: folder + "/home", state: folder + "/state")
    try SecretStore.create(at: location, with: .keyFile(folder + "/key"))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func open() throws -> SecretStore { try SecretStore.open(at: location, unlocking: .keyFile(keyFile)) }

  func value(_ name: String, in group: String = "default", version: UInt64? = nil) throws -> String? {
    let secret = try open().group(group).get(name, version: version)
    return secret.exportInsecurelyAsString()
  }
}

struct SecretStoreTests {
  @Test func `with a damaged witness of its name no group is made`() throws {
    let store = try StoreFixture()
    let witnesses = store.folder + "/state/witness/"
    let known = try #require(FileManager.default.subpaths(atPath: witnesses)?.first { $0.hasSuffix("/default") })
    #expect(
      FileManager.default.createFile(
        atPath: witnesses + known.dropLast("default".count) + "fresh", contents: Data(repeating: 7, count: 512),
        attributes: [.posixPermissions: 0o600]))
    #expect(throws: VaultError.damaged(group: "fresh", level: .witness, detail: "neither record is valid")) {
      try store.open().createGroup("fresh")
    }
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/groups/fresh"))
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
  }

  @Test func `reads of one state agree even if another program writes between them`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("item", to: "before")
    _ = try group.get("item")
    let state = try group.state()
    try store.open().group("default").set("item", to: "after")
    let opened = try state.open("item")
    #expect(opened.secret.exportInsecurelyAsString() == "before")
    #expect(try state.history("item").count == 1)
    #expect(try store.value("item") == "after")
  }

  @Test func `a new key leaves neither a draft nor the replaced files in the store`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let group = try open.group("default")
    try group.set("db/password", to: "s3cr3t")
    for generation in 2...3 { #expect(try open.rotateGroup("default") == UInt64(generation)) }
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/home/set-aside"))
    // A group that was opened before goes on with the new files.
    #expect(try group.set("db/password", to: "n3w") == 2)
    #expect(try store.value("db/password") == "n3w")
  }

  @Test func `one process reads what another one has set`() throws {
    let store = try StoreFixture()
    #expect(try store.open().group("default").set("db/password", to: "s3cr3t") == 1)
    #expect(try store.open().group("default").set("db/password", to: "n3w", ifVersion: 1) == 2)
    #expect(try store.value("db/password") == "n3w")
    #expect(try store.value("db/password", version: 1) == "s3cr3t")
    #expect(throws: VaultError.conflict(expected: 1, present: 2)) {
      try store.open().group("default").set("db/password", to: "x", ifVersion: 1)
    }
  }

  @Test func `a recovery in the place of groups without an identity is refused before a key is asked for`() throws {
    let store = try StoreFixture()
    let backup = store.path("backup")
    try store.open().backUp(to: backup)
    try FileManager.default.removeItem(atPath: store.location.home + "/identity")
    var isAsked = false
    let missing = VaultError.damaged(group: nil, level: .identity, detail: "the store lacks it, but has groups")
    #expect(throws: missing) {
      try StoreRecovery(from: backup, at: store.location) { (_) throws(VaultError) in
        isAsked = true
        return .keyFile(store.keyFile)
      }
    }
    #expect(!isAsked && !FileManager.default.fileExists(atPath: store.location.home + "/identity"))
  }

  @Test func `a second store at the same place is refused, and the first one is unchanged`() throws {
    let store = try StoreFixture()
    try store.open().group("default").set("a", to: 1)
    #expect(throws: VaultError.exists(.storeAtPlace)) {
      try SecretStore.create(at: store.location, with: .keyFile(store.keyFile))
    }
    #expect(try store.value("a") == "1")
  }

  @Test(arguments: ["", "/state"]) func `a state folder inside the store is refused`(name: String) throws {
    let store = try StoreFixture()
    try store.open().backUp(to: store.path("backup"))
    let home = store.path("new")
    let location = try StoreLocation(home: home, state: home + name)
    #expect(throws: inside) { try SecretStore.create(at: location, with: .keyFile(store.path("new-key"))) }
    #expect(throws: inside) {
      try StoreRecovery(from: store.path("backup"), at: location) { _ throws(VaultError) in .keyFile(store.keyFile) }
    }
    let link = store.path("link")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: store.folder)
    let linked = try StoreLocation(home: home, state: link + "/new" + name)
    #expect(throws: inside) { try SecretStore.create(at: linked, with: .keyFile(store.path("new-key"))) }
    #expect(![home, store.path("new-key")].contains(where: FileManager.default.fileExists))
    // One that was made by an earlier build is named.
    let moved = try StoreLocation(home: store.location.home, state: store.location.home + name)
    let open = try SecretStore.open(at: moved, unlocking: .keyFile(store.keyFile))
    #expect(try open.status().notices.contains(.stateInsideStore))
    _ = try open.verify()
    #expect(open.takeNotices().contains(.stateInsideStore))
  }

  private let inside = VaultError.invalid(
    "the state folder must be outside the store, because it shows that a copy of the store is older")

  @Test func `the key file that made the store is remembered`() throws {
    let store = try StoreFixture()
    #expect(try SecretStore.open(at: store.location).group("default").items().isEmpty)
    try FileManager.default.removeItem(atPath: store.keyFile)
    let missing = VaultError.locked(.keyFile(.missing, path: store.keyFile))
    #expect(throws: missing) { try SecretStore.open(at: store.location) }
    #expect("\(missing)" == "locked: the key file '\(store.keyFile)' does not exist")
    let status = try SecretStore.status(at: store.location)
    #expect(status.lock != nil && status.groups.map(\.name) == ["default"] && status.groups[0].epoch == 1)
  }

  @Test func `the status shows a missing state folder, whether or not the store is locked`() throws {
    let store = try StoreFixture()
    try FileManager.default.removeItem(atPath: store.folder + "/state")
    for status in [try SecretStore.status(at: store.location), try store.open().status()] {
      #expect(status.notices == [.witnessUnavailable(reason: "the state folder does not exist")])
      let problem = VaultError.witnessUnavailable(group: "default", reason: "the state folder does not exist")
      #expect(status.groups.map(\.problem) == [problem] && !status.groups[0].isVerified)
    }
  }

  @Test func `the status shows a missing group, which can be accepted even if it was never seen`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("lost")
    try store.open().group("lost").set("a", to: 1)
    for folder in ["/home/groups/lost", "/state/witness"] {
      try FileManager.default.removeItem(atPath: store.folder + folder)
    }
    let vanished = VaultError.rolledBack(group: "lost", found: 0, known: 1, reason: .vanished)
    #expect(try store.open().status().groups.map(\.problem) == [nil, vanished])
    #expect(try store.open().verify().contains { $0.name == "lost" })
    #expect(try store.open().acceptGroup("lost") == .removal)
    #expect(try store.open().status().groups.map(\.name) == ["default"])
    try store.open().createGroup("lost")
    #expect(throws: VaultError.notFound(.group)) { try store.open().acceptGroup("never") }
  }

  @Test func `a transaction is applied completely or not at all`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("b", to: "old")
    try group.transaction { edit in
      edit.set("a", to: 1)
      edit.remove("b")
    }
    #expect(try store.value("a") == "1")
    #expect(throws: VaultError.notFound(.item)) { try store.value("b") }
    #expect(throws: VaultError.notFound(.item)) {
      try group.transaction { edit in
        edit.set("a", to: 2)
        edit.remove("nothing")
      }
    }
    #expect(try store.value("a") == "1")
  }

  @Test func `a transaction reads its own changes`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("a", to: 1, Details(label: .to("old")))
    try group.transaction { edit in
      edit.set("a", to: 2, Details(label: .to("new")))
      let opened = try edit.open("a")
      #expect(opened.item.label == "new" && opened.item.kind == .int && opened.item.version == 2)
      #expect(opened.secret.exportInsecurelyAsString() == "2")
      edit.remove("a")
      #expect(throws: VaultError.notFound(.item)) { _ = try edit.open("a") }
    }
    #expect(throws: VaultError.notFound(.item)) { try store.value("a") }
  }

  @Test func `a list opens its items in the state that it shows`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    try group.set("a", to: "old")
    let list = try group.list()
    try group.set("a", to: "new")
    try group.set("b", to: "new")
    #expect(try list.open("a").secret.exportInsecurelyAsString() == "old")
    #expect(throws: VaultError.notFound(.item)) { _ = try list.open("b") }
    #expect(try store.value("b") == "new")
  }

  @Test func `groups can be made, verified and removed`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team.shared", NewGroup(keep: 3)).set("x", to: "y")
    #expect(try open.groupNames() == ["default", "team.shared"])
    #expect(throws: VaultError.exists(.group)) { try open.createGroup("team.shared") }
    for group in try open.verify() { #expect(throws: Never.self) { try group.result.get() } }
    try FileManager.default.removeItem(atPath: store.location.home + "/groups/team.shared")
    #expect(throws: VaultError.self) { try open.createGroup("team.shared") }
    #expect(throws: VaultError.rolledBack(group: "team.shared", found: 0, known: 2, reason: .vanished)) {
      try store.value("x", in: "team.shared")
    }
    #expect(try open.acceptGroup("team.shared") == .removal)
    try open.createGroup("team.shared")
    try open.removeGroup("team.shared")
    #expect(throws: VaultError.notFound(.group)) { try store.value("x", in: "team.shared") }
    for group in try open.verify() { #expect(throws: Never.self) { try group.result.get() } }
  }

  @Test func `a watch reports an item that was made anew with its former version`() throws {
    let store = try StoreFixture()
    let owner = try store.open()
    let group = try owner.group("default")
    try group.set("a", to: "one")
    let watch = try group.watch()
    try group.remove("a")
    try owner.compactGroup("default")
    try group.set("a", to: "two")
    #expect(try watch.next()?.map(\.version) == [1])
  }

  @Test(.timeLimit(.minutes(5)))
  func `a watch works although the system allows no further one`() throws {
    let store = try StoreFixture()
    let group = try store.open().group("default")
    var taken: [Int32] = []
    while case let descriptor = inotify_init1(Int32(IN_CLOEXEC)), descriptor >= 0 { taken.append(descriptor) }
    let made = Result { try group.watch() }
    for descriptor in taken { close(descriptor) }
    let watch = try made.get()
    try group.set("a", to: "one")
    #expect(try watch.next()?.map(\.name.description) == ["a"])
  }

  @Test func `a watch reports exactly what changed, whatever was done between two looks`() throws {
    let store = try StoreFixture()
    let owner = try store.open()
    let group = try owner.group("default")
    func versions() throws -> [String: UInt64] {
      Dictionary(uniqueKeysWithValues: try group.items().map { ($0.name.description, $0.version) })
    }
    // So many that leaves become branches.
    try group.transaction { edit in for number in 0..<300 { edit.set("item \(number)", to: number) } }
    let watch = try group.watch()
    var random = SystemRandomNumberGenerator()
    var known = try versions()
    for round in 0..<40 {
      try group.transaction { edit in
        for number in 0..<Int.random(in: 1...(round % 8 == 0 ? 200 : 3), using: &random) {
          edit.set("item \(Int.random(in: 0..<1_000, using: &random))", to: number)
        }
      }
      for name in known.keys.shuffled().prefix(round % 3) { try group.remove(name) }
      if round % 10 == 7 { try owner.compactGroup("default") }
      if round % 13 == 12 { try owner.rotateGroup("default") }
      let now = try versions()
      var expected: [String: UInt64?] = now.filter { known[$0.key] != $0.value }.mapValues { $0 }
      for name in known.keys where now[name] == nil { expected.updateValue(nil, forKey: name) }
      let changes = try #require(try watch.next())
      #expect(changes.map(\.name.description) == expected.keys.sorted(), "round \(round)")
      #expect(changes.allSatisfy { expected[$0.name.description] == $0.version }, "round \(round)")
      known = now
    }
  }

  @Test func `a watch refuses a state that is too old only once it has changed`() throws {
    let store = try StoreFixture()
    let known = try store.open().group("default")
    let isOld = Locked(false)
    let group = AccessGroup(
      .init(known.name, .file(try known.file), known.notices) { (_) throws(VaultError) in
        if isOld.withLock({ $0 }) { throw .unordered(.tooOld(seconds: 2, limit: 1)) }
      })
    let watch = try group.watch()
    watch.cancel()
    isOld.withLock { $0 = true }
    #expect(try watch.next() == nil)
    try known.set("a", to: 1)
    #expect(throws: VaultError.unordered(group: "default", .tooOld(seconds: 2, limit: 1))) { try watch.next() }
    #expect(try store.value("a") != nil)
  }

  @Test func `a wait of a watch ends in its time, however often readers use the lock`() throws {
    let store = try StoreFixture()
    let watch = try store.open().group("default").watch()
    // Each wait is as long as all before it together, so the last one takes a quarter of a second.
    for _ in 0..<9 { #expect(watch.wait()) }
    let lock = store.location.home + "/groups/default/lock"
    let hasBegun = Locked(false)
    let hasEnded = Locked(false)
    onThreads(2) { thread in
      if thread == 0 {
        #expect(eventually { hasBegun.withLock { $0 } })
        #expect(watch.wait())
        hasEnded.withLock { $0 = true }
      } else {
        // The limit only ends a hang.
        let limit = Deadline(after: 20_000)
        while !hasEnded.withLock({ $0 }) {
          guard !limit.hasPassed else {
            Issue.record("the wait goes on as long as there are events")
            return
          }
          // Changes nothing, and is an event like a reader's.
          #expect(unsafe truncate(lock, 0) == 0)
          hasBegun.withLock { $0 = true }
        }
      }
    }
  }
}
