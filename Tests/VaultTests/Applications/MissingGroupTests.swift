import Foundation
import Testing

@testable import GroupFile
@testable import Vault

/// Somebody hides the files of one group while an application's credential is replaced or revoked, and then brings them
/// back.
struct MissingGroupTests {
  private let app = "com.example.api"
  private let notMember = VaultError.denied(.notAMember)

  private enum Hiding: CaseIterable { case file, folder, fileFromNewMachine }

  /// Hides a group; whoever may write only its folder hides only its file.
  ///
  /// - Returns: a closure that brings it back.
  private func hide(_ name: String, in store: StoreFixture, _ hiding: Hiding = .file) throws -> () throws -> Void {
    let folder = store.location.home + "/groups/" + name
    let place = hiding == .folder ? folder : folder + "/group.vault"
    let hidden = store.path("hidden-\(name)")
    try FileManager.default.moveItem(atPath: place, toPath: hidden)
    if hiding == .fileFromNewMachine { try FileManager.default.removeItem(atPath: store.folder + "/state/witness") }
    return { try FileManager.default.moveItem(atPath: hidden, toPath: place) }
  }

  private func store() throws -> (StoreFixture, stolen: SecretStore) {
    let store = try StoreFixture()
    for group in ["first", "last"] { try store.open().createGroup(group).set("token", to: group) }
    return (store, try store.issue(app, grants: [.init(.read, in: "first"), .init(.read, in: "last")]))
  }

  private func problems(_ store: StoreFixture) throws -> [String: VaultError] {
    var found: [String: VaultError] = [:]
    for result in try store.open().verify() {
      if case .failure(let error) = result.result { found[result.name] = error }
    }
    let shown = try store.open().status().groups.compactMap { group in group.problem.map { (group.name, $0) } }
    #expect(found == Dictionary(uniqueKeysWithValues: shown))
    return found
  }

  @Test(arguments: Hiding.allCases)
  private func `a hidden group is named when a credential is replaced, and the same command finishes it`(
    _ hiding: Hiding
  ) throws {
    let (store, stolen) = try store()
    let bringBack = try hide("first", in: store, hiding)
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == ["first"] && issued.unchanged.map(\.problem.status) == [14])
    #expect(throws: notMember) { try stolen.group("last").items() }
    #expect(try store.open().applications.application(app).standing == .interrupted)
    #expect(try problems(store).mapValues(\.status) == ["first": 14])

    try bringBack()
    let former = VaultError.formerMember(group: "first", application: app, issue: 1, isBeingReplaced: true)
    #expect(try problems(store) == ["first": former])
    let finished = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(finished.unchanged == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
    let new = try SecretStore.open(at: store.location, credential: store.path("new"))
    #expect(try new.value("token", in: "first") == "first")
    #expect(try store.open().applications.application(app).standing == .issued)
    #expect(try problems(store).isEmpty)
  }

  @Test(arguments: Hiding.allCases)
  private func `a second theft is ended although a hidden group keeps the first replacement unfinished`(
    _ hiding: Hiding
  ) throws {
    let (store, _) = try store()
    let bringBack = try hide("first", in: store, hiding)
    _ = try store.open().applications.issue(app, to: store.path("second"), .replacing)
    let stolen = try SecretStore.open(at: store.location, credential: store.path("second"))
    let issued = try store.open().applications.issue(app, to: store.path("third"), .replacing)
    #expect(issued.unchanged.map(\.name) == ["first"])
    for group in ["last", app] { #expect(throws: notMember) { try stolen.group(group).items() } }

    try bringBack()
    #expect(try store.open().applications.issue(app, to: store.path("third"), .replacing).unchanged == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
    let new = try SecretStore.open(at: store.location, credential: store.path("third"))
    for group in ["first", "last"] { #expect(try new.value("token", in: group) == group) }
    #expect(try problems(store).isEmpty)
  }

  @Test func `an application's first credential does not depend on a group that it was never in`() throws {
    let (store, _) = try store()
    // A group that nobody can read may name numbers, so the first one is high.
    let bringBack = try hide("last", in: store, .folder)
    let path = store.path("other")
    let issued = try store.open().applications.issue("other", to: path, grants: [.init(.read, in: "first")])
    #expect(issued.unchanged.isEmpty && issued.admissions.map(\.group) == ["first"])
    #expect(try store.open().applications.application("other").standing == .issued)
    try bringBack()
    #expect(try problems(store).isEmpty)
  }

  @Test func `a first credential replaces one that an older registry does not know`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("first").set("token", to: "first")
    let (groups, saved) = (store.location.home + "/groups/", store.path("registry"))
    try FileManager.default.copyItem(atPath: groups + "vault.owner", toPath: saved)
    let stolen = try store.issue(app, grants: [.init(.read, in: "first")])
    for name in ["vault.owner", app] { try FileManager.default.removeItem(atPath: groups + name) }
    try FileManager.default.removeItem(atPath: store.folder + "/state/witness")
    try FileManager.default.moveItem(atPath: saved, toPath: groups + "vault.owner")
    #expect(try store.open().applications.issue(app, to: store.path("new")).unchanged.isEmpty)
    #expect(throws: notMember) { try stolen.group("first").items() }
  }

  @Test func `a second theft from the service is ended although the first replacement is unfinished`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup("first").set("token", to: "first")
    _ = try fixture.owner().enrollService(to: fixture.credential, serving: [.init(.read, in: "first")])
    _ = try hide("first", in: fixture.store)
    _ = try fixture.owner().enrollService(to: fixture.store.path("second"), .replacing)
    let stolen = try SecretStore.open(at: fixture.store.location, credential: fixture.store.path("second"))
    _ = try fixture.owner().enrollService(to: fixture.store.path("third"), .replacing)
    #expect(throws: notMember) { try stolen.group("vault.service").items() }
  }

