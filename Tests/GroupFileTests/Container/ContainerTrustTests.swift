import Glibc
import Testing

@testable import GroupFile

/// Which modes and owners of a group's folder and files are trusted.
@Suite struct ContainerTrustTests {
  private func refusal(folder: TemporaryFolder) -> String? {
    switch folder.reading() {
    case .denied(.openToOthers(let reason)), .denied(.permissions(let reason)): reason
    default: nil
    }
  }

  @Test(
    arguments: [(0o700, 0o600), (0o2700, 0o600), (0o500, 0o400), (0o2770, 0o660), (0o2770, 0o600), (0o2750, 0o640)]
      as [(mode_t, mode_t)]
  )
  func `a private group and one shared with another Unix group can be opened`(_ folderMode: mode_t, _ mode: mode_t)
    throws
  {
    let folder = try TemporaryFolder().makeGroup()
    for name in folder.names() { #expect(unsafe chmod(folder.file(name), mode) == 0) }
    #expect(unsafe chmod(folder.path, folderMode) == 0)
    #expect(folder.reading() == nil)
    #expect(unsafe chmod(folder.path, 0o700) == 0)
  }

  @Test(arguments: [0o754, 0o711, 0o701, 0o770, 0o750, 0o777, 0o2777, 0o2755, 0o1770, 0o4700] as [mode_t])
  func `a folder with any other mode is refused, and the error names the mode`(_ mode: mode_t) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(unsafe chmod(folder.path, mode) == 0)
    #expect(refusal(folder: folder) == "the group's folder is open to other users (mode \(String(mode, radix: 8)))")
  }

  @Test(
    arguments: [(0o700, 0o640), (0o700, 0o604), (0o700, 0o660), (0o2750, 0o660), (0o2770, 0o664), (0o2770, 0o4600)]
      as [(mode_t, mode_t)], ["group.vault", "group.vault-wal", "group.vault-shm"])
  func `a file that admits more users than its folder is refused with its mode`(
    _ modes: (folder: mode_t, file: mode_t), _ name: String
  ) throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(unsafe chmod(folder.file(name), modes.file) == 0)
    #expect(unsafe chmod(folder.path, modes.folder) == 0)
    #expect(refusal(folder: folder) == "the group's file is open to other users (mode \(String(modes.file, radix: 8)))")
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func `a private folder of another user is refused`() throws {
    let folder = try TemporaryFolder().makeGroup()
    #expect(unsafe chown(folder.path, 65_533, 65_533) == 0)
    #expect(refusal(folder: folder) == "the group's folder belongs to another user")
  }

  @Test(arguments: [nil, 0o644, 0o600] as [mode_t?])
  func `a group that everybody may read is not locked for writing, with and without a lock`(_ lock: mode_t?) throws {
    let folder = try TemporaryFolder().makeGroup()
    if lock != nil { folder.write([], to: "lock") }
    for name in folder.names() { #expect(unsafe chmod(folder.file(name), name == "lock" ? lock ?? 0 : 0o644) == 0) }
    #expect(unsafe chmod(folder.path, 0o755) == 0)
    #expect(folder.reading() == nil)
    let place = try ContainerPlace(folder: folder.path)
    let refusal = VaultError.denied(.openToOthers("the group's file is open to other users (mode 644)"))
    #expect(throws: refusal) { _ = try ConnectionPool.writer(at: place, waiting: 0) }
    #expect(folder.exists("lock") == (lock != nil))
  }
}
