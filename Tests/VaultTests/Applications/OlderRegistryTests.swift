import Foundation
import TestSupport
import Testing

@testable import Vault

/// A machine of the owner without witnesses sees the groups in their current state and the registry from before a credential
/// was replaced.
struct OlderRegistryTests {
  private let app = "com.example.api"

  /// The store after `change`, with the earlier registry and without witnesses.
  private func putBack(_ change: (StoreFixture) throws -> Void) throws -> (StoreFixture, stolen: SecretStore) {
    let store = try StoreFixture()
    for group in ["team", "other"] { try store.open().createGroup(group) }
    let stolen = try store.issue(app, grants: [.init(.read, in: "team")])
    let registry = store.location.home + "/groups/vault.owner"
    try FileManager.default.copyItem(atPath: registry, toPath: store.path("registry"))
    try change(store)
    try FileManager.default.removeItem(atPath: registry)
    try FileManager.default.copyItem(atPath: store.path("registry"), toPath: registry)
    try FileManager.default.removeItem(atPath: store.folder + "/state/witness")
    return (store, stolen)
  }

  /// - Parameter known: the issue that the group names.
  private func olderThan(_ group: String, known: UInt32) -> VaultError {
    .rolledBack(group: group, found: 1, known: UInt64(known), reason: .olderIssue)
  }

  /// The issue that the groups name, which the earlier registry does not know.
  private func replace(_ app: String, in store: StoreFixture) throws -> UInt32 {
    try store.issue(app, .replacing)
    return try store.open().applications.application(app).issue
  }

  @Test func `an older list of applications does not bring a replaced credential back`() throws {
    var issue: UInt32 = 0
    let (store, stolen) = try putBack { issue = try replace(app, in: $0) }
    let older = olderThan(app, known: issue)
    #expect(throws: older) { try store.open().grant(.read, in: "team", to: app) }
    // The application never was a member of this group.
    #expect(throws: older) { try store.open().grant(.read, in: "other", to: app) }
    #expect(throws: older) { try store.issue(app, .again) }
    for group in [app, "team", "other"] {
      #expect(throws: VaultError.denied(.notAMember)) { try stolen.group(group).items() }
    }
    let new = try store.issue(app, .replacing)
    #expect(try store.open().applications.application(app).issue > issue)
    #expect(try new.group("team").items().isEmpty)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  @Test func `an older list of applications does not bring a revoked application back`() throws {
    var issue: UInt32 = 0
    let (store, stolen) = try putBack {
      issue = try replace(app, in: $0)
      try $0.open().applications.uninstall(app, revoking: true)
    }
    #expect(throws: olderThan(app, known: issue)) { try store.open().grant(.read, in: "team", to: app) }
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  /// A snapshot of the machine brings back all that a program could compare: registry, groups and witnesses.
  @Test func `a machine that is set back to a snapshot gives out no replaced credential again`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team")
    try store.issue(app, grants: [.init(.read, in: "team")])
    for folder in [store.location.home, store.folder + "/state"] {
      try FileManager.default.copyItem(atPath: folder, toPath: folder + ".snapshot")
    }
    let stolen = try store.issue(app, .replacing)
    let issue = try replace(app, in: store)
    for folder in [store.location.home, store.folder + "/state"] {
      try FileManager.default.removeItem(atPath: folder)
      try FileManager.default.moveItem(atPath: folder + ".snapshot", toPath: folder)
    }
    // Numbers rise by one each second.
    #expect(try eventually { try Applications.issue(1, above: 1) > issue })
    let new = try store.issue(app, .replacing)
    #expect(try store.open().applications.application(app).issue > issue)
    #expect(try new.group("team").items().isEmpty)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  private func problems(_ store: StoreFixture) throws -> [String: VaultError] {
    var found: [String: VaultError] = [:]
    for result in try store.open().verify() {
      if case .failure(let error) = result.result { found[result.name] = error }
    }
    return found
  }

  @Test(arguments: [true, false])
  func `an application that only rosters name is a finding, and can be removed`(_ isHidden: Bool) throws {
    var opened: SecretStore?
    let (store, _) = try putBack { store in
      opened = try store.issue("mal", grants: [.init(.write, in: "team")])
      if isHidden { try FileManager.default.removeItem(atPath: store.location.home + "/groups/mal") }
    }
    let stolen = try #require(opened)
    #expect(try problems(store)["team"]?.status == 14 && problems(store)["team"]?.message.contains("'mal'") == true)
    #expect(try problems(store)["other"] == nil)
    let shown = try store.open().status().groups.first { $0.name == "team" }
    #expect(try shown?.problem == problems(store)["team"])
    let unlisted = VaultError.unlistedMember(group: isHidden ? "team" : "mal", application: "mal", issue: 1)
    #expect(throws: unlisted) { try store.open().applications.uninstall("mal") }
    #expect(throws: unlisted) { try store.open().applications.application("mal") }
    #expect(throws: unlisted) { try store.open().grant(.write, in: "team", to: "mal") }
    #expect(throws: unlisted) { try store.issue("mal", .again) }
    if !isHidden {
      #expect(throws: unlisted) { try store.issue("mal") }
      #expect(throws: unlisted) { try store.open().applications.bind("mal", .init(user: "0")) }
    }
    #expect(try store.open().groupNames().allSatisfy { !$0.hasPrefix("vault.") })
    let report = try store.open().applications.uninstall("mal", revoking: true)
    #expect(report.revoked == (isHidden ? ["team"] : ["mal", "team"]) && report.unchanged == [])
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
    #expect(try problems(store)["team"] == nil)
    #expect(try store.open().applications.application("mal").standing == .revoked)
  }

