import Foundation
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// One process makes or removes a group while another one inspects all groups.
struct LookingAgainTests {
  /// Opens the store and runs one of `actions` before each look at the group `name`, in order.
  private func open(_ store: StoreFixture, _ name: String, _ actions: (() throws -> Void)...) throws -> SecretStore {
    let open = try store.open()
    nonisolated(unsafe) var remaining = actions
    open.testOnlyBeforeLook.withLock {
      $0 = { looked in
        guard looked == name, unsafe !remaining.isEmpty else { return }
        do { unsafe try remaining.removeFirst()() } catch { Issue.record(error) }
      }
    }
    return open
  }

  /// Looks at the group "team" with `look`. Another process begins to make or remove it before that, and goes on while
  /// it is waited for.
  private func expectNothing(
    of look: @Sendable (SecretStore) throws -> [VaultError], _ store: StoreFixture, begun begin: () throws -> Void,
    goingOn end: () throws -> Void
  ) {
    let hasBegun = Locked(false)
    let errors = onThreads(2) { thread in
      guard thread == 0 else {
        #expect(eventually { hasBegun.withLock { $0 } })
        // Nothing shows that somebody waits for the lock, so give them time.
        usleep(50_000)
        return try end()
      }
      try withoutActuallyEscaping(begin) { begin in
        let open = try open(store, "team") {
          defer { hasBegun.withLock { $0 = true } }
          try begin()
        }
        let faults = try look(open)
        #expect(faults == [])
      }
    }
    #expect(errors.isEmpty)
  }

  private static let looks: [@Sendable (SecretStore) throws -> [VaultError]] = [
    { try $0.status().groups.compactMap(\.problem) },
    { try $0.verify().compactMap { if case .failure(let error) = $0.result { error } else { nil } } },
    { open in
      try open.backUp(to: open.location.home + "-backup").groups.compactMap {
        if case .failed(let error) = $0.outcome { error } else { nil }
      }
    },
  ]

  /// The lock of the folder of groups, as held by a process that makes or removes a group.
  private final class HeldLock {
    private let groups: Folder

    init(_ store: StoreFixture) throws {
      groups = try Folder(store.location.home + "/groups", .visible())
      try groups.file.lock(waiting: 10_000)
    }
  }

  private func change(_ witness: Witness, _ change: (inout WitnessRecord) -> Void) {
    #expect(
      withoutActuallyEscaping(change) { change in
        witness.raise { reading in
          guard case .valid(var record) = reading else { return nil }
          change(&record)
          return record
        }
      })
  }

  @Test func `a group that is removed after it was listed is not reported as a fault`() throws {
    for look in Self.looks {
      let store = try StoreFixture()
      try store.open().createGroup("team")
      let open = try open(store, "team", { try store.open().removeGroup("team") })
      #expect(try look(open) == [])
    }
  }

  @Test func `a group that is being removed is inspected again afterwards`() throws {
    for look in Self.looks {
      let store = try StoreFixture()
      try store.open().createGroup("team")
      let witness = try store.open().witness(AccessGroup.Name("team"))
      var lock: HeldLock?
      let begin = {
        lock = try HeldLock(store)
        let registry = try store.open().registry()
        if var entry = try registry.entry(of: AccessGroup.Name("team")) {
          entry.presence = .changing
          try registry.record(entry, of: AccessGroup.Name("team"))
        }
        change(witness) { $0.flags.insert(.removed) }
      }
      expectNothing(of: look, store, begun: begin) {
        // The lock is part of the removal, which takes it again.
        change(witness) { $0.flags.remove(.removed) }
        _ = lock
        lock = nil
        try store.open().removeGroup("team")
      }
    }
  }

  @Test func `a group that is being made again is inspected again when its witness is written`() throws {
    for look in Self.looks {
      let store = try StoreFixture()
      try store.open().createGroup("team")
      let witness = try store.open().witness(AccessGroup.Name("team"))
      var lock: HeldLock?
      var made: WitnessRecord?
      let begin = {
        guard case .valid(let old) = witness.read() else { return }
        try store.open().removeGroup("team")
        try store.open().createGroup("team")
        lock = try HeldLock(store)
        if case .valid(let new) = witness.read() { made = new }
        change(witness) {
          $0 = old
          $0.flags.insert(.removed)
        }
      }
      expectNothing(of: look, store, begun: begin) {
        if let made { change(witness) { $0 = made } }
        _ = lock
        lock = nil
      }
    }
  }

  @Test func `a read or a change while another process removes or makes the group waits for it`() throws {
    let looks: [@Sendable (SecretStore) throws -> Void] = [
      { _ = try $0.group("team").get("a") }, { try $0.group("team").set("b", to: "2") },
    ]
    // Before its file is moved away, a group is flagged as removed. Its witness has the other id until the new one is whole.
    let steps: [(inout WitnessRecord) -> Void] = [
      { $0.flags.insert(.removed) },
      {
        $0.groupID = GroupID(Randomness.bytes(32))!
        $0.flags.insert(.removed)
      },
    ]
    for (look, step) in looks.flatMap({ look in steps.map { (look, $0) } }) {
      let store = try StoreFixture()
      try store.open().createGroup("team").set("a", to: "1")
      let witness = try store.open().witness(AccessGroup.Name("team"))
      guard case .valid(let whole) = witness.read() else { throw VaultError.notFound(.group) }
      let open = try store.open()
      var lock: HeldLock? = try HeldLock(store)
      change(witness, step)
      onThreads(2) { thread in
        guard thread == 0 else {
          #expect(throws: Never.self) { try look(open) }
          return
        }
        // Whoever looks before the lock is released waits for it. Nothing shows that, so give them time.
        usleep(50_000)
        change(witness) { $0 = whole }
        _ = lock
        lock = nil
      }
    }
  }

  @Test func `a removed group that is back is still reported`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    let group = store.location.home + "/groups/team"
    try FileManager.default.copyItem(atPath: group, toPath: store.folder + "/copy")
    try store.open().removeGroup("team")
    try FileManager.default.copyItem(atPath: store.folder + "/copy", toPath: group)
    let back = VaultError.rolledBack(group: "team", found: 1, known: 1, reason: .broughtBack)
    #expect(throws: back) { try store.value("a", in: "team") }
    #expect(throws: back) { try store.open().group("team").set("a", to: "1") }
  }

  @Test func `whoever makes or removes groups for too long is reported as busy`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "1")
    let open = try store.open()
    let lock = try HeldLock(store)
    change(try store.open().witness(AccessGroup.Name("team"))) { $0.flags.insert(.removed) }
    #expect(throws: VaultError.busy(group: "team")) { _ = try open.group("team").get("a") }
    withExtendedLifetime(lock) {}
  }

  @Test func `a group that is removed after its entry was read has not vanished`() throws {
    for look in Self.looks.prefix(2) {
      let store = try StoreFixture()
      try store.open().createGroup("team")
      let open = try open(store, "vault.owner", { try store.open().removeGroup("team") })
      #expect(try look(open) == [])
    }
  }

  @Test func `a fault that remains while nobody makes or removes groups is reported`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    try FileManager.default.removeItem(atPath: store.location.home + "/groups/team")
    let vanished = VaultError.rolledBack(group: "team", found: 0, known: 1, reason: .vanished)
    for look in Self.looks.prefix(2) { #expect(try look(store.open()) == [vanished]) }
  }
}
