import Foundation
import Ground
import TestSupport
import Testing

@testable import GroupFile
@testable import Vault

/// The registry's record of who was removed from a group, while somebody puts files back, hides or damages them.
@Suite struct RemovalRecordTests {
  private let store: StoreFixture
  private let thief: SecretStore
  private let notAMember = VaultError.denied(.notAMember)

  init() throws {
    store = try StoreFixture()
    for group in ["team", "other"] { try store.open().createGroup(group).set("a", to: "old") }
    thief = try store.issue("thief", grants: [.init(.write, in: "team")])
    for group in ["team", "thief"] { try copy(folder(group), to: store.path("old-" + group)) }
  }

  private func folder(_ name: String) -> String { store.location.home + "/groups/" + name }

  private func copy(_ old: String, to new: String) throws { try FileManager.default.copyItem(atPath: old, toPath: new) }

  /// Puts the copy from before the removal back.
  private func putBack(_ name: String) throws {
    try? FileManager.default.removeItem(atPath: folder(name))
    try copy(store.path("old-" + name), to: folder(name))
  }

  /// The thief, as a member of the older copy.
  private func isRecorded() throws -> Bool { try store.open().registry().hasRemoved("thief", 1, from: "team") }

  private func expectStaysOut() throws {
    try store.open().acceptGroup("team")
    #expect(throws: notAMember) { try thief.value("a", in: "team") }
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
  }

  @Test func `a removal is recorded before it is made`() throws {
    // So many that progress is reported.
    try store.open().group("team").transaction { edit in
      for number in 0..<2_500 { edit.set("item/\(number)", to: "value") }
    }
    var seen: [Bool] = []
    let look = { (_: MaintenanceProgress) in
      let isMember = (try? thief.value("a", in: "team")) != nil
      seen.append((try? isMember && isRecorded()) == true)
    }
    try store.open().revoke("thief", from: "team", progress: look)
    #expect(seen.contains(true))
  }

  @Test func `a verification and a status while members come and go name nobody`() throws {
    try store.open().group("team").transaction { edit in
      for number in 0..<1_000 { edit.set("item/\(number)", to: "value") }
    }
    let isDone = Locked(false)
    let errors = onThreads(2) { thread in
      let open = try store.open()
      guard thread == 0 else {
        while !isDone.withLock({ $0 }) {
          for group in try open.verify() { _ = try group.result.get() }
          for group in try open.status().groups { if let problem = group.problem { throw problem } }
        }
        return
      }
      defer { isDone.withLock { $0 = true } }
      for _ in 0..<8 {
        try open.revoke("thief", from: "team")
        try open.grant(.write, in: "team", to: "thief")
      }
    }
    #expect(errors.isEmpty, "\(errors)")
    #expect(try thief.value("a", in: "team") == "old" && !isRecorded())
  }

  @Test func `a grant whose end the registry cannot record is not reported as undone`() throws {
    let member = try store.open().group("team").members.first { $0.application == "thief" }
    try store.open().registry().changeRemovals(of: ["thief"], from: "team") { _, _ in 1 }
    let (registry, hidden) = (folder("vault.owner"), store.path("hidden"))
    var change = RosterChange(grants: [.init(application: "thief", issue: 1, rights: try #require(member?.rights))])
    change.isStillWanted = { (try? FileManager.default.moveItem(atPath: registry, toPath: hidden)) != nil }
    #expect(throws: VaultError.storage(.unconfirmed)) { try store.open().change(AccessGroup.Name("team"), change) }
    try? FileManager.default.removeItem(atPath: registry)
    try FileManager.default.moveItem(atPath: hidden, toPath: registry)
    #expect(try isRecorded())
    try store.open().grant(.write, in: "team", to: "thief")
    #expect(try !isRecorded())
  }

  @Test func `a removal that fails leaves the record as it was`() throws {
    let connection = try Connection(at: ContainerPlace(folder: folder("team")), access: .writing)
    try connection.begin(.immediate)
    try connection.statement("DELETE FROM item").run()
    try connection.commit()
    connection.close()
    #expect(throws: VaultError.unproved(group: "team", items: 1, versions: 0)) {
      try store.open().revoke("thief", from: "team")
    }
    #expect(try !isRecorded())
    try store.open().revoke("thief", from: "team", droppingUnproved: true)
    #expect(try isRecorded())
  }

  @Test func `a removal that fails says so if its record stays, and the next change makes it`() throws {
    try store.open().group("team").transaction { edit in
      for number in 0..<2_500 { edit.set("item/\(number)", to: "value") }
    }
    let connection = try Connection(at: ContainerPlace(folder: folder("team")), access: .writing)
    try connection.begin(.immediate)
    try connection.statement("DELETE FROM item WHERE token = (SELECT max(token) FROM item)").run()
    try connection.commit()
    connection.close()
    let (registry, hidden) = (folder("vault.owner"), store.path("hidden"))
    let open = try store.open()
    let hide = { (_: MaintenanceProgress) in
      _ = try? FileManager.default.moveItem(atPath: registry, toPath: hidden)
    }
    #expect(throws: VaultError.unproved(group: "team", items: 1, versions: 0)) {
      try open.revoke("thief", from: "team", progress: hide)
    }
    let isNamed = open.takeNotices().contains { notice in
      if case .removalPending("team", _) = notice { true } else { false }
    }
    #expect(isNamed)
    try? FileManager.default.removeItem(atPath: registry)
    try FileManager.default.moveItem(atPath: hidden, toPath: registry)
    #expect(try isRecorded())
    let again = try store.open()
    try again.rotateGroup("team", droppingUnproved: true)
    #expect(again.takeNotices().contains(.memberPutOut(group: "team", application: "thief")))
    #expect(throws: notAMember) { try thief.value("item/1", in: "team") }
  }

  @Test func `a verification records what was removed while the registry was hidden`() throws {
    let (registry, hidden) = (folder("vault.owner"), store.path("hidden"))
    try FileManager.default.moveItem(atPath: registry, toPath: hidden)
    let open = try store.open()
    try open.revoke("thief", from: "team")
    let isNamed = open.takeNotices().contains { notice in
      if case .removalUnrecorded("team", _) = notice { true } else { false }
    }
    #expect(isNamed)
    try? FileManager.default.removeItem(atPath: registry)
    try FileManager.default.moveItem(atPath: hidden, toPath: registry)
    #expect(try !isRecorded())
    #expect(throws: Never.self) { try store.open().verify(groups: ["team"]).map { try $0.result.get() } }
    #expect(try isRecorded())
    try putBack("team")
    try expectStaysOut()
  }

  @Test func `a grant that fails does not let in whoever was removed`() throws {
    try store.open().revoke("thief", from: "team")
    try putBack("team")
    #expect(throws: VaultError.self) { try store.open().grant(.read, in: "team", to: "thief") }
    // The process may be killed at the question.
    var wasRecorded = false
    #expect(throws: VaultError.declined) {
      try store.open().grant(.read, in: "team", to: "thief") { _ in
        wasRecorded = (try? isRecorded()) == true
        return false
      }
    }
    #expect(wasRecorded)
    try expectStaysOut()
    try store.open().grant(.read, in: "team", to: "thief")
    #expect(try thief.value("a", in: "team") == "old" && !isRecorded())
  }

