import Foundation
import Glibc
import Testing

@testable import GroupFile
@testable import Vault

@Suite struct UnixGroupTests {
  @Test func `a Unix group is found by its name or its number`() throws {
    let root = try UnixGroup("root")
    #expect(root.number == 0 && root.name == "root" && !root.isReadOnly)
    #expect(try UnixGroup("0", isReadOnly: true).name == "root")
    let nameless = try UnixGroup("3999999999")
    #expect(nameless.name == "3999999999" && nameless.number == 3_999_999_999)
  }

  @Test(arguments: ["", "no such group", "-1", "4294967295", "4294967296", "1.0", "root\u{0}"])
  func `an unknown Unix group is refused`(_ name: String) {
    #expect(throws: VaultError.invalid("there is no such Unix group on this machine")) { try UnixGroup(name) }
  }

  @Test func `a user's number has digits alone`() {
    #expect(UnixUser.number(of: "0") == 0 && UnixUser.number(of: "root") == 0)
    for name in ["+0", "-0", ""] { #expect(UnixUser.number(of: name) == nil) }
  }

  @Test func `a group made for a Unix group names it, and can be made private again`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let unixGroup = try UnixGroup(String(getegid()), isReadOnly: true)
    let group = try open.createGroup("shared", NewGroup(keep: 3, lifetime: .purged, unixGroup: unixGroup))
    let info = try group.info()
    #expect(info.unixGroup == unixGroup && info.keep == 3 && info.lifetime == .purged)
    try open.shareGroup("shared", with: UnixGroup(String(getegid())))
    #expect(try group.info().unixGroup?.isReadOnly == false)
    try open.unshareGroup("shared")
    #expect(try group.info().unixGroup == nil)
    #expect(throws: VaultError.notFound(.group)) { try open.unshareGroup("none") }
    #expect(throws: VaultError.self) { try open.shareGroup("vault.owner", with: unixGroup) }
  }

  @Test func `a group whose sharing fails is still closed`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("team")
    // The store's folder lets others write, so it cannot be opened to the Unix group.
    unsafe chmod(store.location.home, 0o777)
    #expect(throws: VaultError.self) { try open.shareGroup("team", with: UnixGroup(String(getegid()))) }
    unsafe chmod(store.location.home, 0o700)
    var status = stat()
    #expect(unsafe stat(store.location.home + "/groups/team", &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(try open.group("team").info().unixGroup == nil)
  }

  /// Users of the Unix group can keep the lock for as long as they like.
  @Test func `a kept lock does not keep a shared group from being removed`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("shared", NewGroup(unixGroup: UnixGroup(String(getegid()))))
    let path = store.location.home + "/groups/shared/lock"
    _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o660])
    let lock = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
    defer { close(lock) }
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    try open.removeGroup("shared")
    #expect(throws: VaultError.notFound(.group)) { try store.open().group("shared").items() }
    for left in ["groups/shared", "set-aside"] {
      #expect(!FileManager.default.fileExists(atPath: "\(store.location.home)/\(left)"))
    }
  }

  @Test func `a shared group that cannot be removed stays shared`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let group = try open.createGroup("shared", NewGroup(unixGroup: UnixGroup(String(getegid()))))
    try group.set("a", to: "one")
    let witnesses = store.folder + "/state/witness"
    let witness = try #require(FileManager.default.subpaths(atPath: witnesses)?.first { $0.hasSuffix("/shared") })
    try Data(repeating: 7, count: 512).write(to: URL(filePath: "\(witnesses)/\(witness)"))
    #expect(throws: VaultError.self) { try store.open().removeGroup("shared") }
    #expect(try store.open().group("shared").file.resolvedPlace().containerShape().unixGroup?.isReadOnly == false)
    try expectEntrance(store)
  }

  /// A writer who is killed leaves a commit in the log that nobody has seen and that the next writer overwrites.
  @Test func `a credential of a shared group tells the state that the owner has seen`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    let group = try open.createGroup("shared", NewGroup(unixGroup: UnixGroup(String(getegid()))))
    try store.issue("api", grants: [Applications.Grant(.write, in: "shared")])
    let witnesses = store.folder + "/state/witness"
    let name = try #require(FileManager.default.subpaths(atPath: witnesses)?.first { $0.hasSuffix("/shared") })
    let witness = URL(filePath: "\(witnesses)/\(name)")
    let (before, seen) = (try Data(contentsOf: witness), try #require(open.witness(group.name).read().record))
    try group.set("a", to: "one")
    try before.write(to: witness)
    ConnectionPool.closeIdle(at: try group.file.resolvedPlace())
    #expect(try group.verifiedState().manifest.epoch == seen.epoch + 1)
    let floors = try open.applications.floors(of: "api", all: true)
    #expect(floors.map(\.group) == ["api", "shared"])
    #expect(floors.last?.state.epoch == seen.epoch && floors.last?.state.link == seen.link)
  }

  /// While a group's files are closed for a moment, another command may find no shared group.
  @Test func `a change of a shared group's files ends with an open entrance`() throws {
    let store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("shared", NewGroup(unixGroup: UnixGroup(String(getegid()))))
    try open.replacing(AccessGroup.Name("shared")) { (_) throws(VaultError) in
      for path in ["", "/groups"] { #expect(unsafe chmod(store.location.home + path, 0o700) == 0) }
    }
    try expectEntrance(store)
  }

  private func expectEntrance(_ store: StoreFixture) throws {
    for path in ["", "/groups"] {
      let attributes = try FileManager.default.attributesOfItem(atPath: store.location.home + path)
      #expect((attributes[.posixPermissions] as? NSNumber)?.uint16Value == 0o711)
    }
  }

  @Test func `a group is only removed if it is still wanted while nobody else writes`() throws {
    let store = try StoreFixture()
    try store.open().createGroup("team").set("a", to: "one")
    #expect(throws: VaultError.contradiction(.superseded)) { try store.open().removeGroup("team") { _ in false } }
    #expect(try store.value("a", in: "team") == "one")
    for group in try store.open().verify() { #expect(throws: Never.self) { try group.result.get() } }
  }
}
