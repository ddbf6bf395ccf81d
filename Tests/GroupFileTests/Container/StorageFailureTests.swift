import CVaultSQLite
import Foundation
import Glibc
import TestSupport
import Testing

@testable import GroupFile

/// Refusals of the operating system; each has its own error.
@Suite(.serialized) struct StorageFailureTests {
  /// A 400 KiB file system mounted over a new folder. Only root can mount it.
  private struct SmallDisk: ~Copyable {
    let folder = TemporaryFolder()

    static let isPossible = geteuid() == 0 && (try? SmallDisk()) != nil

    struct Refused: Error {}

    init(_ limits: String = "size=400k") throws {
      guard unsafe mount("tmpfs", folder.path, "tmpfs", 0, "\(limits),mode=700") == 0 else { throw Refused() }
    }

    deinit { _ = unsafe umount2(folder.path, Int32(MNT_DETACH)) }
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `a full disk is reported as such and loses no acknowledged write`()
    throws
  {
    let disk = try SmallDisk()
    try disk.folder.makeGroup()
    let connection = try Connection(folder: disk.folder.path, access: .writing)
    var acknowledged: Int64 = 0
    let failure = #expect(throws: VaultError.self) {
      for epoch in 1...1000 as ClosedRange<Int64> {
        try connection.begin(.immediate)
        try connection.statement("INSERT INTO chain VALUES(?,?)").bind(1, epoch)
          .bind(2, [UInt8](repeating: 1, count: 5000)).run()
        try connection.commit()
        acknowledged = epoch
        try connection.checkpointIfLarge()
      }
    }
    #expect(failure == .storage(.full))
    #expect(!connection.isInTransaction)
    #expect(acknowledged > 10)
    #expect(try connection.value("SELECT max(epoch) FROM chain") == acknowledged)
    connection.close()
    let again = try Connection(folder: disk.folder.path, access: .reading)
    #expect(try again.value("SELECT max(epoch) FROM chain") == acknowledged)
    try again.quickCheck()
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `making a group on a full disk leaves no files`() throws {
    let disk = try SmallDisk()
    disk.folder.write([UInt8](repeating: 1, count: 380 << 10), to: "other")
    #expect(throws: VaultError.storage(.full)) { try Connection.create(folder: disk.folder.path).place() }
    #expect(disk.folder.names() == ["other"])
  }

  @Test(.enabled(if: SmallDisk.isPossible)) func `a disk with room, but for no further file, is reported as full`()
    throws
  {
    let disk = try SmallDisk("nr_inodes=12")
    try disk.folder.makeGroup()
    // As in a copy that holds the group's file alone.
    for name in disk.folder.names() where name.hasPrefix("group.vault-") { disk.folder.remove(name) }
    for number in 0..<12 where (try? Data().write(to: URL(filePath: "\(disk.folder.path)/other\(number)"))) != nil {}
    #expect(throws: VaultError.storage(.full)) { try Connection(folder: disk.folder.path, access: .writing) }
    #expect(throws: VaultError.storage(.full)) { try Connection(folder: disk.folder.path, access: .reading) }
  }

  @Test(arguments: [(Int.max, 1 << 52), (.min, 1 << 26)])
  func `a file system may say any number of blocks`(blocks: Int, expected: Int) {
    var status = stat()
    (status.st_size, status.st_blocks) = (.max, blocks)
    #expect(status.storedByteCount == expected)
  }

