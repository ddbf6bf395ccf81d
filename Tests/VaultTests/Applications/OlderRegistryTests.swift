import Foundation
import Testing

@testable import Vault

/// A machine of the owner without witnesses is shown the groups as they are, and the registry as it was before a credential
/// was replaced.
struct OlderRegistryTests {
  private let app = "com.example.api"

  /// The store after `change`, with the registry from before and nothing that was seen.
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
    // A group that the application never was in.
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

  @Test func `an issue that was revoked everywhere is not below one that was never given out`() throws {
    let (store, stolen) = try putBack {
      try $0.issue(app, .replacing)
      try $0.open().applications.uninstall(app, revoking: true)
    }
    #expect(throws: olderThan(app)) { try store.open().grant(.read, in: "team", to: app) }
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
  }

  @Test func `what to do about an older list of applications is said`() {
    let error = olderThan("team")
    #expect(
      error.message
        == "the list of applications is older than 'team': it names issue 1 of the application, the group issue 2")
    #expect(error.hint?.contains("--replace") == true && error.status == 14)
  }
}
