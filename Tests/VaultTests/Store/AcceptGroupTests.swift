import Foundation
import Sealing
import TestSupport
import Testing

@testable import GroupFile
@testable import Vault

/// The owner accepts a group that differs from what this machine, or the owner's registry, knows.
struct AcceptGroupTests {
  private let another = VaultError.anotherGroup("team")

  private func folder(_ name: String, in store: StoreFixture) -> String { store.location.home + "/groups/" + name }

  /// A store whose group `team` was removed and made again, and then replaced by the old folder, of which `mal` is a member.
  private func remade() throws -> (store: StoreFixture, putBack: () throws -> Void, mal: SecretStore) {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("old", to: "o")
    let mal = try store.issue("mal", grants: [.init(.write, in: "team")])
    try FileManager.default.copyItem(atPath: folder("team", in: store), toPath: store.path("old"))
    try store.open().removeGroup("team")
    try store.open().createGroup("team").set("new", to: "n")
    let team = folder("team", in: store)
    return (
      store,
      {
        try? FileManager.default.removeItem(atPath: team)
        try FileManager.default.copyItem(atPath: store.path("old"), toPath: team)
      }, mal
    )
  }

  private func forgetWitnesses(_ store: StoreFixture) throws {
    try FileManager.default.removeItem(atPath: store.folder + "/state/witness")
  }

  private func expectVerified(_ store: StoreFixture) throws {
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
  }

