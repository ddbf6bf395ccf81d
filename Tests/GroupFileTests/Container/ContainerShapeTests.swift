import Foundation
import Glibc
import Testing

@testable import GroupFile

/// The three shapes of a group's folder, and how one becomes another.
@Suite(.serialized) struct ContainerShapeTests {
  // Root may give files to any Unix group, others to their own.
  private static let unixGroup: UInt32 = geteuid() == 0 ? 65_533 : getegid()
  private static let shapes: [ContainerShape] = [
    .writable(unixGroup: unixGroup), .readable(unixGroup: unixGroup), .closed,
  ]

  private func status(_ path: String) -> (mode: mode_t, unixGroup: gid_t) {
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    return (status.st_mode & 0o7777, status.st_gid)
  }

  private func expect(_ group: GroupFixture, _ shape: ContainerShape) {
    let unixGroup = shape.unixGroup ?? getegid()
    #expect(status(group.folder) == (shape.folderMode, unixGroup))
    for name in ["group.vault", "group.vault-wal", "group.vault-shm"] {
      #expect(status("\(group.folder)/\(name)") == (shape.fileMode, unixGroup), "\(name)")
    }
    #expect(status(group.folder + "/lock") == (shape.lockMode, unixGroup))
  }

  @Test func `a group takes each shape from each other one, with all its files, and works in it`() throws {
    let group = try GroupFixture()
    for (number, shape) in (Self.shapes + Self.shapes.reversed() + Self.shapes).enumerated() {
      try group.open().take(shape)
      expect(group, shape)
      #expect(try group.open().containerShape() == shape)
      try group.set(["name": "value \(number)"])
      #expect(try group.value("name") == "value \(number)")
    }
  }

  @Test(arguments: Self.shapes, [0, 0o077, 0o777] as [mode_t])
  func `files that are made anew have the group's shape, whatever the umask`(
    _ shape: ContainerShape, _ mask: mode_t
  ) throws {
    let group = try GroupFixture()
    try group.open().take(shape)
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    for name in ["group.vault-wal", "group.vault-shm", "lock"] {
      try FileManager.default.removeItem(atPath: "\(group.folder)/\(name)")
    }
    try HiddenCalls.withMask(mask) { try group.set(["name": "value"]) }
    expect(group, shape)
  }

  @Test(arguments: Self.shapes, [0, 0o777] as [mode_t])
  func `a group is made in its shape, whatever the umask`(_ shape: ContainerShape, _ mask: mode_t) throws {
    let parent = TemporaryFolder()
    let path = parent.file("group")
    var made: GroupFixture?
    try HiddenCalls.withMask(mask) {
      try shape.makeFolder(path)
      made = try GroupFixture(in: path, shape: shape)
    }
    let group = try #require(made)
    expect(group, shape)
    try group.set(["name": "value"])
    expect(group, shape)
  }

  @Test func `a link or another name in the place of a file is refused, and what it leads to keeps its mode`() throws {
    for name in ["group.vault", "group.vault-wal", "group.vault-shm", "lock"] {
      for isLink in [true, false] {
        let folder = try TemporaryFolder().makeGroup()
        let target = TemporaryFolder()
        target.write([1], to: "target")
        if folder.exists(name) { folder.remove(name) }
        let (from, to) = (target.file("target"), folder.file(name))
        #expect(unsafe (isLink ? symlink(from, to) : link(from, to)) == 0)
        let failure = #expect(throws: GroupFileError.self) {
          try ContainerPlace(folder: folder.path).take(.writable(unixGroup: Self.unixGroup))
        }
        #expect(failure == .altered("a file of the group is not a regular file of one name"))
        #expect(status(target.file("target")).mode == 0o600)
      }
    }
  }

  @Test func `locks that are held on the file stay when its mode changes`() throws {
    let folder = try TemporaryFolder().makeGroup()
    let writer = try Connection(folder: folder.path, access: .writing)
    try writer.begin(.immediate)
    // Of this group's files alone: other tests lock theirs meanwhile.
    let inodes = try ["group.vault", "group.vault-wal", "group.vault-shm"].map { name in
      try #require(try ContainerPlace.status(folder.file(name))).identity.inode
    }
    func locks() throws -> Int {
      try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").count { line in
        let place = line.split(separator: " ").first { $0.split(separator: ":").count == 3 }
        let inode = place?.split(separator: ":").last.flatMap { UInt64($0) }
        return line.contains(" POSIX ") && inode.map(inodes.contains) == true
      }
    }
    let before = try locks()
    #expect(before > 0)
    let place = try ContainerPlace(folder: folder.path)
    for shape in Self.shapes { try place.take(shape) }
    #expect(try locks() == before)
    try writer.commit()
  }

  @Test(.enabled(if: geteuid() != 0, "root is in every Unix group"))
  func `a Unix group that one is not in is refused with the path`() throws {
    let group = try GroupFixture()
    #expect(throws: GroupFileError.deniedAt("changing the mode or Unix group of '\(group.folder)'")) {
      try group.open().take(.writable(unixGroup: 0))
    }
  }
}
