import Foundation
import Testing

@testable import GroupFile
@testable import Vault

/// The owner's registry of groups and applications is gone, or nothing in it can be proved.
struct LostRegistryTests {
  private let store: StoreFixture

  /// Makes a store with a replaced credential of `web` and a revoked one of `mal`.
  init() throws {
    store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    for name in ["web", "mal"] { try store.issue(name, grants: [.init(.read, in: "team")]) }
    try store.issue("web", .replacing)
    try store.open().applications.uninstall("mal", revoking: true)
  }

  private var folder: String { store.location.home + "/groups/vault.owner" }

  private func lose(zeroed: Bool) throws {
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder))
    guard zeroed else { return try FileManager.default.removeItem(atPath: folder) }
    try Data(count: 40_960).write(to: URL(filePath: folder + "/group.vault"))
    for suffix in ["-wal", "-shm"] { try FileManager.default.removeItem(atPath: folder + "/group.vault" + suffix) }
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
    #expect(found?.applications.map { "\($0.id) \($0.issue) \($0.standing)" } == ["mal 1 revoked", "web 2 issued"])
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
    try store.open().createGroup("new")
    #expect(throws: VaultError.contradiction(.revokedApplication)) {
      try store.open().grant(.read, in: "team", to: "mal")
    }
    try store.issue("web", .replacing)
    #expect(try store.open().applications.application("web").issue == 2 + 1_024 + 1)
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
  private func goBack(before change: () throws -> Void) throws {
    try FileManager.default.copyItem(atPath: folder, toPath: store.path("older"))
    try change()
    try lose(zeroed: false)
    try FileManager.default.moveItem(atPath: store.path("older"), toPath: folder)
    try store.open().acceptGroup("vault.owner")
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
    if isDamaged {
      let connection = try Connection(folder: store.location.home + "/groups/later", access: .writing)
      defer { connection.close() }
      try connection.begin(.immediate)
      try connection.statement("DELETE FROM node").run()
      try connection.commit()
    }
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
}
