import Foundation
import Testing

@testable import GroupFile
@testable import Vault

/// The owner's registry of groups and applications is gone, or nothing in it can be proved.
struct LostRegistryTests {
  private let store: StoreFixture
  /// The issue of `web`.
  private let web: UInt32

  /// Makes a store with a replaced credential of `web` and a revoked one of `mal`.
  init() throws {
    store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    for name in ["web", "mal"] { try store.issue(name, grants: [.init(.read, in: "team")]) }
    try store.issue("web", .replacing)
    web = try store.open().applications.application("web").issue
    try store.open().applications.uninstall("mal", revoking: true)
  }

  private var folder: String { store.location.home + "/groups/vault.owner" }

  private func lose(zeroed: Bool) throws {
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder))
    guard zeroed else { return try FileManager.default.removeItem(atPath: folder) }
    try Data(count: 40_960).write(to: URL(filePath: folder + "/group.vault"))
    for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: folder + "/group.vault" + suffix) }
  }

  @Test(arguments: [false, true])
  func `where nothing is published, nobody has a login to withdraw`(zeroed: Bool) throws {
    try lose(zeroed: zeroed)
    #expect(try store.open().withdrawLogin(of: "web", from: "team") == .notNeeded)
  }

  private func forgetWitnesses() throws { try FileManager.default.removeItem(atPath: store.folder + "/state/witness") }

  @Test(arguments: [false, true], [false, true])
  func `a new registry is made of the groups, and gives out no credential again`(
    zeroed: Bool, hasWitness: Bool
  ) throws {
    try lose(zeroed: zeroed)
    if !hasWitness { try forgetWitnesses() }
    #expect(throws: VaultError.self) { try store.open().createGroup("new") }
    #expect(try store.open().acceptGroup("vault.owner") { _ in false } == .declined)
    #expect(throws: VaultError.self) { try store.open().createGroup("new") }
    var found: ReturningState?
    let accepted = try store.open().acceptGroup("vault.owner") { state in
      found = state
      return true
    }
    guard case .accepted = accepted else { throw VaultError.notFound(.group) }
    #expect(found?.reason == .lost && found?.groups == ["default", "mal", "team", "web"])
    let standings = found?.applications.map { "\($0.id) \($0.issue) \($0.standing)" }
    #expect(standings == ["mal 1 revoked", "web \(web) issued"])
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
    try store.open().createGroup("new")
    #expect(throws: VaultError.contradiction(.revokedApplication)) {
      try store.open().grant(.read, in: "team", to: "mal")
    }
    try store.issue("web", .replacing)
    #expect(try store.open().applications.application("web").issue > web + 1_024)
    #expect(try store.open().acceptGroup("vault.owner") == .nothingToAccept)
  }

  @Test(arguments: [false, true]) func `a credential that nothing here names any more is not given out again`(
    isRecovered: Bool
  ) throws {
    let backup = store.folder + "/backup"
    try store.open().backUp(to: backup)
    let stolen = try store.issue("late")
    try store.open().applications.uninstall("late", revoking: true)
    try store.open().removeGroup("late")
    if isRecovered {
      for path in [store.location.home + "/groups", store.folder + "/state/witness"] {
        try FileManager.default.removeItem(atPath: path)
      }
      try store.open().restoreBackup(from: backup)
    } else {
      try lose(zeroed: false)
      try store.open().acceptGroup("vault.owner")
    }
    try store.issue("late", grants: [.init(.read, in: "team")])
    #expect(try store.open().applications.application("late").issue > 1_024)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
    try store.issue("late", .replacing)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  /// Puts the registry back as it was before `change`, and accepts it.
  private func goBack(before change: () throws -> Void, damaging damage: () throws -> Void = {}) throws {
    try FileManager.default.copyItem(atPath: folder, toPath: store.path("older"))
    try change()
    try lose(zeroed: false)
    try FileManager.default.moveItem(atPath: store.path("older"), toPath: folder)
    try damage()
    try store.open().acceptGroup("vault.owner")
  }

  private enum Return: CaseIterable { case older, olderDamaged, restored, repaired }

  private func execute(_ sql: StaticString, in group: String) throws {
    let connection = try Connection(
      at: ContainerPlace(folder: store.location.home + "/groups/" + group), access: .writing)
    defer { connection.close() }
    try connection.begin(.immediate)
    try connection.statement(sql).run()
    try connection.commit()
  }

  @Test(arguments: Return.allCases)
  private func `a registry that lacks what was written later gives out no credential again`(_ way: Return) throws {
    try store.issue("solo")
    try store.open().backUp(to: store.path("backup"))
    var stolen: [SecretStore] = []
    func change() throws {
      stolen = [try store.issue("late"), try store.issue("solo", .replacing)]
      for name in ["late", "solo"] {
        try store.open().applications.uninstall(name, revoking: true)
        try store.open().removeGroup(name)
      }
    }
    switch way {
    case .older: try goBack(before: change)
    case .olderDamaged: try goBack(before: change) { try execute("DELETE FROM node", in: "vault.owner") }
    case .restored:
      try change()
      try lose(zeroed: true)
      try store.open().restoreBackup(from: store.path("backup"), groups: ["vault.owner"], replacing: true)
      try store.open().acceptGroup("vault.owner")
    case .repaired:
      try change()
      try execute("DELETE FROM item", in: "vault.owner")
      try store.open().repairGroup("vault.owner", isLossAccepted: { _ in true })
    }
    if way != .repaired { #expect(try store.open().acceptGroup("solo") == .removal) }
    for name in ["late", "solo"] {
      let isKnown = try store.open().registry().application(name) != nil
      try store.issue(name, isKnown ? .replacing : .first, grants: [.init(.read, in: "default")])
    }
    for stolen in stolen { #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("default").items() } }
  }

  @Test func `a restored registry gives out higher numbers although this machine has seen its state`() throws {
    try store.open().backUp(to: store.path("backup"))
    try lose(zeroed: true)
    try store.open().restoreBackup(from: store.path("backup"), groups: ["vault.owner"], replacing: true)
    #expect(try store.open().acceptGroup("vault.owner") == .nothingToAccept)
    #expect(try store.open().applications.application("web").highestIssue >= web + 1_024)
    #expect(try store.open().registry().unnamedIssues() > 1_024)
  }

  @Test func `an accepted older registry lists an application as revoked that its group has removed`() throws {
    try goBack { try store.open().applications.uninstall("web", revoking: true) }
    #expect(try store.open().applications.application("web").standing == .revoked)
  }

  @Test func `accepting a registry again finishes raising its numbers`() throws {
    try store.open().repairedWithoutRaise()
    for _ in 1...2 { #expect(try store.open().acceptGroup("vault.owner") == .nothingToAccept) }
    #expect(try store.open().applications.application("web").highestIssue >= web + 1_024)
  }

  @Test(arguments: [true, false]) func `no number is given out before those of a repaired registry are raised`(
    isBound: Bool
  ) throws {
    try store.open().repairedWithoutRaise()
    // Another change may come before the call is repeated, or it is never repeated.
    try store.open().createGroup("between")
    if isBound {
      try store.open().applications.bind("new", ServiceBinding.Alternative(user: "www-data"))
    } else {
      try store.issue("new")
    }
    #expect(try store.open().applications.application("new").issue > 1_024)
    #expect(try store.open().applications.application("web").highestIssue >= web + 1_024)
  }

  @Test func `a credential that an accepted older registry does not name stays a finding`() throws {
    var issue: UInt32 = 0
    try goBack {
      try store.issue("web", .replacing)
      issue = try store.open().applications.application("web").issue
    }
    #expect(
      try problems() == [
        "team": .unlistedMember(group: "team", application: "web", issue: issue),
        "web": .unlistedMember(group: "web", application: "web", issue: issue),
      ])
  }

  private func problems() throws -> [String: VaultError] {
    try store.open().verify().reduce(into: [:]) { found, group in
      if case .failure(let error) = group.result { found[group.name] = error }
    }
  }

  @Test(arguments: [false, true], [false, true])
  func `a group that an older registry does not name is listed again once it is accepted`(
    isDamaged: Bool, hasWitness: Bool
  ) throws {
    try goBack { try store.open().createGroup("later").set("a", to: "one") }
    #expect(try problems().mapValues(\.status) == ["later": 13])
    if isDamaged { try execute("DELETE FROM node", in: "later") }
    if !hasWitness { try forgetWitnesses() }
    #expect(try store.open().acceptGroup("later") { _ in false } == .declined)
    var reason: AcceptanceReason?
    let accepted = try store.open().acceptGroup("later") { state in
      reason = state.reason
      return true
    }
    #expect(reason == .unregistered && accepted != .nothingToAccept)
    #expect(try store.open().value("a", in: "later") == "one")
    #expect(try problems().isEmpty)
    #expect(try store.open().acceptGroup("later") == .nothingToAccept)
  }

  @Test func `a member is removed from a group that an older registry does not name, which lists it again`() throws {
    var credential: SecretStore?
    try goBack {
      try store.open().createGroup("later").set("a", to: "one")
      credential = try store.issue("late", grants: [.init(.read, in: "later")])
    }
    try store.open().revoke("late", from: "later", accepting: { $0.reason == .unregistered })
    #expect(throws: VaultError.denied(.notAMember)) { try credential?.group("later").items() }
    #expect(try problems().keys.sorted() == ["late"])
  }

  @Test func `an application that was revoked while a group was hidden stays revoked in a new registry`() throws {
    let team = store.location.home + "/groups/team"
    try FileManager.default.moveItem(atPath: team, toPath: store.path("hidden"))
    try store.open().applications.uninstall("web", revoking: true)
    try FileManager.default.moveItem(atPath: store.path("hidden"), toPath: team)
    try lose(zeroed: false)
    try store.open().acceptGroup("vault.owner")
    #expect(try store.open().applications.application("web").standing == .revoked)
    #expect(
      try problems() == ["team": .formerMember(group: "team", application: "web", issue: web, isBeingReplaced: false)])
    #expect(throws: VaultError.contradiction(.revokedApplication)) { try store.issue("web", .again) }
  }

  @Test func `a removed group stays removed, and a missing one missing, in a new registry`() throws {
    try store.open().removeGroup("mal")
    try FileManager.default.removeItem(atPath: store.location.home + "/groups/team")
    try lose(zeroed: false)
    try store.open().acceptGroup("vault.owner")
    let problems = try store.open().verify().filter { (try? $0.result.get()) == nil }
    #expect(problems.map(\.name) == ["team"])
  }

  @Test(arguments: [false, true], [false, true])
  func `a member is removed from a state that is accepted, even without the registry`(
    zeroed: Bool, hasWitness: Bool
  ) throws {
    let team = store.location.home + "/groups/team"
    let credential = try store.issue("other", grants: [.init(.write, in: "team")])
    try FileManager.default.copyItem(atPath: team, toPath: store.path("old"))
    try store.open().group("team").set("a", to: "two")
    try FileManager.default.removeItem(atPath: team)
    try FileManager.default.copyItem(atPath: store.path("old"), toPath: team)
    try lose(zeroed: zeroed)
    if !hasWitness { try forgetWitnesses() }
    let open = try store.open()
    var members: [Member] = []
    try open.revoke(
      "other", from: "team",
      accepting: { state in
        members = state.members
        return true
      })
    #expect(members.contains { $0.application == "other" })
    #expect(open.takeNotices().contains { if case .groupLeftOut("vault.owner", _) = $0 { true } else { false } })
    #expect(throws: VaultError.denied(.notAMember)) { try credential.group("team").items() }
    try store.open().rotateGroup("team", accepting: { _ in true })
  }

  @Test
  func `a recovery from a backup with a damaged list of groups ends with its error, and a whole backup finishes it`()
    throws
  {
    let store = try StoreFixture()
    try store.open().group("default").set("a", to: "kept")
    try store.open().backUp(to: store.path("whole"))
    try FileManager.default.copyItem(atPath: store.path("whole"), toPath: store.path("damaged"))
    try Data(repeating: 0x61, count: 8_192).write(
      to: URL(fileURLWithPath: store.path("damaged") + "/groups/vault.owner/group.vault"))
    let place = try StoreLocation(home: store.path("new"), state: store.path("new-state"))
    func recover(_ backup: String) throws -> SecretStore {
      let recovery = try StoreRecovery(from: store.path(backup), at: place) { _ throws(VaultError) in
        .keyFile(store.keyFile)
      }
      return try recovery.makeStore(with: nil).store
    }
    #expect(
      throws: VaultError.damaged(group: "vault.owner", level: .container, detail: "it is not a vault file")
    ) { try recover("damaged") }
    #expect(throws: VaultError.self) { try SecretStore.open(at: place, unlocking: .keyFile(store.keyFile)) }
    #expect(throws: VaultError.exists(.storeInRecovery)) {
      try SecretStore.create(at: place, with: .keyFile(store.keyFile))
    }
    #expect(try recover("whole").group("default").get("a").exportInsecurelyAsString() == "kept")
  }
}

extension SecretStore {
  /// Repairs the registry as a process does that is killed before it raises the numbers.
  fileprivate func repairedWithoutRaise() throws {
    let file = try registry().group.file
    let drafts = try draftFolder()
    let change = RosterChange(rotates: true)
    try file.changeRoster(change, at: drafts.places(of: .registry), by: owner())
  }
}