  @Test func `a file without read permission is denied, and one without write permission can be read`() throws {
    let folder = try TemporaryFolder().makeGroup()
    // Nobody is in root's Unix group here, so the folder is shared for reading.
    for name in folder.names() { #expect(unsafe chmod(folder.file(name), 0o440) == 0) }
    #expect(unsafe chmod(folder.path, 0o2550) == 0)
    defer { _ = unsafe chmod(folder.path, 0o700) }
    asNobody {
      #expect(folder.reading(.reading) == nil)
      #expect(folder.reading(.writing) == .permissionDenied)
      let failure = #expect(throws: VaultError.self) {
        _ = try ConnectionPool.writer(at: ContainerPlace(folder: folder.path))
      }
      #expect(failure == .permissionDenied)
    }
    #expect(unsafe chmod(folder.group, 0) == 0)
    asNobody { #expect(folder.reading(.reading) == .permissionDenied) }
    #expect(unsafe chmod(folder.path, 0) == 0)
    asNobody { #expect(folder.reading(.reading) == .permissionDenied) }
  }

  @Test func `a log with only a header, left by a killed writer, can be read without write permission on the index`()
    throws
  {
    let folder = try TemporaryFolder().makeGroup()
    let header: [UInt8]
    do {
      let connection = try Connection(folder: folder.path, access: .writing)
      try connection.begin(.immediate)
      try connection.statement("UPDATE state SET bytes=x'040506'").run()
      try connection.commit()
      header = Array(folder.bytes(of: "group.vault-wal").prefix(32))
      try connection.truncatingCheckpoint()
    }
    folder.remove("group.vault-wal")
    folder.write(header, to: "group.vault-wal")
    for name in folder.names() { #expect(unsafe chmod(folder.file(name), 0o440) == 0) }
    #expect(unsafe chmod(folder.path, 0o2550) == 0)
    defer { _ = unsafe chmod(folder.path, 0o700) }
    var failure: (any Error)?
    asNobody {
      do {
        let reader = try Connection(folder: folder.path, access: .reading)
        try reader.begin(.reading)
        let row = try reader.statement("SELECT bytes FROM state")
        #expect(try row.step() && row.bytes(0, count: 3...3) == [4, 5, 6])
      } catch {
        failure = error
      }
    }
    // SQLite alone would give up after ten seconds.
    #expect(failure == nil)
  }

  /// Runs `body` with the rights of a user who owns nothing, for this thread alone. Needs root.
  private func asNobody(_ body: () -> Void) {
    if geteuid() == 0 { HiddenCalls.setFileSystemUser(65_534) }
    defer { if geteuid() == 0 { HiddenCalls.setFileSystemUser(0) } }
    body()
  }

  @Test(
    arguments: [
      (SQLITE_BUSY, 0, .busy(group: nil)), (SQLITE_BUSY | 2 << 8, 0, .busy(group: nil)),
      (SQLITE_LOCKED, 0, .busy(group: nil)), (SQLITE_PROTOCOL, 0, .busy(group: nil)),
      (SQLITE_FULL, 0, .storage(.full)), (SQLITE_NOMEM, 0, .storage(.memory)),
      (SQLITE_READONLY, 0, .storage(.readOnly)),
      (SQLITE_READONLY | 4 << 8, 0, .storage(.replaced)), (SQLITE_IOERR | 3 << 8, ENOSPC, .storage(.full)),
      (SQLITE_IOERR | 3 << 8, EDQUOT, .storage(.full)), (SQLITE_IOERR | 3 << 8, EIO, .storage(.inputOutput)),
      (SQLITE_IOERR | 4 << 8, EIO, .storage(.unconfirmed)), (SQLITE_IOERR | 5 << 8, ENOSPC, .storage(.unconfirmed)),
      (SQLITE_IOERR | 12 << 8, 0, .storage(.memory)), (SQLITE_CANTOPEN, EACCES, .permissionDenied),
      (SQLITE_CANTOPEN, EPERM, .permissionDenied),
      (SQLITE_CANTOPEN, ENOENT, .notFound(.group)), (SQLITE_CANTOPEN, EMFILE, .storage(.tooManyFiles)),
      (SQLITE_CANTOPEN, EROFS, .storage(.readOnly)), (SQLITE_PERM, 0, .permissionDenied),
    ] as [(Int32, Int32, VaultError)])
  func `each of SQLite's failures maps to its error`(_ code: Int32, _ systemError: Int32, _ error: VaultError) {
    #expect(ResultCode.error(code, systemError: systemError) == error)
  }

  @Test(arguments: [
    SQLITE_CORRUPT, SQLITE_CORRUPT | 2 << 8, SQLITE_NOTADB, SQLITE_TOOBIG, SQLITE_INTERRUPT, SQLITE_CONSTRAINT,
    SQLITE_MISMATCH, SQLITE_SCHEMA, SQLITE_ERROR, SQLITE_IOERR | 2 << 8,
  ])
  func `any other error of SQLite maps to altered`(_ code: Int32) {
    #expect(ResultCode.error(code, systemError: 0).isAltered)
  }

  @Test(arguments: [0x6969, 0x517B, 0xFE53_4D42, 0xFF53_4D42, 0x0102_1997] as [UInt32])
  func `a network file system is recognized by its number`(_ number: UInt32) {
    #expect(NetworkFileSystem.kind(number) != nil)
  }

  @Test func `a local file system is not taken for a network file system`() {
    #expect(NetworkFileSystem.kind(of: NSTemporaryDirectory()) == nil)
    #expect(NetworkFileSystem.kind(0xEF53) == nil)
  }

  @Test(
    arguments: [
      (UInt(0x8001), "sshfs"), (UInt(0x2D), nil), (UInt(0x30), nil), (UInt(0x31), nil), (UInt(0x1000_0000_0012), nil),
    ] as [(UInt, String?)])
  func `of the file systems over FUSE those of other machines are recognized by name`(_ device: UInt, _ kind: String?) {
    let mounts = """
      21 1 8:1 / / rw,relatime shared:1 master:2 - ext4 /dev/sda1 rw
      36 21 128:1 / /mnt/with\\040space rw,nosuid - fuse.sshfs host:/folder rw,user_id=0
      37 21 0:45 / /mnt/local rw - fuse.bindfs /folder rw
      38 21 0:48
      39 21 0:49 / /mnt/sshfs rw shared:3 -
      """
    #expect(NetworkFileSystem.kind(ofDevice: device, in: mounts) == kind)
  }
}