  @Test func `what an accepted registry lacks is recorded while nobody is let in`() throws {
    try store.open().revoke("thief", from: "team")
    try store.open().registry().group.destroy("removed/team/thief")
    let isHeld = CountingSemaphore()
    let isRaised = Locked(false)
    let errors = onThreads(2) { thread in
      let open = try store.open()
      if thread == 1 {
        isHeld.wait()
        try open.raiseIssues(isNew: true)
        isRaised.withLock { $0 = true }
      } else {
        try open.replacing(AccessGroup.Name("team")) { (_) throws(VaultError) in
          isHeld.signal()
          usleep(400_000)
          #expect(!isRaised.withLock { $0 } && (try? isRecorded()) == false)
        }
      }
    }
    #expect(errors.isEmpty && isRaised.withLock { $0 }, "\(errors)")
    #expect(try isRecorded())
  }

  private enum Absence: CaseIterable { case hidden, older, damaged }

  @Test(arguments: Absence.allCases)
  private func `an application that its private group has removed gets into no other while that is out of reach`(
    _ absence: Absence
  ) throws {
    try store.open().revoke("thief", from: "thief")
    switch absence {
    case .hidden: try FileManager.default.moveItem(atPath: folder("thief"), toPath: store.path("hidden"))
    case .older: try putBack("thief")
    case .damaged:
      try? FileManager.default.removeItem(atPath: folder("thief") + "/group.vault-wal")
      try Data("garbage".utf8).write(to: URL(fileURLWithPath: folder("thief") + "/group.vault"), options: [])
    }
    let refused = VaultError.rolledBack(group: "thief", found: 1, known: 1, reason: .olderIssue)
    #expect(throws: refused) { try store.open().grant(.read, in: "other", to: "thief") }
    #expect(throws: notAMember) { try thief.value("a", in: "other") }
  }

  @Test func `whoever an unreadable entry may mean stays out`() throws {
    try store.open().revoke("thief", from: "team")
    try store.open().registry().group.set("removed/team/thief", to: [1])
    try putBack("team")
    #expect(throws: Registry.damaged) { try store.open().acceptGroup("team") }
    #expect(throws: notAMember) { try thief.value("a", in: "team") }
  }

  @Test func `an entry that a repair could not keep is made again, unless the application is seen as a member`() throws
  {
    try store.open().revoke("thief", from: "team")
    try store.open().registry().group.destroy("removed/team/thief")
    let lost = ["removed/team/thief", "removed/thief/thief", "removed/team/nobody", "app/thief", "removed/team"]
    try putBack("team")
    try store.open().recordRemovals(lost: lost)
    #expect(try isRecorded() && !store.open().registry().hasRemoved("thief", 1, from: "thief"))
    try expectStaysOut()
  }

  @Test(arguments: [false, true]) func `something else in the place of a lock keeps nobody in`(isLink: Bool) throws {
    let folder = store.location.home + "/set-aside"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let place = folder + "/.lock-team"
    if isLink {
      try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: "/nowhere")
    } else {
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    }
    try store.open().revoke("thief", from: "team")
    #expect(throws: notAMember) { try thief.value("a", in: "team") }
  }

  @Test func `only the owner learns that an application is no member`() throws {
    #expect(throws: VaultError.denied(.ownerOnly)) { try thief.revoke("nobody", from: "team") }
    #expect(throws: VaultError.notFound(.member)) { try store.open().revoke("nobody", from: "team") }
  }
}
