import Foundation
import Testing

@testable import Vault

/// One group of the store does not verify while an application's credential is replaced or revoked in all groups.
struct BrokenGroupTests {
  private let app = "com.example.api"

  /// Replaces a group's file by bytes that are not a group.
  ///
  /// - Returns: a closure that restores the group.
  private func breakGroup(_ name: String, in store: StoreFixture) throws -> () throws -> Void {
    let folder = store.location.home + "/groups/" + name
    let kept = store.path("kept-\(name)")
    try FileManager.default.moveItem(atPath: folder, toPath: kept)
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    #expect(
      FileManager.default.createFile(
        atPath: folder + "/group.vault", contents: Data(repeating: 0x61, count: 8_192),
        attributes: [.posixPermissions: 0o600]))
    return {
      try FileManager.default.removeItem(atPath: folder)
      try FileManager.default.moveItem(atPath: kept, toPath: folder)
    }
  }

  private func store() throws -> (StoreFixture, stolen: SecretStore) {
    let store = try StoreFixture()
    for group in ["first", "last"] { try store.open().createGroup(group).set("token", to: group) }
    return (store, try store.issue(app, grants: [.init(.read, in: "first"), .init(.read, in: "last")]))
  }

  @Test func `a broken group does not prevent replacing a credential in the others`() throws {
    let (store, stolen) = try store()
    let mend = try breakGroup("first", in: store)
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == ["first"] && issued.unchanged.map(\.problem.status) == [13])
    for group in ["last", app] {
      #expect(throws: VaultError.denied(.notAMember)) { try stolen.group(group).items() }
    }
    let new = try SecretStore.open(at: store.location, credential: store.path("new"))
    #expect(try new.value("token", in: "last") == "last")
    #expect(try store.open().applications.application(app).standing == .interrupted)

    try mend()
    // The same command again, with the file that it wrote.
    let finished = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(finished.unchanged == [])
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("first").items() }
    #expect(try new.value("token", in: "first") == "first")
    let application = try store.open().applications.application(app)
    #expect(application.standing == .issued && application.issue > 1_024)
  }

  @Test func `a broken private group does not prevent the other groups from accepting the new credential`() throws {
    let (store, stolen) = try store()
    _ = try breakGroup(app, in: store)
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == [app])
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("last").items() }
  }

  @Test func `a broken group does not prevent removing an application from the others`() throws {
    let (store, stolen) = try store()
    let mend = try breakGroup("first", in: store)
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.unchanged.map(\.name) == ["first"] && report.revoked == [app, "last"])
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("last").items() }
    try mend()
    #expect(try store.open().applications.uninstall(app, revoking: true).unchanged == [])
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("first").items() }
  }

  @Test func `uninstalling without revocation names a group that cannot be read`() throws {
    let (store, _) = try store()
    _ = try breakGroup("first", in: store)
    let report = try store.open().applications.uninstall(app)
    #expect(report.unchanged.map(\.name) == ["first"] && report.kept == [app, "last"])
  }

  @Test func `a file with an older credential is not taken for the one of an unfinished replacement`() throws {
    let (store, _) = try store()
    _ = try store.open().applications.issue(app, to: store.path("old"), .again)
    let mend = try breakGroup("first", in: store)
    _ = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    let old = FileManager.default.contents(atPath: store.path("old"))
    #expect(throws: VaultError.exists(.credentialPlace)) {
      try store.open().applications.issue(app, to: store.path("old"), .replacing)
    }
    #expect(FileManager.default.contents(atPath: store.path("old")) == old)
    try mend()
    #expect(try store.open().applications.issue(app, to: store.path("new"), .replacing).unchanged == [])
  }

  @Test func `a credential is not written again while its replacement is unfinished`() throws {
    let (store, _) = try store()
    let mend = try breakGroup("first", in: store)
    _ = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(throws: VaultError.contradiction(.interruptedReplacement)) {
      try store.open().applications.issue(app, to: store.path("again"), .again)
    }
    #expect(!FileManager.default.fileExists(atPath: store.path("again")))
    try mend()
    #expect(try store.open().applications.issue(app, to: store.path("new"), .replacing).unchanged == [])
    _ = try store.open().applications.issue(app, to: store.path("again"), .again)
  }
}