  @Test func `another group under a known name is not accepted by mistake`() throws {
    let (store, putBack, _) = try remade()
    try putBack()
    var asked = false
    #expect(throws: another) {
      try store.open().acceptGroup("team") { _ in
        asked = true
        return true
      }
    }
    #expect(!asked)
    #expect(throws: another) { try store.value("old", in: "team") }
  }

  @Test func `accepting another group first names its members, and gives it a new roster and key`() throws {
    let (store, putBack, mal) = try remade()
    try putBack()
    let group = try store.open().group("team")
    var members: [String?] = []
    let accepted = try store.open().acceptGroup("team", another: true) { state in
      members = state.members.map(\.who.application)
      #expect(state.reason == .anotherGroup && state.knownEpoch == nil)
      #expect(throws: another) { try group.info() }
      return true
    }
    #expect(accepted == .accepted(epoch: 4) && Set(members) == [nil, "mal"])
    let info = try store.open().group("team").info()
    #expect(info.generation == 2 && info.rosterRevision == 3)
    #expect(try mal.value("old", in: "team") == "o")
    // The registry now knows this group.
    try expectVerified(store)
    #expect(try store.open().acceptGroup("team") == .nothingToAccept)
  }

  @Test func `a machine that never saw a group asks the registry for its id`() throws {
    let (store, putBack, _) = try remade()
    try putBack()
    try forgetWitnesses(store)
    #expect(throws: another) { try store.value("old", in: "team") }
    #expect(throws: another) { try store.open().group("team").set("x", to: "y") }
    #expect(try store.open().status().groups.compactMap(\.problem) == [another])
    #expect(throws: another) { try store.open().acceptGroup("team") }
  }

  @Test func `a removed group is not taken for a new one on a machine that never saw it`() throws {
    let (store, putBack, _) = try remade()
    try store.open().removeGroup("team")
    try putBack()
    try forgetWitnesses(store)
    #expect(throws: another) { try store.value("old", in: "team") }
    let removed = try StoreFixture()
    try removed.open().createGroup("team").set("old", to: "o")
    try FileManager.default.copyItem(atPath: folder("team", in: removed), toPath: removed.path("old"))
    try removed.open().removeGroup("team")
    try FileManager.default.copyItem(atPath: removed.path("old"), toPath: folder("team", in: removed))
    try forgetWitnesses(removed)
    #expect(throws: VaultError.rolledBack(group: "team", found: 2, known: 2, reason: .broughtBack)) {
      try removed.value("old", in: "team")
    }
    var reason: AcceptanceReason?
    try removed.open().acceptGroup("team") { state in
      reason = state.reason
      return true
    }
    #expect(reason == .removed)
    #expect(try removed.open().group("team").info().generation == 2)
    try expectVerified(removed)
  }

  /// As after a restored backup, or an older registry: it names a group whose members may have been removed since.
  @Test(arguments: [false, true])
  func `a group that the registry names and this machine does not know is taken on purpose, under a new key`(
    isRemovedAgain: Bool
  ) throws {
    let store = try StoreFixture()
    let name = try AccessGroup.Name("team")
    try store.open().createGroup("team").set("old", to: "o")
    let mal = try store.issue("mal", grants: [.init(.write, in: "team")])
    let id = try store.open().group("team").verifiedState().manifest.groupID
    try FileManager.default.copyItem(atPath: folder("team", in: store), toPath: store.path("old"))
    try store.open().revoke("mal", from: "team")
    try store.open().removeGroup("team")
    try store.open().createGroup("team").set("new", to: "n")
    if isRemovedAgain { try store.open().removeGroup("team") }
    try? FileManager.default.removeItem(atPath: folder("team", in: store))
    try FileManager.default.copyItem(atPath: store.path("old"), toPath: folder("team", in: store))
    try store.open().registry().recordPresence(of: name, id)
    #expect(throws: another) { try store.value("old", in: "team") }
    #expect(throws: another) { try store.open().acceptGroup("team") }
    var reason: AcceptanceReason?
    let accepted = try store.open().acceptGroup("team", another: true) { state in
      reason = state.reason
      return true
    }
    #expect(reason == .anotherGroup && accepted != .nothingToAccept)
    let info = try store.open().group("team").info()
    #expect(info.generation == 2 && !info.members.contains { $0.application == "mal" })
    try store.open().group("team").set("later", to: "l")
    #expect(throws: VaultError.self) { try mal.value("later", in: "team") }
    try expectVerified(store)
  }

  @Test func `a group that an older registry lacks is missed if its files are gone`() throws {
    let store = try StoreFixture()
    let owner = try store.open()
    let registry = folder("vault.owner", in: store)
    try FileManager.default.copyItem(atPath: registry, toPath: store.path("registry"))
    try owner.createGroup("team").set("a", to: "x")
    try FileManager.default.removeItem(atPath: folder("team", in: store))
    try FileManager.default.removeItem(atPath: registry)
    try FileManager.default.copyItem(atPath: store.path("registry"), toPath: registry)
    try store.open().acceptGroup("vault.owner")
    let gone = VaultError.rolledBack(group: "team", found: 0, known: 2, reason: .vanished)
    #expect(try store.open().vanishedGroups().map(\.problem) == [gone])
  }

  @Test func `a group whose creation was killed before its last record is missed if its files are gone`() throws {
    let store = try StoreFixture()
    let name = try AccessGroup.Name("team")
    try store.open().createGroup("team")
    let registry = try store.open().registry()
    let entry = try #require(try registry.entry(of: name))
    try registry.record(entry, as: .changing, of: name)
    try FileManager.default.moveItem(atPath: folder("team", in: store), toPath: store.path("moved"))
    let gone = VaultError.rolledBack(group: "team", found: 0, known: 1, reason: .vanished)
    #expect(try store.open().vanishedGroups().map(\.problem) == [gone])
    try FileManager.default.moveItem(atPath: store.path("moved"), toPath: folder("team", in: store))
    #expect(try store.open().vanishedGroups().isEmpty)
    _ = try store.issue("mal", grants: [.init(.read, in: "team")])
    #expect(try store.open().registry().entry(of: name)?.presence == .present)
    try registry.record(entry, as: .changing, of: name)
    // The repeated command finishes it, too.
    #expect(throws: VaultError.exists(.group)) { try store.open().createGroup("team") }
    #expect(try store.open().registry().entry(of: name)?.presence == .present)
  }

  @Test func `files that a killed replacement moved away come back, also those of an unfinished group`() throws {
    let store = try StoreFixture()
    let name = try AccessGroup.Name("team")
    let owner = try store.open()
    try owner.createGroup("team")
    let registry = try owner.registry()
    let entry = try #require(try registry.entry(of: name))
    for presence in [Registry.Presence.present, .changing, .absent] {
      try registry.record(entry, as: presence, of: name)
      let draft = try owner.draftFolder().keepingPath(of: name)
      try FileManager.default.createDirectory(
        atPath: draft, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      try FileManager.default.moveItem(atPath: folder("team", in: store), toPath: draft + ".old")
      try store.open().replacing(name) { _ in }
      let isBack = FileManager.default.fileExists(atPath: folder("team", in: store))
      #expect(isBack == (presence != .absent), "\(presence)")
    }
  }

  /// A store whose group `team` was put back to an older state.
  private func olderState() throws -> StoreFixture {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let path = folder("team", in: store)
    try FileManager.default.copyItem(atPath: path, toPath: store.path("old"))
    try store.open().group("team").set("b", to: "new")
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: store.path("old"), toPath: path)
    return store
  }

  /// A store whose group `team` was put back to an older state and then damaged by `sql`.
  private func damagedOlderState(_ sql: StaticString) throws -> StoreFixture {
    let store = try olderState()
    let connection = try Connection(at: ContainerPlace(folder: folder("team", in: store)), access: .writing)
    try connection.begin(.immediate)
    try connection.statement(sql).run()
    try connection.commit()
    connection.close()
    return store
  }

  @Test func `an older state in a damaged file is accepted in a new file`() throws {
    let store = try damagedOlderState("DELETE FROM node")
    var reason: AcceptanceReason?
    let declined = try store.open().acceptGroup("team") { _ in false }
    #expect(declined == .declined)
    let accepted = try store.open().acceptGroup("team") { state in
      reason = state.reason
      return true
    }
    #expect(accepted == .accepted(epoch: 4) && reason == .older)
    #expect(try store.value("a", in: "team") == "old")
    try expectVerified(store)
  }

  @Test func `accepting a damaged state does not drop an item that can no longer be proved`() throws {
    let store = try damagedOlderState("DELETE FROM item")
    #expect(throws: VaultError.unproved(group: "team", items: 1, versions: 0)) { try store.open().acceptGroup("team") }
  }

  @Test func `damage to a state that needs no acceptance is reported as damage`() throws {
    let store = try damagedOlderState("CREATE TABLE added(a)")
    try forgetWitnesses(store)
    #expect {
      try store.open().acceptGroup("team")
    } throws: { error in
      guard case .damaged("team", .container, _)? = error as? VaultError else { return false }
      return true
    }
  }

  /// The registry's note and the replaced files both show who was removed.
  @Test(arguments: [true, false])
  func `a restored group that is accepted does not let in whoever was removed from it since the backup`(
    isNoted: Bool
  ) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let thief = try store.issue("thief", grants: [.init(.read, in: "team")])
    try store.issue("api", grants: [.init(.read, in: "team")])
    try store.open().backUp(to: store.folder + "/first")
    try store.open().group("team").set("a", to: "older")
    try store.open().backUp(to: store.folder + "/backup")
    try store.open().revoke("thief", from: "team")
    // The second restoration keeps what the first one has put there.
    try store.open().restoreBackup(from: store.folder + "/first", groups: ["team"], replacing: true)
    try store.open().restoreBackup(from: store.folder + "/backup", groups: ["team"], replacing: true)
    if isNoted {
      try FileManager.default.removeItem(atPath: store.location.home + "/set-aside")
    } else {
      try store.open().registry().group.destroy("removed/team/thief")
    }
    var left: [Item.Writer] = []
    try store.open().acceptGroup("team") { state in
      left = state.left.map(\.who)
      return state.members.contains { $0.who == .application("api", issue: 1) }
    }
    #expect(left == [.application("thief", issue: 1)])
    try store.open().group("team").set("a", to: "new")
    #expect(throws: VaultError.denied(.notAMember)) { try thief.value("a", in: "team") }
    // Whoever is let in again is not left out of a later acceptance.
    try store.open().grant(.read, in: "team", to: "thief")
    #expect(try thief.value("a", in: "team") == "new")
    try expectVerified(store)
    try store.open().restoreBackup(from: store.folder + "/backup", groups: ["team"], replacing: true)
    try store.open().acceptGroup("team")
    #expect(try thief.value("a", in: "team") == "older")
  }

  /// The registry's note and the replaced files both show who was removed.
  @Test(arguments: [true, false])
  func `after an older state is accepted, values stay exposed to whoever came and went since`(isNoted: Bool) throws {
    let store = try StoreFixture()
    // An earlier group of the name, whose members never read the values of this one.
    try store.open().createGroup("team")
    try store.issue("stranger", grants: [.init(.read, in: "team")])
    try store.open().revoke("stranger", from: "team")
    try store.open().removeGroup("team")
    try store.open().createGroup("team").set("a", to: "old")
    try store.open().backUp(to: store.folder + "/backup")
    try store.issue("guest", grants: [.init(.read, in: "team")])
    try store.open().revoke("guest", from: "team")
    try store.open().restoreBackup(from: store.folder + "/backup", groups: ["team"], replacing: true)
    if isNoted {
      try FileManager.default.removeItem(atPath: store.location.home + "/set-aside")
    } else {
      try store.open().registry().group.destroy("removed/team/guest")
    }
    try store.open().acceptGroup("team")
    #expect(try store.open().exposure().map(\.readers) == [[.application("guest", issue: 1)]])
    try store.open().group("team").set("a", to: "new")
    #expect(try store.open().exposure().isEmpty)
    try store.open().grant(.read, in: "team", to: "guest")
    try expectVerified(store)
  }

  @Test func `after an older state of a private group is accepted, its application's credential is not revoked`() throws
  {
    let store = try StoreFixture()
    try store.issue("api")
    try store.open().backUp(to: store.folder + "/backup")
    let api = try store.issue("api", .replacing)
    try store.open().createGroup("team")
    try store.open().restoreBackup(from: store.folder + "/backup", groups: ["api"], replacing: true)
    try store.open().acceptGroup("api")
    try store.issue("api", .again)
    try store.open().grant(.read, in: "team", to: "api")
    #expect(try api.group("team").items().isEmpty)
    try expectVerified(store)
  }

  /// A store whose group `team` is an older copy from before `thief` was removed.
  private func olderCopy() throws -> (store: StoreFixture, thief: SecretStore) {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let thief = try store.issue("thief", grants: [.init(.write, in: "team")])
    try store.issue("api", grants: [.init(.read, in: "team")])
    try FileManager.default.copyItem(atPath: folder("team", in: store), toPath: store.path("old"))
    try store.open().revoke("thief", from: "team")
    try putBack(store)
    return (store, thief)
  }

  private func putBack(_ store: StoreFixture) throws {
    try FileManager.default.removeItem(atPath: folder("team", in: store))
    try FileManager.default.copyItem(atPath: store.path("old"), toPath: folder("team", in: store))
  }

  private let former = VaultError.formerMember(group: "team", application: "thief", issue: 1, isBeingReplaced: false)

  @Test func `a copy that was put back by hand and is accepted leaves out whoever was removed`() throws {
    let (store, thief) = try olderCopy()
    var left: [Item.Writer] = []
    try store.open().acceptGroup("team") { state in
      left = state.left.map(\.who)
      return true
    }
    #expect(left == [.application("thief", issue: 1)])
    #expect(throws: VaultError.denied(.notAMember)) { try thief.value("a", in: "team") }
    try expectVerified(store)
  }

  @Test
  func `a copy that was put back by hand does not let a removed member in, even where nobody saw the group`() throws {
    let (store, thief) = try olderCopy()
    try forgetWitnesses(store)
    for groups in [[], ["team"]] {
      let found = try store.open().verify(groups: groups)
      #expect(found.contains { if case .failure(former) = $0.result { true } else { false } })
    }
    #expect(try store.open().status().groups.first { $0.name == "team" }?.problem == former)
    let open = try store.open()
    try open.rotateGroup("team")
    #expect(open.takeNotices().contains(.memberPutOut(group: "team", application: "thief")))
    #expect(throws: VaultError.denied(.notAMember)) { try thief.value("a", in: "team") }
    #expect(try store.open().group("team").members.map(\.application).sorted() == ["", "api"])
    try expectVerified(store)
  }

  @Test(arguments: [true, false])
  func `a new credential does not bring an application back into a group that it was removed from`(
    isSeen: Bool
  ) throws {
    let (store, _) = try olderCopy()
    if !isSeen { try forgetWitnesses(store) }
    let file = store.folder + "/new"
    _ = try store.open().applications.issue("thief", to: file, .replacing, accepting: isSeen ? { _ in true } : nil)
    #expect(try store.open().group("team").members.map(\.application).sorted() == ["", "api"])
    let thief = try SecretStore.open(at: store.location, credential: file)
    #expect(throws: VaultError.denied(.notAMember)) { try thief.value("a", in: "team") }
    try expectVerified(store)
  }

  private enum Loss: CaseIterable { case note, registry, older }

  @Test(arguments: Loss.allCases)
  private func `a note that was lost is written again`(_ loss: Loss) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let thief = try store.issue("thief", grants: [.init(.write, in: "team")])
    let registry = folder(AccessGroup.Name.registry.description, in: store)
    try FileManager.default.copyItem(atPath: folder("team", in: store), toPath: store.path("old"))
    try FileManager.default.copyItem(atPath: registry, toPath: store.path("older registry"))
    try store.open().revoke("thief", from: "team")
    switch loss {
    case .note:
      // As if the process had been killed before it wrote the note.
      try store.open().registry().group.destroy("removed/team/thief")
      #expect(throws: VaultError.notFound(.member)) { try store.open().revoke("thief", from: "team") }
    case .registry, .older:
      try FileManager.default.removeItem(atPath: registry)
      if loss == .older { try FileManager.default.copyItem(atPath: store.path("older registry"), toPath: registry) }
      try store.open().acceptGroup(AccessGroup.Name.registry.description)
    }
    try putBack(store)
    try store.open().acceptGroup("team")
    #expect(throws: VaultError.denied(.notAMember)) { try thief.value("a", in: "team") }
  }

  @Test func `a grant and a revocation at once leave a note that agrees with the roster`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    try store.issue("thief", grants: [.init(.write, in: "team")])
    let member = try #require(try store.open().group("team").members.first { $0.application == "thief" })
    for _ in 0..<10 {
      let errors = onThreads(2) { thread in
        let open = try store.open()
        if thread == 0 {
          try open.grant(.write, in: "team", to: "thief")
        } else {
          try open.revoke("thief", from: "team")
        }
      }
      #expect(errors.allSatisfy { $0 as? VaultError == .notFound(.member) })
      let open = try store.open()
      let isMember = try open.group("team").members.contains { $0.application == "thief" }
      #expect(try open.registry().hasRemoved(member, from: "team") != isMember)
    }
  }

  @Test func `an older state is described before it is signed, and stays refused if the owner declines`() throws {
    let store = try olderState()
    for wants in [false, true] {
      var described: ReturningState?
      let accepted = try store.open().acceptGroup("team") { state in
        described = state
        return wants
      }
      let state = try #require(described)
      #expect(state.reason == .older && state.epoch == 2 && state.knownEpoch == 3 && state.itemCount == 1)
      #expect(accepted == (wants ? .accepted(epoch: 4) : .declined))
      if !wants {
        #expect(throws: VaultError.rolledBack(group: "team", found: 2, known: 3, reason: .olderState)) {
          try store.value("a", in: "team")
        }
      }
    }
    #expect(try store.value("a", in: "team") == "old")
  }

  @Test func `verify names a removed group that is back, also on a machine that never saw it`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    try FileManager.default.copyItem(atPath: folder("team", in: store), toPath: store.path("old"))
    try store.open().removeGroup("team")
    try FileManager.default.copyItem(atPath: store.path("old"), toPath: folder("team", in: store))
    for isSeen in [true, false] {
      if !isSeen { try forgetWitnesses(store) }
      let problems = try store.open().verify().compactMap { group -> VaultError? in
        if case .failure(let error) = group.result { error } else { nil }
      }
      #expect(problems.contains(.damaged(group: "team", level: .registry, detail: "the owner removed this group")))
      #expect(problems.contains { if case .rolledBack("team", _, _, .broughtBack) = $0 { true } else { false } })
    }
  }
}