  @Test func `the same command finishes a replacement with a sealed credential, if the passphrase is the same`() throws
  {
    let (store, stolen) = try store()
    let bringBack = try hide("first", in: store)
    func replace(_ passphrase: String?) throws -> [UnchangedGroup] {
      try store.open().applications.issue(
        app, to: store.path("new"), .replacing, sealedBy: passphrase.map { try Secret($0) }
      ).unchanged
    }
    #expect(try replace("for Ann").map(\.name) == ["first"])
    try bringBack()
    for other in ["for Bob", nil] { #expect(throws: VaultError.exists(.credentialPlace)) { try replace(other) } }
    #expect(try replace("for Ann") == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
    #expect(try problems(store).isEmpty)
  }

  @Test(arguments: Hiding.allCases)
  private func `a hidden group is named when an application is revoked, and the same command finishes it`(
    _ hiding: Hiding
  ) throws {
    let (store, stolen) = try store()
    let bringBack = try hide("first", in: store, hiding)
    let report = try store.open().applications.uninstall(app, revoking: true)
    #expect(report.unchanged.map(\.name) == ["first"] && report.revoked == [app, "last"])
    try bringBack()
    let former = VaultError.formerMember(group: "first", application: app, issue: 1, isBeingReplaced: false)
    #expect(try problems(store) == ["first": former])
    #expect(try store.open().applications.uninstall(app, revoking: true).unchanged == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
    #expect(try problems(store).isEmpty)
  }

  @Test func `a hidden group is named when an application is uninstalled, which stays a member`() throws {
    let (store, _) = try store()
    let bringBack = try hide("first", in: store)
    var leftOut: [String] = []
    _ = try store.open().exposure(leftOut: { name, _ in leftOut.append(name) })
    #expect(leftOut == ["first"])
    let report = try store.open().applications.uninstall(app)
    #expect(report.unchanged.map(\.name) == ["first"] && report.kept == [app, "last"])
    try bringBack()
    #expect(try problems(store).isEmpty)
  }

  @Test func `a hidden group is named when the service is revoked`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup("first").set("token", to: "first")
    _ = try fixture.owner().enrollService(to: fixture.credential, serving: [.init(.read, in: "first")])
    let stolen = try fixture.service()
    let bringBack = try hide("first", in: fixture.store)
    #expect(try fixture.owner().revokeService().unchanged.map(\.name) == ["first"])
    try bringBack()
    #expect(try problems(fixture.store).keys.sorted() == ["first"])
    #expect(try fixture.owner().revokeService().unchanged == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
  }

  @Test func `a hidden group of bindings does not keep an application or the service in other groups`() throws {
    let fixture = try ServiceFixture(enrolled: false)
    try fixture.owner().createGroup("first").set("token", to: "first")
    _ = try fixture.owner().enrollService(to: fixture.credential, serving: [.init(.read, in: "first")])
    let service = try fixture.service()
    let stolen = try fixture.store.issue(app, grants: [.init(.read, in: "first")])
    try fixture.owner().applications.bind(app, .init(user: "0"))
    let hidden = ["vault.service", "vault.tokens"]
    let bringBack = try hidden.map { try hide($0, in: fixture.store) }
    #expect(try fixture.owner().applications.uninstall(app, revoking: true).unchanged.map(\.name) == hidden)
    #expect(throws: notMember) { try stolen.group("first").items() }
    let issued = try fixture.owner().enrollService(to: fixture.store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == hidden)
    #expect(throws: notMember) { try service.group("first").items() }
    for bring in bringBack { try bring() }
    #expect(try fixture.owner().applications.uninstall(app, revoking: true).unchanged == [])
    #expect(try fixture.owner().serviceBindings().isEmpty)
    #expect(try fixture.owner().enrollService(to: fixture.store.path("new"), .replacing).unchanged == [])
    #expect(try problems(fixture.store).isEmpty)
  }

