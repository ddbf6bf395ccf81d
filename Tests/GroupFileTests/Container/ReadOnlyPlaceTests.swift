import Foundation
import Glibc
import Testing

@testable import GroupFile

/// Makes a folder read-only: by its mode, or by a mount for root, who is not bound by modes.
private enum ReadOnly {
  /// Whether this process can make a folder read-only.
  static let isPossible: Bool = {
    let folder = TemporaryFolder()
    return (try? run(folder) {}) != nil
  }()

  private struct Refused: Error {}

  static func run(_ folder: TemporaryFolder, _ body: () throws -> Void) throws {
    guard geteuid() == 0 else {
      guard unsafe chmod(folder.path, 0o500) == 0 else { throw Refused() }
      defer { _ = unsafe chmod(folder.path, 0o700) }
      return try body()
    }
    let bind = UInt(MS_BIND)
    guard unsafe mount(folder.path, folder.path, nil, bind, nil) == 0 else { throw Refused() }
    defer { _ = unsafe umount2(folder.path, Int32(MNT_DETACH)) }
    let flags = bind | UInt(MS_REMOUNT) | UInt(MS_RDONLY)
    guard unsafe mount(folder.path, folder.path, nil, flags, nil) == 0 else { throw Refused() }
    try body()
  }
}

/// Reading a group in a place where nothing can be written.
@Suite(.serialized, .enabled(if: ReadOnly.isPossible)) struct ReadOnlyPlaceTests {
  private func write(_ folder: TemporaryFolder, _ value: UInt8) throws {
    let connection = try Connection(folder: folder.path, access: .writing)
    try connection.begin(.immediate)
    try connection.statement("UPDATE state SET bytes=?").bind(1, [value, value, value]).run()
    try connection.commit()
  }

  private func read(_ folder: TemporaryFolder) throws -> [UInt8] {
    let lease = try ConnectionPool.reader(at: ContainerPlace(folder: folder.path))
    try lease.connection.begin(.reading)
    let row = try lease.connection.statement("SELECT bytes FROM state")
    #expect(try row.step())
    defer { lease.connection.rollback() }
    return try row.bytes(0, count: 3...3)
  }

  @Test func `a group on read-only storage is read with the changes that only its log holds`() throws {
    let folder = try TemporaryFolder().makeGroup()
    try write(folder, 9)
    #expect(!folder.bytes(of: "group.vault-wal").isEmpty)
    try ReadOnly.run(folder) { () throws in #expect(try read(folder) == [9, 9, 9]) }
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder.path))
  }

  @Test(arguments: [["group.vault-wal", "group.vault-shm"], ["group.vault-shm"], ["group.vault-wal"], []])
  func `a group without log and index is read if its file holds everything`(_ missing: [String]) throws {
    let folder = try TemporaryFolder().makeGroup()
    for name in missing { folder.remove(name) }
    let names = folder.names()
    try ReadOnly.run(folder) { () throws in
      #expect(try read(folder) == [1, 2, 3])
      #expect(try read(folder) == [1, 2, 3])
    }
    #expect(folder.names() == names)
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder.path))
  }

  @Test func `a log with content is not ignored when its index is missing`() throws {
    let folder = try TemporaryFolder().makeGroup()
    try write(folder, 9)
    folder.remove("group.vault-shm")
    try ReadOnly.run(folder) { () throws in #expect(throws: VaultError.self) { _ = try read(folder) } }
    #expect(try read(folder) == [9, 9, 9])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: folder.path))
  }

  @Test func `writing to read-only storage is refused with the reason`() throws {
    let folder = try TemporaryFolder().makeGroup()
    try ReadOnly.run(folder) { () throws in
      let expected: VaultError = geteuid() == 0 ? .storage(.readOnly) : .permissionDenied
      // A folder's mode does not bind the files in it, but no file can be added, so there can be no lock.
      #expect(folder.reading(.writing) == (geteuid() == 0 ? expected : nil))
      #expect(throws: expected) { _ = try ConnectionPool.writer(at: ContainerPlace(folder: folder.path)) }
      #expect(throws: (any Error).self) { _ = try Connection.create(folder: folder.path) }
    }
  }
}
