import Foundation
import Glibc
import Testing

@testable import GroupFile
@testable import Vault

/// Groups that are removed with the application that they belong to.
struct PurgedGroupTests {
  private let app = "com.example.api"
  private let store: StoreFixture

  init() throws {
    store = try StoreFixture()
    try store.issue(app, lifetime: .purged)
    try store.open().group(app).set("a", to: "one")
  }

  @Test func `a kept lock does not keep a group from being removed with its application`() throws {
    // Its removal waits ten seconds, and so does the change that makes a new lock.
    let lock = unsafe Glibc.open(store.location.home + "/groups/\(app)/lock", O_RDONLY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.purged == [app] && report.unchanged == [] && report.revoked == [])
    #expect(throws: VaultError.notFound(.group)) { try store.open().group(app).items() }
  }

  @Test func `uninstalling again removes the private group if the first call could only revoke it`() throws {
    try store.open().createGroup("scratch", .init(lifetime: .purged))
    try store.open().grant(.read, in: "scratch", to: app)
    for name in [app, "scratch"] {
      try store.open().change(AccessGroup.Name(name), RosterChange { [app] in $0.application == app })
    }
    try store.open().registry().change(app) { known in
      var revoked = known!
      revoked.standing = .revoked
      return revoked
    }
    #expect(try store.open().applications.purgedGroups(of: app) == [app])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [app])
    // The owner may have kept it on purpose.
    #expect(try store.open().hasGroup(AccessGroup.Name("scratch")))
    #expect(try store.open().applications.purgedGroups(of: app) == [])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [])
  }

  @Test func `a group that an application left before is not removed with it, unless it is its own`() throws {
    try store.open().createGroup("scratch", .init(lifetime: .purged)).set("a", to: "the owner's")
    for name in ["scratch", app] {
      try store.open().grant(.read, in: name, to: app)
      try store.open().revoke(app, from: name)
    }
    #expect(try store.open().applications.purgedGroups(of: app) == [app])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [app])
    #expect(try store.open().value("a", in: "scratch") == "the owner's")
  }
}
