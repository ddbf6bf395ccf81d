import Foundation
import Glibc
import Sealing
import TestSupport
import Testing

@testable import GroupFile
@testable import Vault

/// What making, replacing and removing groups leaves behind, in the store and in the process.
struct LeftoverTests {
  @Test func `a removed group leaves nothing, whatever was in its folder`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team").set("a", to: "1")
    let group = store.location.home + "/groups/team"
    // A program that was killed while it made the group left these.
    for name in ["group.vault.1f.new", "group.vault.1f.new-wal"] {
      try Data([1]).write(to: URL(filePath: "\(group)/\(name)"))
    }
    try open.removeGroup("team")
    #expect(!FileManager.default.fileExists(atPath: group))
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
  }

  @Test func `a group is made in place of what a killed process left`() throws {
    let store = try StoreFixture()
    let group = store.location.home + "/groups/team"
    try FileManager.default.createDirectory(
      atPath: group, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let left = ["group.vault.1f.new": 9, "group.vault.1f.new-wal": 9, "group.vault-wal": 0, "group.vault-shm": 9]
    for (name, bytes) in left {
      try Data(count: bytes).write(to: URL(filePath: "\(group)/\(name)"))
    }
    try store.open().createGroup("team").set("a", to: "1")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: group).sorted()
        == ["group.vault", "group.vault-shm", "group.vault-wal", "lock"])
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
    #expect(try store.value("a", in: "team") == "1")
  }

  @Test func `a group of a removed one's name can be used although the process that made it was killed`() throws {
    let store = try StoreFixture()
    let (owner, name) = (try store.open(), try AccessGroup.Name("team"))
    try owner.createGroup("team").set("a", to: "1")
    try owner.removeGroup("team")
    let removed = try #require(owner.witness(name).read().record)
    try owner.createGroup("team")
    // As a process leaves it that is killed before it writes the witness.
    var entry = try #require(try owner.registry().entry(of: name))
    entry.presence = .changing
    try owner.registry().record(entry, of: name)
    #expect(owner.witness(name).raise { _ in removed })
    #expect(try store.open().group("team").items().isEmpty)
    #expect(owner.witness(name).read().record?.groupID == entry.groupID)
    try store.open().group("team").set("a", to: "2")
    #expect(try store.value("a", in: "team") == "2")
    #expect(try store.open().verify().allSatisfy { if case .success = $0.result { true } else { false } })
  }

  @Test func `nothing behind a link in the place of a group is moved or removed`() throws {
    let store = try StoreFixture()
    let (home, documents) = (store.location.home, store.folder + "/documents")
    try FileManager.default.createDirectory(
      atPath: documents, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let papers = ["paper", "group.vault-wal"]
    func plant(_ name: String) throws {
      try FileManager.default.createSymbolicLink(
        atPath: "\(home)/groups/\(name)", withDestinationPath: documents)
    }
    for paper in papers { try Data().write(to: URL(filePath: "\(documents)/\(paper)")) }
    try plant("new")
    #expect(throws: VaultError.self) { try store.open().createGroup("new") }
    // Somebody brings a removed group back.
    try store.open().createGroup("team")
    try store.open().removeGroup("team")
    try plant("team")
    #expect(throws: VaultError.self) { try store.open().group("team").items() }
    _ = try? store.open().removeGroup("team")
    #expect(try FileManager.default.contentsOfDirectory(atPath: documents).sorted() == papers.sorted())
  }

  @Test func `a group whose folder is elsewhere is removed there`() throws {
    let store = try StoreFixture()
    let (group, elsewhere) = (store.location.home + "/groups/team", store.folder + "/elsewhere")
    try store.open().createGroup("team").set("a", to: "1")
    try FileManager.default.moveItem(atPath: group, toPath: elsewhere)
    try FileManager.default.createSymbolicLink(atPath: group, withDestinationPath: elsewhere)
    #expect(try store.value("a", in: "team") == "1")
    try store.open().removeGroup("team")
    #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == [])
    #expect(try store.open().groupNames() == ["default"])
    try store.open().createGroup("team")
  }

  @Test func `what Vault does not make in the folder of a group stays when a group is to be made there`() throws {
    let store = try StoreFixture()
    let copy = store.location.home + "/groups/team/group.vault.bak"
    try FileManager.default.createDirectory(
      atPath: store.location.home + "/groups/team", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try Data([1]).write(to: URL(filePath: copy))
    _ = try? store.open().createGroup("team")
    #expect(FileManager.default.contents(atPath: copy) == Data([1]))
  }

  @Test func `a backup that fails at its very end leaves nothing that looks like one`() throws {
    let store = try StoreFixture()
    let path = store.folder + "/backup"
    let backup = try BackupFolder(at: path)
    try backup.complete(with: store.location.identityFolder.read())
    backup.discard()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test(.enabled(if: geteuid() == 0, "only root can make another user's folder"))
  func `a complete backup stays, even if its draft cannot be removed`() throws {
    let store = try StoreFixture()
    let path = store.folder + "/backup"
    try store.open().backUp(to: path) { _, _ in
      let foreign = path + "/.incomplete/foreign"
      try? FileManager.default.createDirectory(atPath: foreign + "/a", withIntermediateDirectories: true)
      for path in [foreign + "/a", foreign] { _ = unsafe lchown(path, 65_533, 65_533) }
    }
    #expect(FileManager.default.fileExists(atPath: path + "/identity/identity"))
    #expect(FileManager.default.fileExists(atPath: path + "/groups/default/group.vault"))
  }

  @Test(.enabled(if: geteuid() == 0, "only root can make another user's folder"))
  func `what another user has put into a group's folder keeps none of its files`() throws {
    let store = try StoreFixture()
    let group = store.location.home + "/groups/team"
    try store.open().createGroup("team").set("a", to: "1")
    // It comes before the others, and its contents cannot be removed by whoever is not root.
    try FileManager.default.createDirectory(atPath: group + "/a/b", withIntermediateDirectories: true)
    for path in [group + "/a/b", group + "/a"] { #expect(unsafe lchown(path, 65_533, 65_533) == 0) }
    #expect(unsafe close(open("\(group)/\u{1}", O_CREAT | O_WRONLY, 0o600)) == 0)
    let invalid: [CChar] = Array(group.utf8CString.dropLast()) + [47, -1, 0]
    #expect(unsafe close(open(invalid, O_CREAT | O_WRONLY, 0o600)) == 0)
    let folder: [CChar] = invalid.dropLast() + [-1, 0]
    #expect(unsafe mkdir(folder, 0o700) == 0)
    try store.open().removeGroup("team")
    let left = FileManager.default.enumerator(atPath: store.location.home + "/set-aside")?.map { "\($0)" } ?? []
    #expect(left.map { $0.split(separator: "/").dropFirst(2).joined(separator: "/") }.sorted() == ["", "", "a", "a/b"])
  }

  @Test func `a thread that keeps others from making groups does not wait for itself`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let number = try open.lockingGroups { (_) throws(VaultError) in
      try open.lockingGroups { (_) throws(VaultError) in 1 }
    }
    #expect(number == 1)
  }

  @Test func `a group that is in use stays known, however many others are used`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    for number in 0..<40 { try open.createGroup("g\(number)") }
    let held = try open.group("g0")
    for number in 1..<40 { _ = try open.group("g\(number)").items() }
    #expect(try open.group("g0").sharing === held.sharing)
  }

  @Test func `a process that has used many groups keeps few files open`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    for number in 0..<80 {
      try open.createGroup("g\(number)").set("a", to: "1")
      if number % 2 == 0 { try open.removeGroup("g\(number)") }
    }
    let files = try openFiles(inside: store.folder).filter { !$0.hasSuffix("/lock") }
    // Three for the witness of each of 32 groups, and three or four for each of 24 idle connections; but 320 without limits.
    #expect((1..<200).contains(files.count))
  }

  @Test func `threads that make drafts at once do not take each other's for those of killed processes`() throws {
    let store = try StoreFixture()
    let failures = onThreads(8) { _ in
      for _ in 0..<40 {
        let drafts = try DraftFolder.make(in: store.location.home)
        let path = try drafts.path(of: AccessGroup.Name("team"))
        guard unsafe mkdir(path, 0o700) == 0 else { throw VaultError.notFound(.group) }
      }
    }
    #expect(failures.isEmpty, "\(failures)")
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
  }

  @Test(arguments: [false, true])
  func `a restoration does not replace a group that was changed meanwhile`(hasWitness: Bool) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let thief = try store.issue("thief", grants: [.init(.read, in: "team")])
    let backup = store.folder + "/backup"
    try store.open().backUp(to: backup)
    try store.open().group("team").set("a", to: "newer")
    if !hasWitness { try FileManager.default.removeItem(atPath: store.folder + "/state/witness") }
    var isChanged = false
    let restored = try store.open().restoreBackup(from: backup, groups: ["team"], replacing: true) { _, progress in
      guard case .copied = progress, !isChanged else { return }
      isChanged = true
      #expect(throws: Never.self) {
        try store.open().revoke("thief", from: "team")
        try store.open().group("team").set("a", to: "newest")
      }
    }
    guard case .failed(.busy("team"))? = restored.groups.first?.outcome else { throw VaultError.notFound(.group) }
    #expect(isChanged)
    #expect(try store.value("a", in: "team") == "newest")
    #expect(throws: VaultError.denied(.notAMember)) { try thief.group("team").items() }
    let again = try store.open().restoreBackup(from: backup, groups: ["team"], replacing: true)
    guard case .restored? = again.groups.first?.outcome else { throw VaultError.notFound(.group) }
  }

  @Test(arguments: [true, false])
  func `a restoration does not replace a damaged group that was changed meanwhile`(isRepaired: Bool) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "old")
    let thief = try store.issue("thief", grants: [.init(.read, in: "team")])
    let backup = store.folder + "/backup"
    try store.open().backUp(to: backup)
    let folder = store.location.home + "/groups/team"
    do {
      let connection = try Connection(at: ContainerPlace(folder: folder), access: .writing)
      defer { connection.close() }
      try connection.begin(.immediate)
      try connection.statement("INSERT INTO wrap VALUES (zeroblob(16), zeroblob(73))").run()
      try connection.commit()
    }
    var isChanged = false
    let restored = try store.open().restoreBackup(from: backup, groups: ["team"], replacing: true) { _, progress in
      guard case .copied = progress, !isChanged else { return }
      isChanged = true
      #expect(throws: Never.self) {
        if isRepaired { try store.open().revoke("thief", from: "team") }
        try store.open().group("team").set("a", to: "newest")
      }
    }
    guard case .failed(.busy("team"))? = restored.groups.first?.outcome else { throw VaultError.notFound(.group) }
    #expect(isChanged)
    #expect(try store.value("a", in: "team") == "newest")
    if isRepaired { #expect(throws: VaultError.denied(.notAMember)) { try thief.group("team").items() } }
    let again = try store.open().restoreBackup(from: backup, groups: ["team"], replacing: true)
    guard case .restored? = again.groups.first?.outcome else { throw VaultError.notFound(.group) }
  }

  @Test(arguments: ["file", "link", "open folder"])
  func `what is in the place of the folder for drafts keeps no member from being removed`(kind: String) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    let thief = try store.issue("thief", grants: [.init(.read, in: "team")])
    let path = store.location.home + "/set-aside"
    switch kind {
    case "file": try Data([1]).write(to: URL(filePath: path))
    case "link": try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/nonexistent")
    default:
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      #expect(unsafe chmod(path, 0o777) == 0)
    }
    let open = try store.open()
    try open.revoke("thief", from: "team")
    #expect(throws: VaultError.denied(.notAMember)) { try thief.group("team").items() }
    let left = try FileManager.default.contentsOfDirectory(atPath: store.location.home)
    let moved = left.filter { $0.hasPrefix("set-aside") }
    #expect(moved.count == 1)
    #expect(open.takeNotices().contains(.setAsideMoved(to: "\(store.location.home)/\(moved[0])")))
  }

  /// The group's own lock, which others can keep, is replaced after a time, also if the owner's other command has it.
  @Test func `changes that put new files in the place of a group's wait for each other`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    try store.issue("web", grants: [.init(.read, in: "team")])
    let changes: [@Sendable (SecretStore) throws -> Void] = [
      { try $0.revoke("web", from: "team") },
      { try $0.rotateGroup("team") },
      { try $0.unshareGroup("team") },
      { _ = try $0.repairGroup("team", isLossAccepted: { _ in true }) },
      { try $0.acceptGroup("team") },
      { try $0.removeGroup("team") },
    ]
    let open = try store.open()
    let team = try AccessGroup.Name("team")
    try open.replacing(team) { (_) throws(VaultError) in
      // Each waits ten seconds.
      expectBusy(changes, store)
    }
    for change in changes { try change(store.open()) }
    #expect(!FileManager.default.fileExists(atPath: store.location.home + "/set-aside"))
  }

  @Test func `files that were replaced under a kept lock, and never read, are named at each change`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    let left = store.location.home + "/set-aside/team-2026-11-25T18:05:14Z+locked.copy"
    for path in [left, store.location.home + "/set-aside/team-2-2026-11-25T18:05:14Z"] {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }
    for _ in 1...2 {
      let open = try store.open()
      try open.rotateGroup("team")
      #expect(open.takeNotices() == [.filesLeft(group: "team", path: left)])
    }
  }

  @Test(arguments: [true, false]) func `files that a killed command has left are removed if the group has all of them`(
    isAll: Bool
  ) throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team").set("a", to: "one")
    let left = store.location.home + "/set-aside/team-2026-11-25T18:05:14Z+locked"
    try FileManager.default.createDirectory(
      atPath: store.location.home + "/set-aside", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: store.location.home + "/groups/team"))
    try FileManager.default.copyItem(atPath: store.location.home + "/groups/team", toPath: left)
    if !isAll {
      // Somebody who had them open has written to them.
      let transaction = try open.group("team").file.unwitnessed(in: left).beginWriting()
      try transaction.put(Attributes(name: "b", created: 1, changed: 1, valueKind: 1), nil)
      try transaction.commit()
    }
    // As the files of a shared group are left: closed, but with their modes.
    for name in try FileManager.default.contentsOfDirectory(atPath: left) {
      #expect(unsafe chmod("\(left)/\(name)", 0o660) == 0)
    }
    #expect(unsafe chmod(left, 0o2700) == 0)
    try open.group("team").set("a", to: "two")
    try open.rotateGroup("team")
    #expect(open.takeNotices() == (isAll ? [] : [.filesLeft(group: "team", path: left)]))
    #expect(FileManager.default.fileExists(atPath: left) == !isAll)
    #expect(try store.value("a", in: "team") == "two")
  }

  @Test(arguments: [false, true]) func `a new key that a killed command has prepared, and never used, is removed`(
    isUsed: Bool
  ) throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    let (home, files) = (store.location.home, FileManager.default)
    let folders = [(home + "/groups/team", "old-group"), (store.folder + "/state", "old-state")]
    func close() throws { ConnectionPool.closeIdle(at: try ContainerPlace(folder: home + "/groups/team")) }
    try close()
    for (folder, name) in folders { try files.copyItem(atPath: folder, toPath: "\(store.folder)/\(name)") }
    try store.open().rotateGroup("team")
    if isUsed { try store.open().group("team").set("a", to: "newer") }
    try close()
    try files.createDirectory(
      atPath: home + "/set-aside", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let left = home + "/set-aside/team-2026-11-25T18:05:14Z+locked"
    try files.copyItem(atPath: home + "/groups/team", toPath: left)
    for (folder, name) in folders {
      try files.removeItem(atPath: folder)
      try files.copyItem(atPath: "\(store.folder)/\(name)", toPath: folder)
    }
    let open = try store.open()
    try open.rotateGroup("team")
    #expect(open.takeNotices() == (isUsed ? [.filesLeft(group: "team", path: left)] : []))
    #expect(files.fileExists(atPath: left) == isUsed)
    #expect(try store.value("a", in: "team") == "one")
  }

  @Test func `files that a killed command has left stay if rows of the group are missing`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team").set("a", to: "one")
    let (folder, left) = ("groups/team", "set-aside/team-2026-11-25T18:05:14Z+locked")
    let files = FileManager.default
    try files.createDirectory(
      atPath: store.location.home + "/set-aside", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    let place = try ContainerPlace(folder: store.location.home + "/" + folder)
    ConnectionPool.closeIdle(at: place)
    try files.copyItem(atPath: place.folder, toPath: store.location.home + "/" + left)
    let connection = try Connection(at: place, access: .writing)
    try connection.statement("DELETE FROM item").run()
    connection.close()
    #expect(throws: VaultError.self) { try store.open().rotateGroup("team") }
    #expect(files.fileExists(atPath: store.location.home + "/" + left + "/group.vault"))
  }

  private func expectBusy(_ changes: [@Sendable (SecretStore) throws -> Void], _ store: StoreFixture) {
    onThreads(changes.count) { (number) -> Void in
      #expect(throws: VaultError.busy(group: "team"), "\(number)") { try changes[number](store.open()) }
    }
  }

  @Test func `the notices about what a new key dropped are complete, however many groups there are`() {
    let board = NoticeBoard()
    var left = GroupRepair()
    left.unsigned = 1
    for group in 0..<130 { board.post(left, of: "g\(group)", keptAside: nil) }
    #expect(board.take().count == 130)
  }

  @Test func `a restoration replaces a group that came into its place meanwhile only if it was told to`() throws {
    for replacing in [false, true] {
      let store = try StoreFixture()
      try store.open().createGroup("team").set("a", to: "old")
      let backup = store.folder + "/backup"
      try store.open().backUp(to: backup)
      try store.open().removeGroup("team")
      let open = try store.open()
      var isMade = false
      let restored = try open.restoreBackup(from: backup, groups: ["team"], replacing: replacing) { _, _ in
        guard !isMade else { return }
        isMade = true
        #expect(throws: Never.self) { try store.open().createGroup("team").set("a", to: "new") }
      }
      #expect(isMade)
      if replacing {
        guard case .restored(let group)? = restored.groups.first?.outcome else { throw VaultError.notFound(.group) }
        #expect(group.keptAside != nil)
      } else {
        guard case .failed(.otherState("team"))? = restored.groups.first?.outcome else {
          throw VaultError.notFound(.group)
        }
        #expect(try store.value("a", in: "team") == "new")
      }
    }
  }
}