  @Test func `tokens that are hidden while a binding is removed do not stay unnoticed`() throws {
    let fixture = try ServiceFixture()
    try fixture.owner().applications.bind(app, .init(user: "0"))
    let bringBack = try hide("vault.tokens", in: fixture.store)
    #expect(throws: VaultError.self) { try fixture.owner().applications.unbind(app) }
    #expect(try fixture.owner().serviceBindings().isEmpty)
    try bringBack()
    #expect(throws: VaultError.notFound(.binding)) { try fixture.owner().applications.unbind(app) }
  }

  @Test(arguments: Hiding.allCases)
  private func `a missing private group does not keep the replaced credential in the others`(_ hiding: Hiding) throws {
    let (store, stolen) = try store()
    _ = try hide(app, in: store, hiding)
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == [app] && issued.unchanged.map(\.problem.status) == [14])
    for group in ["first", "last"] { #expect(throws: notMember) { try stolen.group(group).items() } }
    let new = try SecretStore.open(at: store.location, credential: store.path("new"))
    #expect(try new.value("token", in: "last") == "last")
    #expect(try store.open().applications.application(app).standing == .interrupted)

    // As the hint says, if the group is lost; a log of it may be left.
    let log = store.location.home + "/groups/\(app)/group.vault-wal"
    if hiding != .folder { try Data(count: 9).write(to: URL(filePath: log)) }
    #expect(try store.open().acceptGroup(app) == .removal)
    #expect(try store.open().applications.issue(app, to: store.path("new"), .replacing).unchanged == [])
    #expect(try SecretStore.open(at: store.location, credential: store.path("new")).group(app).items() == [])
    #expect(try problems(store).isEmpty)
  }

  @Test func `a missing group that is granted does not keep the replaced credential in the others`() throws {
    let (store, stolen) = try store()
    try store.open().createGroup("more")
    let bringBack = try hide("more", in: store)
    let grants = [Applications.Grant(.read, in: "more")]
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing, grants: grants)
    #expect(issued.unchanged.map(\.name) == ["more"] && issued.admissions.isEmpty)
    for group in [app, "first", "last"] { #expect(throws: notMember) { try stolen.group(group).items() } }
    #expect(throws: VaultError.notFound(.group)) {
      try store.open().applications.issue(app, to: store.path("new"), .replacing, grants: [.init(.read, in: "typo")])
    }
    try bringBack()
    let finished = try store.open().applications.issue(app, to: store.path("new"), .replacing, grants: grants)
    #expect(finished.unchanged == [] && finished.admissions.map(\.group) == ["more"])
  }

  @Test func `a private group that another machine does not find is not made anew unnoticed`() throws {
    let (store, _) = try store()
    _ = try hide(app, in: store, .fileFromNewMachine)
    #expect(throws: VaultError.rolledBack(group: app, found: 0, known: 1, reason: .vanished)) {
      try store.issue(app, .again)
    }
  }

  @Test func `a group that was altered to look like another device's is not left out`() throws {
    let (store, stolen) = try store()
    let folder = store.location.home + "/groups/first"
    let state = try store.open().group("first").verifiedState()
    func write(_ header: StateHeader, _ roster: [UInt8]) throws {
      let connection = try Connection(at: ContainerPlace(folder: folder), access: .writing)
      defer { connection.close() }
      try connection.begin(.immediate)
      try connection.storePart(.header, header.serialized())
      try connection.storePart(.roster, roster)
      try connection.commit()
    }
    var header = StateHeader(of: state.roster)
    header.flags.insert(.thisDeviceOnly)
    header.deviceKeyID = [UInt8](repeating: 1, count: 16)
    try write(header, state.sealedRoster.reversed())
    let issued = try store.open().applications.issue(app, to: store.path("new"), .replacing)
    #expect(issued.unchanged.map(\.name) == ["first"])
    try write(StateHeader(of: state.roster), state.sealedRoster)
    #expect(try store.open().applications.issue(app, to: store.path("new"), .replacing).unchanged == [])
    #expect(throws: notMember) { try stolen.group("first").items() }
  }

  /// Who may write a group's files can end the process that changes it.
  @Test func `a group that others may write keeps nobody in another group`() throws {
    let (store, _) = try store()
    try store.open().shareGroup("first", with: UnixGroup(String(getegid())))
    func order() throws -> [String] { try store.open().applications.namesInOrderOfChange().map(\.description) }
    let names = try order()
    #expect(names.last == "first" && names.contains("last") && names.contains(app))
    // Each shared group comes before the others at some time.
    try store.open().shareGroup("last", with: UnixGroup(String(getegid())))
    #expect(try Set((1...64).map { _ in try order().last }) == ["first", "last"])
    #expect(try order().prefix(names.count - 2).sorted() == names.filter { !["first", "last"].contains($0) }.sorted())
  }
}
