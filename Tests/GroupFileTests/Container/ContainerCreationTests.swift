import Foundation
import Glibc
import Testing

@testable import GroupFile

@Suite struct ContainerCreationTests {
  private func permissions(_ path: String) -> mode_t {
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    return status.st_mode & 0o777
  }

  @Test func `a new file is placed complete, with an empty log and an index`() throws {
    let folder = TemporaryFolder()
    let making = try Connection.create(folder: folder.path)
    #expect(!folder.exists("group.vault"))
    try making.begin(.immediate)
    try making.statement("INSERT INTO state VALUES(?,?)").bind(1, Int64(1)).bind(2, [1, 2, 3]).run()
    try making.commit()
    try making.place()
    #expect(folder.names() == ["group.vault", "group.vault-shm", "group.vault-wal"])
    #expect(folder.bytes(of: "group.vault-wal").isEmpty)
    // The main file alone holds everything.
    folder.remove("group.vault-wal")
    folder.remove("group.vault-shm")
    let reader = try Connection(folder: folder.path, access: .reading)
    try reader.begin(.reading)
    let row = try reader.statement("SELECT bytes FROM state WHERE part=?").bind(1, Int64(1))
    #expect(try row.step())
    #expect(try row.bytes(0, count: 3...3) == [1, 2, 3])
    try reader.commit()
    try reader.quickCheck()
  }

  @Test(arguments: [0o600, 0o640, 0o660] as [mode_t])
  func `the files have the requested mode, whatever the umask`(_ mode: mode_t) throws {
    let folder = TemporaryFolder()
    // The folder mode that goes with files of this mode.
    #expect(unsafe chmod(folder.path, [0o600: 0o700, 0o640: 0o2750, 0o660: 0o2770][mode]!) == 0)
    let making = try Connection.create(folder: folder.path, fileMode: mode)
    try making.place()
    for name in folder.names() { #expect(permissions(folder.file(name)) == mode) }
    do { _ = try ConnectionPool.writer(at: ContainerPlace(folder: folder.path)) }
    // Someone who may only read the group must not be able to block its writers.
    #expect(permissions(folder.file("lock")) == (mode == 0o660 ? 0o660 : 0o600))
  }

  @Test(arguments: ["group.vault", "group.vault-wal", "group.vault-shm", "group.vault-journal"])
  func `no new group is made where files of an old one are left`(_ name: String) throws {
    let folder = TemporaryFolder()
    folder.write([1], to: name)
    #expect(throws: VaultError.exists(.group)) { _ = try Connection.create(folder: folder.path) }
    #expect(folder.names() == [name])
    #expect(folder.bytes(of: name) == [1])
  }

  @Test(arguments: ["group.vault", "group.vault-wal"])
  func `a file that appeared before a new one is placed is kept`(_ name: String) throws {
    let folder = TemporaryFolder()
    let making = try Connection.create(folder: folder.path)
    folder.write([1], to: name)
    #expect(throws: VaultError.exists(.group)) { try making.place() }
    #expect(folder.names() == [name])
    #expect(folder.bytes(of: name) == [1])
  }

  @Test func `a discarded file leaves nothing behind`() throws {
    let folder = TemporaryFolder()
    let making = try Connection.create(folder: folder.path)
    try making.begin(.immediate)
    try making.statement("INSERT INTO state VALUES(1,x'00')").run()
    try making.commit()
    making.discard()
    #expect(folder.names().isEmpty)
  }

  @Test func `a missing folder is reported as missing`() {
    #expect(throws: VaultError.notFound(.group)) { _ = try Connection.create(folder: "/nonexistent/folder") }
    #expect(throws: VaultError.notFound(.group)) { _ = try Connection(folder: "/nonexistent/folder", access: .reading) }
  }

  @Test func `opening an empty folder reports a missing group and creates nothing`() {
    let folder = TemporaryFolder()
    #expect(folder.reading(.reading) == .notFound(.group))
    #expect(folder.reading(.writing) == .notFound(.group))
    #expect(folder.names().isEmpty)
  }

  @Test func `a path that SQLite cannot hold is refused`() throws {
    let folder = TemporaryFolder()
    var path = folder.path
    while path.utf8.count < 470 {
      path += "/" + String(repeating: "d", count: 100)
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    #expect(throws: VaultError.storage(.pathTooLong)) { _ = try Connection.create(folder: path) }
  }

  @Test func `the longest possible path works`() throws {
    let folder = TemporaryFolder()
    var path = folder.path
    for count in [200, 469 - folder.path.utf8.count - 202] {
      path += "/" + String(repeating: "d", count: count)
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }
    try #require(path.utf8.count == 469)
    let making = try Connection.create(folder: path)
    try making.place()
    try Connection(folder: path, access: .writing).quickCheck()
  }

  @Test func `a path with characters that are special in URIs works`() throws {
    let folder = TemporaryFolder()
    let path = folder.path + "/a%20?b=c&d#é "
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    try Connection.create(folder: path).place()
    try Connection(folder: path, access: .writing).quickCheck()
  }
}
