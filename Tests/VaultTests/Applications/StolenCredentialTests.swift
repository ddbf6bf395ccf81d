import Foundation
import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// A credential that is wrong or no longer valid opens nothing.
@Suite struct StolenCredentialTests {
  private let store: StoreFixture
  private let application = "com.example.api"

  init() throws { store = try StoreFixture() }

  @Test func `a grant that waited while the credential was replaced does not admit the old one`() throws {
    try store.open().createGroup("team.shared")
    try store.issue(application)
    let owner = try store.open()
    let path = store.location.home + "/groups/team.shared/lock"
    let lock = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    #expect(flock(lock, LOCK_EX) == 0)
    let failure = Locked<VaultError?>(nil)
    onThreads(2) { thread in
      if thread == 0 {
        do throws(VaultError) {
          try owner.grant(.read, in: "team.shared", to: application)
        } catch {
          failure.withLock { $0 = error }
        }
        return
      }
      #expect(eventually { isWaitedFor(lock) })
      // The owner records the new issue in the registry before changing the groups.
      do {
        let known = try #require(try store.open().registry().application(application))
        var entry = known
        (entry.issue, entry.highestIssue) = (2, 2)
        try store.open().registry().record(entry, since: known)
      } catch {
        Issue.record(error)
      }
      close(lock)
    }
    #expect(failure.withLock { $0 } != nil)
    #expect(try store.open().group("team.shared").members.allSatisfy { $0.who.application == nil })
  }

  private enum Waiting: CaseIterable { case writingAgain, binding }

  @Test(arguments: Waiting.allCases)
  private func `whoever waited while an application was revoked does not bring it back`(_ waiting: Waiting) throws {
    switch waiting {
    case .writingAgain: try store.issue(application)
    case .binding:
      // An earlier call was interrupted here.
      let (name, registry) = (try AccessGroup.Name(application), try store.open().registry())
      let entry = try store.open().applications.newEntry(name, .registered, .survives, registry)
      try registry.record(entry, since: nil)
      try store.open().applications.makePrivateGroup(name, entry)
    }
    let owner = try store.open()
    let lock = unsafe open(store.location.home + "/groups/\(application)/lock", O_RDWR | O_CLOEXEC)
    try #require(flock(lock, LOCK_EX) == 0)
    let failure = Locked<VaultError?>(nil)
    let errors = onThreads(3) { thread in
      switch thread {
      case 0:
        do throws(VaultError) {
          switch waiting {
          case .writingAgain: _ = try owner.applications.issue(application, to: store.path("again"), .again)
          case .binding: try owner.applications.bind(application, .init(user: "0"))
          }
        } catch {
          failure.withLock { $0 = error }
        }
      case 1:
        #expect(eventually { isWaitedFor(lock) })
        try store.open().applications.uninstall(application, revoking: true)
      default:
        #expect(eventually { standing == .revoked })
        close(lock)
      }
    }
    #expect(errors.isEmpty && failure.withLock { $0 } == .contradiction(.superseded))
    #expect(standing == .revoked)
    #expect(try store.open().group(application).members.allSatisfy { $0.who.application == nil })
    #expect(!FileManager.default.fileExists(atPath: store.path("again")))
  }

  private var standing: Application.Standing? { try? store.open().applications.application(application).standing }

  @Test func `a binding that is written while the application is revoked does not stay`() throws {
    let fixture = try ServiceFixture()
    try fixture.store.issue(application)
    let owner = try fixture.owner()
    nonisolated(unsafe) var looks = 0
    nonisolated(unsafe) let revoke = { try fixture.owner().applications.uninstall(self.application, revoking: true) }
    owner.testOnlyBeforeLook.withLock { [application] in
      $0 = { name in
        guard name == application else { return }
        unsafe looks += 1
        // It has been looked at once to see that the application is not revoked.
        guard unsafe looks == 2 else { return }
        do { _ = try unsafe revoke() } catch { Issue.record(error) }
      }
    }
    #expect(throws: VaultError.contradiction(.revokedApplication)) {
      try owner.applications.bind(application, .init(user: "0"))
    }
    #expect(unsafe looks >= 2)
    #expect(try fixture.owner().serviceBindings().isEmpty)
  }

  @Test func `an uninstallation does not undo a replacement or a revocation that came in between`() throws {
    for isRevoking in [false, true] {
      let store = try StoreFixture()
      try store.issue(application)
      let owner = try store.open()
      nonisolated(unsafe) var change: (() throws -> Void)? = {
        if isRevoking {
          try store.open().applications.uninstall(application, revoking: true)
        } else {
          try store.issue(application, .replacing)
        }
      }
      owner.testOnlyBeforeLook.withLock {
        $0 = { _ in
          let now = unsafe change
          unsafe change = nil
          do { try now?() } catch { Issue.record(error) }
        }
      }
      #expect(throws: VaultError.contradiction(.superseded)) { try owner.applications.uninstall(application) }
      let entry = try store.open().applications.application(application)
      #expect(entry.standing == (isRevoking ? .revoked : .issued) && (entry.issue == 1) == isRevoking)
    }
  }

  /// Whether someone waits for the lock of an open file, according to the kernel.
  private func isWaitedFor(_ descriptor: Int32) -> Bool {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { return false }
    return lockWaiterCount(inode: UInt64(status.st_ino)) > 0
  }

  @Test(arguments: [true, false])
  func `a restored backup does not bring back who was replaced or revoked since, even without a witness`(
    hasRegistry: Bool
  ) throws {
    try store.open().createGroup("team").set("a", to: "one")
    let names = ["replaced", "uninstalled", "removed", "stays"]
    let applications = try names.map { try store.issue($0, grants: [.init(.read, in: "team")]) }
    try store.open().backUp(to: store.path("backup"))
    try store.issue("replaced", .replacing)
    try store.open().applications.uninstall("uninstalled", revoking: true)
    try store.open().revoke("removed", from: "team")
    try FileManager.default.removeItem(atPath: store.folder + "/state/witness")
    if !hasRegistry { try FileManager.default.removeItem(atPath: store.location.home + "/groups/vault.owner") }
    let restored = try store.open().restoreBackup(from: store.path("backup"), groups: ["team"], replacing: true)
    guard case .restored(let group)? = restored.groups.first?.outcome else { throw VaultError.notFound(.group) }
    #expect(Set(group.left.map(\.application)) == ["replaced", "uninstalled", "removed"])
    for stolen in applications.dropLast() {
      #expect(throws: VaultError.denied(.notAMember)) { try stolen.group("team").items() }
    }
    #expect(group.members.map(\.application).sorted() == ["", "stays"])
  }

  @Test func `a credential signed by another owner opens nothing here`() throws {
    _ = try store.open().applications.issue(application, to: store.path("credential"))
    let own = try Data(contentsOf: URL(fileURLWithPath: store.path("credential")))
    // The member seed is right, so that only the owner's key can cause the refusal.
    let other = try StoreFixture()
    let covered = try own[..<24] + [UInt8](hex: other.location.identity().ownerKey) + own[56..<own.count - 32]
    let forged = covered + Hash.digest(Label("vault1.cred.hash"), Array(covered)).bytes
    let path = store.path("forged")
    #expect(FileManager.default.createFile(atPath: path, contents: forged, attributes: [.posixPermissions: 0o600]))
    #expect(try CredentialFile.read(path).application == application)
    let failure = #expect(throws: VaultError.self) {
      try SecretStore.open(at: store.location, credential: path).group(application).items()
    }
    guard case .damaged(_, .roster, _) = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    #expect(
      try SecretStore.open(at: store.location, credential: store.path("credential")).group(application).items() == [])
  }
}