  @Test(arguments: [true, false])
  func `the credential of an application that only rosters name can be replaced`(_ isHidden: Bool) throws {
    var opened: SecretStore?
    let (store, _) = try putBack { store in
      opened = try store.issue("mal", grants: [.init(.write, in: "team")])
      if isHidden { try FileManager.default.removeItem(atPath: store.location.home + "/groups/mal") }
    }
    let stolen = try #require(opened)
    let new = try store.issue("mal", .replacing)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
    try new.group("team").set("token", to: "t")
    #expect(try problems(store)["team"] == nil)
  }

  @Test func `a member with an issue above that of the registry is a finding`() throws {
    let (store, _) = try putBack { try $0.issue(app, .replacing) }
    #expect(try problems(store)["team"]?.status == 14)
    let service = try ServiceFixture()
    _ = try service.owner().enrollService(to: service.store.path("new"), .replacing)
    let found = try service.owner().verify().filter { if case .failure = $0.result { true } else { false } }
    #expect(found.isEmpty)
  }

  @Test func `writing a credential again does not bring an application back that was removed everywhere`() throws {
    let (store, stolen) = try putBack { try $0.open().applications.uninstall(app, revoking: true) }
    #expect(throws: VaultError.rolledBack(group: app, found: 1, known: 1, reason: .olderIssue)) {
      try store.issue(app, .again)
    }
    for group in [app, "team"] { #expect(throws: VaultError.denied(.notAMember)) { try stolen.group(group).items() } }
    #expect(try store.issue(app, .replacing).group(app).items().isEmpty)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group(app).items() }
  }

  @Test(arguments: [true, false])
  func `a new issue is above those that a group names which cannot be read`(_ isKnown: Bool) throws {
    let app = isKnown ? self.app : "mal"
    var opened: SecretStore?
    let (store, _) = try putBack { store in
      opened = try store.issue(app, isKnown ? .replacing : .first, grants: [.init(.read, in: "team")])
      try store.issue(app, .replacing)
      for group in [app, "team"] {
        try FileManager.default.removeItem(atPath: store.location.home + "/groups/" + group)
      }
    }
    let stolen = try #require(opened)
    _ = try store.open().applications.issue(app, to: store.path("new"), isKnown ? .replacing : .first)
    #expect(try store.open().applications.application(app).issue > 1_000)
    try store.open().createGroup("fresh")
    try store.open().grant(.read, in: "fresh", to: app)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("fresh").items() }
  }

  @Test func `an application that only its removal names gets a new credential`() throws {
    let (store, _) = try putBack { store in
      try store.issue("mal", grants: [.init(.write, in: "team")])
      try store.open().applications.uninstall("mal", revoking: true)
    }
    let older = VaultError.rolledBack(group: "mal", found: 0, known: 1, reason: .olderIssue)
    #expect(throws: older) { try store.open().applications.application("mal") }
    #expect(throws: older) { try store.issue("mal") }
    #expect(
      older.message == "the list of applications is older than 'mal', where issue 1 of the application was removed")
    #expect(try store.issue("mal", .replacing).group("mal").items().isEmpty)
  }

  @Test(arguments: [true, false])
  func `an application that its private group has removed is revoked until that lets it in again`(
    _ isHidden: Bool
  ) throws {
    let (store, stolen) = try putBack { store in
      let team = store.location.home + "/groups/team"
      if isHidden { try FileManager.default.moveItem(atPath: team, toPath: store.path("hidden")) }
      try store.open().applications.uninstall(app, revoking: true)
      if isHidden { try FileManager.default.moveItem(atPath: store.path("hidden"), toPath: team) }
    }
    let removed = VaultError.rolledBack(group: app, found: 1, known: 1, reason: .olderIssue)
    #expect(throws: removed) { try store.issue(app, .again) }
    #expect(throws: removed) { try store.open().grant(.read, in: "other", to: app) }
    #expect(throws: removed) { try store.open().applications.bind(app, .init(user: "0")) }
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("other").items() }
    #expect(try store.open().groupNames().allSatisfy { !$0.hasPrefix("vault.") })
    try store.open().grant(.write, in: app, to: app)
    try store.open().grant(.read, in: "other", to: app)
    #expect(try stolen.group("other").items().isEmpty)
  }

  @Test func `the error about an older list of applications says what to do`() {
    let error = olderThan("team", known: 2)
    #expect(
      error.message
        == "the list of applications is older than 'team': it names issue 1 of the application, the group issue 2")
    #expect(error.status == 14)
  }
}
