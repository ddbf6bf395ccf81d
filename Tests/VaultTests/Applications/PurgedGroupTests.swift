import Foundation
import Glibc
import Sealing
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

  /// The groups whose loss would be confirmed; they are not removed.
  private func losses() throws -> [String] {
    var losses: [String] = []
    do {
      try store.open().applications.uninstall(
        app,
        removing: { names in
          losses = names
          return false
        })
    } catch VaultError.declined {}
    return losses
  }

  private func path(_ name: String) -> String { store.location.home + "/groups/" + name }

  private func overwriteFirstPage(of name: String) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path(name) + "/group.vault"))
    try file.write(contentsOf: Data(count: 4_096))
    try file.close()
  }

  @Test func `a service that serves the application's own group does not keep it`() throws {
    _ = try store.open().enrollService(to: store.folder + "/service", all: true)
    #expect(try losses() == [app])
    #expect(try store.open().applications.uninstall(app).purged == [app])
  }

  @Test func `what is not wanted is not removed, and the application stays`() throws {
    #expect(try losses() == [app])
    #expect(try store.open().value("a", in: app) == "one")
    #expect(try store.open().applications.application(app).standing == .issued)
    #expect(try store.open().applications.groups(of: app).map(\.name) == [app])
  }

  @Test func `a purged group that cannot be read is mended and removed, unless losses are to be confirmed`() throws {
    for name in ["scratch", "spare"] {
      try store.open().createGroup(name, .init(lifetime: .purged)).set("a", to: "one")
      try store.open().grant(.read, in: name, to: app)
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: path(name)))
      try overwriteFirstPage(of: name)
    }
    var asked: [[String]] = []
    let first = try store.open().applications.uninstall(
      app, revoking: true,
      removing: {
        asked.append($0)
        return true
      })
    #expect(asked == [[app]] && first.purged == [app] && first.revoked == ["scratch", "spare"])
    #expect(first.unchanged == [] && first.notRemoved == [])
    #expect(try store.open().value("a", in: "spare") == "one")
  }

  @Test func `without a question, a purged group that cannot be read is removed`() throws {
    try store.open().createGroup("scratch", .init(lifetime: .purged)).set("a", to: "one")
    try store.open().grant(.read, in: "scratch", to: app)
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: path("scratch")))
    try overwriteFirstPage(of: "scratch")
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.purged == [app, "scratch"] && report.revoked == [] && report.unchanged == [])
  }

  /// As a process leaves a group that is killed after the witness says that it is removed.
  private func interruptRemoval(of name: String) throws {
    let owner = try store.open()
    let group = try AccessGroup.Name(name)
    var entry = try #require(try owner.registry().entry(of: group))
    entry.presence = .changing
    try owner.registry().record(entry, of: group)
    let state = try owner.group(name).verifiedState()
    try owner.group(name).file.markRemoved(state.witnessRecord())
  }

  @Test func `an interrupted removal of the private group is finished, and one of another group is named`() throws {
    try store.open().createGroup("scratch")
    for name in [app, "scratch"] { try interruptRemoval(of: name) }
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.purged == [app] && report.unchanged.map(\.name) == ["scratch"])
    #expect(
      try !store.open().location.hasGroup(AccessGroup.Name(app))
        && store.open().location.hasGroup(AccessGroup.Name("scratch")))
    try store.open().removeGroup("scratch")
    #expect(try store.open().applications.uninstall(app, revoking: true).unchanged == [])
  }

  /// Whoever has put the files back wants to keep them, or does not know of the removal.
  @Test func `an interrupted removal of the private group is finished only with consent`() throws {
    try interruptRemoval(of: app)
    var asked: [[String]] = []
    #expect(throws: VaultError.declined) {
      try store.open().applications.uninstall(app) { (groups: [String]) in
        asked.append(groups)
        return false
      }
    }
    #expect(try asked == [[app]] && store.open().location.hasGroup(AccessGroup.Name(app)))
    #expect(try store.open().applications.uninstall(app, removing: { $0 == [app] }).purged == [app])
    #expect(try !store.open().location.hasGroup(AccessGroup.Name(app)))
  }

  @Test func `a purged group that cannot be removed gets a new key, and is named`() throws {
    // Whoever may read this folder can keep its lock, which a removal needs and a revocation does not.
    let folder = unsafe Glibc.open(store.location.home + "/groups", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { close(folder) }
    try #require(flock(folder, LOCK_EX | LOCK_NB) == 0)
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.notRemoved.map(\.name) == [app] && report.notRemoved.first?.problem.status == 15)
    #expect(report.revoked == [app] && report.purged == [] && report.unchanged == [])
    #expect(try store.open().value("a", in: app) == "one")
  }

  @Test func `removing a group whose creation was interrupted leaves its name free`() throws {
    let name = try AccessGroup.Name("half")
    let entry = Registry.Entry(groupID: .zero, presence: .changing, created: 1)
    try store.open().registry().record(entry, of: name)
    #expect(throws: VaultError.notFound(.group)) { try store.open().removeGroup("half") }
    try store.open().createGroup("half")
  }

  @Test func `a new key for a group whose folder is gone says that the group has vanished`() throws {
    try FileManager.default.removeItem(atPath: path(app))
    let error = #expect(throws: VaultError.self) { try store.open().rotateGroup(app) }
    guard case .rolledBack(app, _, _, .vanished)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a removal that does not begin leaves the registry as it was`() throws {
    let owner = try store.open()
    let name = try AccessGroup.Name(app)
    #expect(throws: VaultError.contradiction(.superseded)) { try owner.removeGroup(app) { _ in false } }
    #expect(try owner.registry().entry(of: name)?.presence == .present)
    try owner.removeGroup(app)
    #expect(try owner.registry().entry(of: name)?.presence == .absent)
  }

  @Test func `while a new key is made, whoever exchanges the log does not keep a member in`() throws {
    try store.open().createGroup("shared").transaction { edit in
      edit.set("a", to: "one")
      for number in 0..<1_100 { edit.set("item/\(number)", to: "") }
    }
    let stolen = try store.issue("com.example.web", grants: [.init(.read, in: "shared")])
    let log = path("shared") + "/group.vault-wal"
    var isExchanged = false
    try store.open().revoke(
      "com.example.web", from: "shared",
      progress: { _ in
        if isExchanged { return }
        isExchanged = true
        try? FileManager.default.copyItem(atPath: log, toPath: log + "-new")
        #expect(unsafe rename(log + "-new", log) == 0)
      })
    #expect(isExchanged)
    #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("shared").items() }
    #expect(try store.open().value("a", in: "shared") == "one")
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
    #expect(try losses() == [app])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [app])
    // The owner may have kept it on purpose.
    #expect(try store.open().location.hasGroup(AccessGroup.Name("scratch")))
    #expect(try losses() == [])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [])
  }

  @Test func `a group that an application left before is not removed with it, unless it is its own`() throws {
    try store.open().createGroup("scratch", .init(lifetime: .purged)).set("a", to: "the owner's")
    for name in ["scratch", app] {
      try store.open().grant(.read, in: name, to: app)
      try store.open().revoke(app, from: name)
    }
    #expect(try losses() == [app])
    #expect(try store.open().applications.uninstall(app, revoking: true).purged == [app])
    #expect(try store.open().value("a", in: "scratch") == "the owner's")
  }
}
