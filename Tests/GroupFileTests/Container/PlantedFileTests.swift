import Foundation
import Glibc
import Testing

@testable import GroupFile

/// Files that someone planted next to a group's files or in place of them.
@Suite struct PlantedFileTests {
  enum Shape: CaseIterable { case fifo, link, danglingLink, folder, socket, device }

  private func plant(_ shape: Shape, _ path: String, victim: String) {
    switch shape {
    case .fifo: #expect(unsafe mkfifo(path, 0o600) == 0)
    case .link: #expect(unsafe symlink(victim, path) == 0)
    case .danglingLink: #expect(unsafe symlink(victim + ".new", path) == 0)
    case .folder: #expect(unsafe mkdir(path, 0o700) == 0)
    case .socket: #expect(unsafe mknod(path, S_IFSOCK | 0o600, 0) == 0)
    case .device: if unsafe mknod(path, S_IFCHR | 0o600, makedev(1, 3)) != 0 { _ = unsafe mkfifo(path, 0o600) }
    }
  }

  private func makedev(_ major: UInt, _ minor: UInt) -> dev_t { major << 8 | minor }

  @Test(arguments: Shape.allCases, ["group.vault", "group.vault-wal", "group.vault-shm"])
  func `anything but a regular file is reported as altered and not deleted`(_ shape: Shape, _ name: String) throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.write([7], to: "victim")
    folder.remove(name)
    plant(shape, folder.file(name), victim: folder.file("victim"))
    let names = folder.names()
    #expect(folder.reading(.reading).isAltered)
    #expect(folder.reading(.writing).isAltered)
    #expect(folder.names() == names)
    #expect(folder.bytes(of: "victim") == [7])
  }

  @Test(arguments: Shape.allCases)
  func `a lock that is not a regular file is reported as altered and not deleted`(_ shape: Shape) throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.write([7], to: "victim")
    plant(shape, folder.file("lock"), victim: folder.file("victim"))
    let names = folder.names()
    let place = try ContainerPlace(folder: folder.path)
    let failure = #expect(throws: VaultError.self) { _ = try ConnectionPool.writer(at: place, waiting: 0) }
    #expect(failure.isAltered)
    #expect(folder.names() == names)
  }

  @Test func `a journal next to the file is reported as altered and not deleted`() throws {
    let folder = try TemporaryFolder().makeGroup()
    try Journal.plant(in: folder)
    let names = folder.names()
    #expect(folder.reading(.reading) == .damaged(.container, "a journal lies beside the group file"))
    #expect(folder.reading(.writing) == .damaged(.container, "a journal lies beside the group file"))
    #expect(folder.names() == names)
  }

  @Test func `a journal planted while a connection is idle is detected when the connection is reused`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let place = try ContainerPlace(folder: folder.path)
    do { _ = try ConnectionPool.reader(at: place) }
    folder.write([0], to: "group.vault-journal")
    let failure = #expect(throws: VaultError.self) { _ = try ConnectionPool.reader(at: place) }
    #expect(failure.isAltered)
    ConnectionPool.closeIdle(at: place)
  }

  @Test func `a log that starts with another application's page is reported as altered`() throws {
    let other = try TemporaryFolder().makeGroup()
    #expect(RawFile.run(other.group, ["PRAGMA application_id=1"], keepingLog: true))
    #expect(other.bytes(of: "group.vault")[68..<72].elementsEqual([0x56, 0x4C, 0x54, 0x31]))
    #expect(other.reading().isAltered)
  }

  @Test func `a log of random bytes is treated as empty`() throws {
    let folder = try TemporaryFolder().makeGroup()
    folder.write((0..<100_000).map { _ in UInt8.random(in: 0...255) }, to: "group.vault-wal")
    #expect(folder.reading() == nil)
  }
}
