import Foundation
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

  private func olderThan(_ group: String) -> VaultError {
    .rolledBack(group: group, found: 1, known: 2, reason: .olderIssue)
  }

  @Test func `an older list of applications does not bring a replaced credential back`() throws {
    let (store, stolen) = try putBack { try $0.issue(app, .replacing) }
    #expect(throws: olderThan(app)) { try store.open().grant(.read, in: "team", to: app) }
    // The application never was a member of this group.
    #expect(throws: olderThan(app)) { try store.open().grant(.read, in: "other", to: app) }
    #expect(throws: olderThan(app)) { try store.issue(app, .again) }
    for group in [app, "team", "other"] {
      #expect(throws: VaultError.denied(.notAMember)) { try stolen.group(group).items() }
    }
    let new = try store.issue(app, .replacing)
    #expect(try store.open().applications.application(app).issue == 3)
    #expect(try new.group("team").items().isEmpty)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  @Test func `an older list of applications does not bring a revoked application back`() throws {
    let (store, stolen) = try putBack {
      try $0.issue(app, .replacing)
      try $0.open().applications.uninstall(app, revoking: true)
    }
    #expect(throws: olderThan(app)) { try store.open().grant(.read, in: "team", to: app) }
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  @Test func `the error about an older list of applications says what to do`() {
    let error = olderThan("team")
    #expect(
      error.message
        == "the list of applications is older than 'team': it names issue 1 of the application, the group issue 2")
    #expect(error.status == 14)
  }
}
