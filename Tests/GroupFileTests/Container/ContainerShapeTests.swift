import CVaultSQLite
import CVaultSystem
import Foundation
import Glibc
import Ground
import Synchronization
import TestSupport
import Testing

@testable import GroupFile

/// The three shapes of a group's folder, and the changes from one to another.
@Suite(.serialized) struct ContainerShapeTests {
  // Root can give files to any Unix group, other users only to groups they are in.
  private static let unixGroup: UInt32 = geteuid() == 0 ? 65_533 : getegid()
  private static let shapes: [ContainerShape] = [
    .shared(UnixGroup(number: unixGroup)), .shared(UnixGroup(number: unixGroup, isReadOnly: true)), .closed,
  ]

  private func status(_ path: String) -> (mode: mode_t, unixGroup: gid_t) {
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    return (status.st_mode & 0o7777, status.st_gid)
  }

  private func expect(_ group: GroupFixture, _ shape: ContainerShape) {
    let unixGroup = shape.unixGroup?.number ?? getegid()
    #expect(status(group.folder) == (shape.folderMode, unixGroup))
    for name in ["group.vault", "group.vault-wal", "group.vault-shm"] {
      #expect(status("\(group.folder)/\(name)") == (shape.fileMode, unixGroup), "\(name)")
    }
    #expect(status(group.folder + "/lock") == (shape.lockMode, unixGroup))
  }

  @Test func `a group changes from each shape to every other one with all its files, and keeps working`() throws {
    let group = try GroupFixture()
    for (number, shape) in (Self.shapes + Self.shapes.reversed() + Self.shapes).enumerated() {
      try group.share(shape)
      expect(group, shape)
      #expect(try group.open().resolvedPlace().containerShape() == shape)
      try group.set(["name": "value \(number)"])
      #expect(try group.value("name") == "value \(number)")
    }
  }

  @Test(arguments: Self.shapes, [0, 0o077, 0o777] as [mode_t])
  func `recreated files have the group's shape, whatever the umask`(
    _ shape: ContainerShape, _ mask: mode_t
  ) throws {
    let group = try GroupFixture()
    try group.share(shape)
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    for name in ["group.vault-wal", "group.vault-shm", "lock"] {
      try FileManager.default.removeItem(atPath: "\(group.folder)/\(name)")
    }
    try HiddenCalls.withMask(mask) { try group.set(["name": "value"]) }
    expect(group, shape)
  }

  @Test(arguments: Self.shapes, [0, 0o777] as [mode_t])
  func `a new group has its shape, whatever the umask`(_ shape: ContainerShape, _ mask: mode_t) throws {
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

  @Test func `a link in place of a file is refused, and the file that it leads to keeps its mode`() throws {
    for name in ["group.vault", "group.vault-wal", "group.vault-shm", "lock"] {
      for isLink in [true, false] {
        let group = try GroupFixture()
        ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
        let target = TemporaryFolder()
        target.write([1], to: "target")
        let path = group.folder + "/" + name
        try? FileManager.default.removeItem(atPath: path)
        #expect(unsafe (isLink ? symlink(target.file("target"), path) : link(target.file("target"), path)) == 0)
        let failure = failure { try group.share(.shared(UnixGroup(number: Self.unixGroup))) }
        // The index and the lock are created anew, so a link in their place stays behind in the old folder.
        if name.hasPrefix("group.vault") && !name.hasSuffix("-shm") {
          #expect(failure?.isDamage == true, "\(name) \(isLink)")
        }
        #expect(status(target.file("target")).mode == 0o600)
        #expect(target.bytes(of: "target") == [1])
        // None of its content was copied to a place that others can read.
        let copied = try Data(contentsOf: URL(fileURLWithPath: path)).count
        if failure == nil { #expect(copied != 1, "\(name)") }
      }
    }
  }

  @Test func `something else in the place of the index does not prevent a change of sharing`() throws {
    let group = try GroupFixture()
    try group.set(["item": "value"])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    let index = group.folder + "/group.vault-shm"
    #expect(unsafe unlink(index) == 0 && mkfifo(index, 0o600) == 0)
    try group.share(.closed)
    #expect(try group.value("item") == "value")
  }

  // Linux's F_OFD_SETLK, which Swift does not import: a lock owned by an open file, so it also conflicts within this process.
  private var setOpenFileLock: CInt { 37 }

  @Test func `a lock held on the old index blocks nothing after a change of sharing`() throws {
    for shape in Self.shapes {
      let group = try GroupFixture()
      try group.share(.shared(UnixGroup(number: Self.unixGroup, isReadOnly: true)))
      try group.set(["name": "value"])
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
      // Someone who may only read the index can take this lock.
      let index = unsafe open(group.folder + "/group.vault-shm", O_RDONLY)
      defer { close(index) }
      var lock = flock()
      lock.l_type = Int16(F_RDLCK)
      (lock.l_start, lock.l_len) = (120, 1)
      #expect(unsafe fcntl(index, setOpenFileLock, &lock) == 0)
      #expect(failure { try group.set(["name": "kept out"]) } == .busy(group: nil))
      try group.share(shape)
      #expect(try group.value("name") == "value")
      try group.set(["name": "goes on"])
      _ = try group.open().verify()
    }
  }

  @Test func `the owner reads a state alone, whatever others do with the index and the locks`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "in the file"])
    try group.checkpoint()
    try group.set(["name": "in the log"])
    let epoch = group.witness.record?.epoch
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    // All bytes that SQLite locks: those of the index, and those of the file.
    var descriptors: [CInt] = []
    defer { for descriptor in descriptors { close(descriptor) } }
    for (name, start, count) in [("group.vault-shm", 120, 9), ("group.vault", 0x4000_0000, 512)] as [(String, Int, Int)]
    {
      let descriptor = unsafe open("\(group.folder)/\(name)", O_RDWR)
      descriptors.append(descriptor)
      var lock = flock()
      lock.l_type = Int16(F_WRLCK)
      (lock.l_start, lock.l_len) = (start, count)
      #expect(unsafe fcntl(descriptor, setOpenFileLock, &lock) == 0)
    }
    #expect(try group.open().beginReadingAlone().state.manifest.epoch == epoch)
    // A FIFO would hang, and an index that is cut short would end the process.
    #expect(
      unsafe unlink(group.folder + "/group.vault-shm") == 0 && mkfifo(group.folder + "/group.vault-shm", 0o660) == 0)
    let view = try group.open().beginReadingAlone()
    #expect(view.state.manifest.epoch == epoch)
    #expect(try view.value("name").text == "in the log")
    #expect(failure { try group.value("name") }?.isDamage == true)
  }

  @Test func `whoever cuts the index short all the time does not end the removal of a member`() throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    let index = unsafe open(group.folder + "/group.vault-shm", O_RDWR)
    let isDone = Atomic(false)
    let thief = Thread { while !isDone.load(ordering: .acquiring) { ftruncate(index, 0) } }
    thief.start()
    try group.open().changeRoster(RosterChange { $0.application == "com.example.api" }, by: group.authority())
    isDone.store(true, ordering: .releasing)
    while !thief.isFinished { usleep(1_000) }
    close(index)
    #expect(failure { try group.open("com.example.api").value("name") } == .denied(.notAMember))
    #expect(try group.value("name") == "value")
    expect(group, Self.shapes[0])
    _ = try group.open().verify()
  }

  @Test func `an index that leads SQLite out of its memory does not end the removal of a member`() async {
    await #expect(processExitsWith: .success) {
      // Counts of frames that overflow, and slots that lead behind the page.
      for (frameCount, slot) in [(UInt32.max, UInt16.max), (0xFFFF_F800, 1), (1, 4_096)] as [(UInt32, UInt16)] {
        let group = try GroupFixture()
        try group.grant("com.example.api", .read)
        try group.share(ContainerShapeTests.shapes[0])
        try group.set(["name": "value"])
        ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
        let tests = ContainerShapeTests()
        let index = try tests.useIndex(group)
        tests.changeHeader(ofIndex: index) { $0[4] = frameCount }
        let slots = [UInt16](repeating: slot, count: 8_192)
        precondition(unsafe pwrite(index, slots, 16_384, 16_384) == 16_384)
        try group.open().changeRoster(RosterChange { $0.application == "com.example.api" }, by: group.authority())
        close(index)
        precondition(failure { try group.open("com.example.api").value("name") } == .denied(.notAMember))
        let value = try group.value("name")
        precondition(value == "value")
      }
    }
  }

  /// Whoever may write the folder can unlink the lock, so that two writers hold one each.
  @Test func `what a writer who holds another lock commits while a new key is made is not lost`() throws {
    let group = try GroupFixture()
    try group.set(Dictionary(uniqueKeysWithValues: (0..<1_100).map { ("item/\($0)", "") }))
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let path = group.folder + "/group.vault-wal"
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    try commitUnwitnessed(group)
    let after = try Data(contentsOf: URL(fileURLWithPath: path))
    try #require(after.count > before.count && after.starts(with: before))
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    try #require(unsafe truncate(path, before.count) == 0)
    let error = failure {
      try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) { _ in
        try? after.write(to: URL(fileURLWithPath: path), options: [])
      }
    }
    #expect(error == .busy(group: nil))
    #expect(try group.value("later") == "acknowledged")
  }

  /// A writer who is killed leaves frames in the log that no reader's index knows, and the next writer overwrites them. And
  /// whoever may write the index can make it show an older state.
  @Test(arguments: [false, true]) func `the owner who reads alone does not rely on what the index does not show`(
    _ isSeen: Bool
  ) throws {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let place = try ContainerPlace(folder: group.folder)
    ConnectionPool.closeIdle(at: place)
    let user = try useIndex(group)
    defer { close(user) }
    let index = URL(fileURLWithPath: group.folder + "/group.vault-shm")
    let before = try Data(contentsOf: index)
    let epoch = try #require(group.witness.record?.epoch)
    if isSeen { try group.set(["name": "newer"]) } else { try commitUnwitnessed(group) }
    ConnectionPool.closeIdle(at: place)
    try before.write(to: index, options: [])
    #expect(try group.open().beginReadingAlone().state.manifest.epoch == epoch + 1)
    #expect(group.witness.record?.epoch == (isSeen ? epoch + 1 : epoch))
    // In closed copies, the change can be made.
    let change = RosterChange { $0.application == "com.example.api" }
    #expect(failure { try group.open().changeRoster(change, by: group.authority()) } == .busy(group: nil))
    if isSeen {
      #expect(failure { try group.value("name") } == .rolledBack(found: epoch, known: epoch + 1, reason: .olderState))
    } else {
      try group.set(["name": "newer"])
    }
    _ = try group.forceRevocation(of: "com.example.api", droppingUnproved: true)
    #expect(try group.value("name") == "newer")
  }

  @Test func `what the log proves outlives a new key although an altered index hides it`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let user = try alterIndex(group) { try commitUnwitnessed(group) }
    defer { close(user) }
    _ = try group.forceRotation()
    #expect(try group.value("later") == "acknowledged")
  }

  /// A writer was killed after it had written to the log and before that was in the index, and another one is told that the
  /// next state of the same epoch is written.
  @Test func `of two states of one epoch, the one that was acknowledged stays`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let user = try alterIndex(group) { try commitUnwitnessed(group) }
    defer { close(user) }
    let forge = try group.forge()
    try group.onceCopied {
      try forge.storeManifest { $0.time += 1 }
    } during: {
      try group.share(Self.shapes[1])
    }
    let state = try group.forge().state
    #expect(state.manifest.epoch == forge.state.manifest.epoch + 1)
    #expect(state.manifest.root == forge.state.manifest.root)
  }

  /// Makes `change`, and then gives the index its former content again.
  ///
  /// - Returns: a lock of somebody who uses the index, so that nobody makes it anew.
  private func alterIndex(_ group: GroupFixture, after change: () throws -> Void) throws -> CInt {
    let place = try ContainerPlace(folder: group.folder)
    ConnectionPool.closeIdle(at: place)
    let user = try useIndex(group)
    let index = URL(fileURLWithPath: place.indexPath)
    let before = try Data(contentsOf: index)
    try change()
    ConnectionPool.closeIdle(at: place)
    try before.write(to: index, options: [])
    return user
  }

  @Test func `an index that no reader would use is not read`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let place = try ContainerPlace(folder: group.folder)
    ConnectionPool.closeIdle(at: place)
    let index = try useIndex(group)
    defer { close(index) }
    let header = [UInt8](try #require(try FileHandle(fileDescriptor: index).read(upToCount: 100)))
    func isRead(_ change: (inout [UInt8]) -> Void) throws -> Bool {
      var changed = header
      change(&changed)
      #expect(unsafe pwrite(index, changed, changed.count, 0) == changed.count)
      return try LogIndex(place) != nil
    }
    #expect(try isRead { _ in })
    // The checksum of both copies; the second copy alone; more frames in the main file than there are.
    #expect(try !isRead { for place in [40, 88] { $0[place] ^= 1 } })
    #expect(try !isRead { $0[56] ^= 1 })
    #expect(try !isRead { $0[96] = $0[16] + 1 })
    #expect(try isRead { _ in })
    changeHeader(ofIndex: index) { $0[0] += 1 }
    #expect(try LogIndex(place) == nil)
  }

  @Test func `looks at a group that this process uses open no more files, and its index is closed with it`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "value"])
    let file = try group.open()
    _ = try file.beginReadingAlone()
    func openCount() throws -> Int { try openFiles(inside: group.folder).count { $0 == "group.vault-shm" } }
    let before = try openCount()
    for _ in 0..<40 { _ = try file.beginReadingAlone() }
    #expect(try before > 0 && openCount() == before)
    let place = try ContainerPlace(folder: group.folder)
    let lasting = try ConnectionPool.reader(at: place)
    #expect(try LogIndex(place) != nil)
    // Closing it now would end the reader's locks.
    #expect(try openCount() > before)
    lasting.connection.close()
    ConnectionPool.closeIdle(at: place)
    #expect(try openCount() == 0)
  }

  @Test func `what readers see of a shared group's log outlives a new key, whatever the log's header says`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "before"])
    let user = try useIndex(group)
    defer { close(user) }
    let log = try #require(FileHandle(forUpdatingAtPath: group.folder + "/group.vault-wal"))
    try log.seek(toOffset: 17)
    let byte = try #require(try log.read(upToCount: 1)?.first)
    try log.seek(toOffset: 17)
    try log.write(contentsOf: [byte ^ 1])
    try log.close()
    try group.set(["name": "after"])
    let error = failure { try group.open().changeRoster(RosterChange(rotates: true), by: group.authority()) }
    #expect(error == .busy(group: nil))
    #expect(try group.value("name") == "after")
  }

  /// SQLite's readers go on with such an index, whatever the log's header says.
  @Test(arguments: [3, 4]) func `what readers see by an index that SQLite would not write outlives every change`(
    word: Int
  ) throws {
    for isMade in [true, false] {
      let group = try GroupFixture()
      try group.share(Self.shapes[0])
      for value in ["before", "after"] { try group.set(["name": value]) }
      let user = try useIndex(group)
      defer { close(user) }
      // The mark of an index that is made, or the number of frames.
      changeHeader(ofIndex: user) { $0[word] += 1 }
      let log = unsafe open(group.folder + "/group.vault-wal", O_RDWR | O_CLOEXEC)
      defer { close(log) }
      var byte: UInt8 = 0
      #expect(unsafe pread(log, &byte, 1, 17) == 1)
      byte ^= 1
      #expect(unsafe pwrite(log, &byte, 1, 17) == 1)
      #expect(try group.value("name") == "after")
      ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
      if isMade { try group.share(.closed) } else { _ = try group.forceRotation() }
      #expect(try group.value("name") == "after")
    }
  }

  @Test func `a second name of a shared group's log hides nothing in it`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["name": "before"])
    try group.checkpoint()
    try group.set(["name": "after"])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    #expect(unsafe link(group.folder + "/group.vault-wal", group.folder + "/another") == 0)
    // It may be a file that those who are let in must not read.
    #expect(failure { try group.share(Self.shapes[1]) } != nil)
    expect(group, Self.shapes[0])
    try group.share(.closed)
    #expect(try group.value("name") == "after")
  }

  /// Locks what another process that uses the index of the log has locked.
  private func changeHeader(ofIndex index: CInt, _ change: (inout [UInt32]) -> Void) {
    var header = [UInt32](repeating: 0, count: 12)
    #expect(unsafe pread(index, &header, 48, 0) == 48)
    change(&header)
    var sums: (UInt32, UInt32) = (0, 0)
    for word in stride(from: 0, to: 10, by: 2) {
      sums.0 &+= header[word] &+ sums.1
      sums.1 &+= header[word + 1] &+ sums.0
    }
    (header[10], header[11]) = sums
    #expect(unsafe pwrite(index, header + header, 96, 0) == 96)
  }

  private func useIndex(_ group: GroupFixture) throws -> CInt {
    let descriptor = unsafe open(group.folder + "/group.vault-shm", O_RDWR | O_CLOEXEC)
    var lock = flock()
    lock.l_type = Int16(F_RDLCK)
    (lock.l_start, lock.l_len) = (128, 1)
    try #require(unsafe fcntl(descriptor, setOpenFileLock, &lock) == 0)
    return descriptor
  }

  /// Sets an item in a process with another witness.
  private func commitUnwitnessed(_ group: GroupFixture) throws {
    let transaction = try group.open(MemoryWitness()).beginWriting()
    try transaction.put("later", "acknowledged")
    try transaction.commit()
  }

  @Test func `while others write, a state is read alone`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    let isDone = Atomic(false)
    let writer = Thread {
      for round in 0..<300 { try? group.set(["name": "value \(round)"]) }
      isDone.store(true, ordering: .releasing)
    }
    writer.start()
    repeat {
      // What the log shows may not be published yet, and a later look by the index does not show it.
      let published = group.witness.record?.epoch ?? 0
      do {
        #expect(try group.open().beginReadingAlone().state.manifest.epoch >= published)
      } catch let error as VaultError where error.isAvoidable {
        // Somebody wrote each time.
      }
    } while !isDone.load(ordering: .acquiring)
    #expect(try group.open().beginReadingAlone().state.manifest.epoch == group.witness.record?.epoch)
  }

  @Test func `a change of sharing keeps all acknowledged writes, in the log or in the file`() throws {
    let group = try GroupFixture()
    for round in 0..<20 {
      try group.set(["name": "value \(round)", "large": String(repeating: "x", count: round * 9_000)])
      let epoch = group.witness.record?.epoch
      try group.share(Self.shapes[round % Self.shapes.count])
      #expect(try group.value("name") == "value \(round)" && group.open().verify().epoch == epoch)
    }
  }

  @Test func `a state that is written while the files of a shared group are copied is copied, too`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    try group.set(["item": "old"])
    // Whoever may write the folder can unlink the lock, so nothing keeps this from being written.
    let epoch = try group.writeOnceCopied { try group.share(Self.shapes[1]) }
    #expect(try group.forge().state.manifest.epoch == epoch)
    expect(group, Self.shapes[1])
  }

  /// Copies can differ from what was acknowledged although they show the same state, such as two halves of a file that
  /// somebody moved pages in.
  @Test func `of two copies of one state, the one that is proved completely stays`() throws {
    let group = try GroupFixture()
    try group.set(["item": "value"])
    try group.share(Self.shapes[0])
    try group.checkpoint()
    let files = try group.files()
    var torn = files
    let token = try group.forge().keys.token(of: "item")
    let row = try #require(try group.peek { try $0.currentRow(token) })
    let place = try #require(Data(files.main).range(of: Data(row.encoded[row.attributesRange])))
    torn.main[place.lowerBound] ^= 1
    try group.replace(with: torn)
    // The folder of another group.
    let other = TemporaryFolder(at: group.folder + ".salvage")
    other.write([1], to: "group.vault")
    try group.onceCopied {
      try group.replace(with: files)
    } during: {
      try group.share(.closed)
    }
    #expect(try group.value("item") == "value")
    _ = try group.open().verify()
    expect(group, .closed)
    #expect(other.bytes(of: "group.vault") == [1])
  }

  @Test func `if the replaced files cannot be copied again, the group is as before`() throws {
    let group = try GroupFixture()
    try group.set(["item": "value"])
    try group.share(Self.shapes[0])
    let identity = try ContainerPlace.identity(of: group.folder)
    let obstacle = group.folder + ".draft.copy+1"
    _ = FileManager.default.createFile(atPath: obstacle, contents: nil)
    _ = try group.writeOnceCopied { #expect(failure { try group.share(.closed) } != nil) }
    #expect(try ContainerPlace.identity(of: group.folder) == identity)
    expect(group, Self.shapes[0])
    #expect(try group.value("item") == "value")
  }

  /// A shared group that lacks an older version of its item.
  private func damagedGroup() throws -> GroupFixture {
    let group = try GroupFixture()
    try group.grant("com.example.api", .read)
    for value in ["a", "b"] { try group.set(["item": value]) }
    try group.share(Self.shapes[0])
    let token = try group.forge().keys.token(of: "item")
    try group.tamper { try $0.statement("DELETE FROM version WHERE token = ?").bind(1, token.bytes).run() }
    return group
  }

  /// If the system does not protect hard links, whoever can enter a shared group's folder can put any file of its owner there.
  @Test func `a failed or refused change shows no file that somebody put in the place of the log to others`() throws {
    let group = try damagedGroup()
    try group.checkpoint()
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    let secret = TemporaryFolder()
    secret.write(Array(repeating: 7, count: 32), to: "secret")
    let log = group.folder + "/group.vault-wal"
    #expect(unsafe unlink(log) == 0 && link(secret.file("secret"), log) == 0)
    #expect(failure { try group.forceRevocation(of: "com.example.api") } == .unproved(items: 0, versions: 1))
    #expect(failure { try group.share(Self.shapes[1]) }?.isDamage == true)
    // It is still the same file, with its own modes.
    #expect(try ContainerPlace.identity(of: log) == ContainerPlace.identity(of: secret.file("secret")))
    #expect(status(secret.file("secret")).mode == 0o600)
    try group.share(.closed)
    #expect(try group.value("item") == "b")
    try group.share(Self.shapes[1])
    for name in ["group.vault", "group.vault-wal"] {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(group.folder)/\(name)"))
      #expect(bytes.range(of: Data(repeating: 7, count: 32)) == nil, "\(name)")
    }
  }

  @Test func `a group whose folder is a link is not shared, because its files would stay where the link leads`() throws
  {
    let group = try GroupFixture()
    let moved = group.folder + ".moved"
    defer { try? FileManager.default.removeItem(atPath: moved) }
    #expect(unsafe rename(group.folder, moved) == 0 && symlink(moved, group.folder) == 0)
    #expect(failure { try group.share(Self.shapes[0]) } == .storage(.fixedFolder))
    #expect(try ContainerPlace.status(group.folder)?.isFolder == false)
  }

  @Test func `a shared group is removed even if its folder cannot be exchanged`() throws {
    let folder = "/dev/shm/vault-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = try GroupFixture(in: folder)
    try group.set(["item": "value"])
    try group.share(Self.shapes[0])
    // On another file system.
    let drafts = TemporaryFolder()
    try group.open().remove(
      to: drafts.file("removed"), at: DraftPlaces(draft: drafts.file("draft"), kept: drafts.file("kept")))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
  }

  @Test func `a shared group is removed even if its copies leave no space to note that in the registry`() throws {
    let group = try GroupFixture()
    try group.set(["item": "value"])
    try group.share(Self.shapes[0])
    var tries = 0
    let kept = group.folder + ".kept"
    try group.open().remove(
      to: group.folder + ".removed", at: DraftPlaces(draft: group.folder + ".draft", kept: kept)
    ) { _ throws(VaultError) in
      tries += 1
      if FileManager.default.fileExists(atPath: kept + "+locked") { throw .storage(.full) }
    }
    #expect(tries == 2 && !FileManager.default.fileExists(atPath: group.folder))
    group.removeDrafts()
    try FileManager.default.removeItem(atPath: group.folder + ".removed")
  }

  @Test func `a log that is partly in the file already leaves no old files behind`() throws {
    let group = try GroupFixture()
    try group.share(Self.shapes[0])
    // As a service keeps it open.
    let other = try Connection(at: ContainerPlace(folder: group.folder), access: .writing)
    defer { other.close() }
    for value in ["a", "b"] { try group.set(["item": value]) }
    _ = try other.statement("PRAGMA wal_checkpoint(PASSIVE)").step()
    let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
    defer { group.removeDrafts() }
    #expect(try !group.open().take(.closed, at: places))
    for suffix in ["", "+locked"] { #expect(!FileManager.default.fileExists(atPath: places.kept + suffix)) }
    #expect(try group.value("item") == "b")
  }

  @Test(arguments: [true, false])
  func `something else in the place of the log of a shared group prevents no change of sharing and no removal`(
    isFolder: Bool
  ) throws {
    let group = try GroupFixture()
    try group.set(["item": "value"])
    try group.share(Self.shapes[0])
    try group.checkpoint()
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    func obstruct() {
      let log = group.folder + "/group.vault-wal"
      #expect(unsafe unlink(log) == 0 && (isFolder ? mkdir(log, 0o700) : mkfifo(log, 0o660)) == 0)
    }
    obstruct()
    try group.share(.closed)
    #expect(try group.value("item") == "value")
    try group.share(Self.shapes[0])
    ConnectionPool.closeIdle(at: try ContainerPlace(folder: group.folder))
    obstruct()
    try group.remove()
    #expect(!FileManager.default.fileExists(atPath: group.folder))
  }

  @Test func `a change that fails leaves a damaged group shared`() throws {
    let group = try damagedGroup()
    let error = failure { try group.forceRevocation(of: "com.example.api") }
    #expect(error == .unproved(items: 0, versions: 1))
    expect(group, Self.shapes[0])
    #expect(try group.value("item") == "b")
  }

  @Test func `a group that a killed command has left closed is named`() throws {
    let group = try GroupFixture()
    #expect(try group.open().interruption(of: "team", olderThan: 0).isEmpty)
    #expect(unsafe chown(group.folder, geteuid(), Self.unixGroup) == 0 && chmod(group.folder, 0o3700) == 0)
    let notice = Notice.groupInterrupted(group: "team", unixGroup: Self.unixGroup)
    #expect(eventually { (try? group.open().interruption(of: "team", olderThan: 0)) == [notice] })
    // Another command may be at work.
    #expect(try group.open().interruption(of: "team").isEmpty)
  }

  @Test func `while the files of a shared group are replaced, its folder says that it will be open again`() throws {
    let group = try damagedGroup()
    let seen = Locked<(mode: mode_t, unixGroup: gid_t)?>(nil)
    var change = RosterChange { $0.application == "com.example.api" }
    change.dropsUnproved = true
    change.isStillWanted = { [folder = group.folder] in
      var found = stat()
      if unsafe lstat(folder, &found) == 0 { seen.withLock { $0 = (found.st_mode & 0o7777, found.st_gid) } }
      return true
    }
    let places = DraftPlaces(draft: group.folder + ".draft", kept: group.folder + ".kept")
    defer {
      group.removeDrafts()
      try? FileManager.default.removeItem(atPath: places.kept)
    }
    _ = try group.open().changeRoster(change, salvagingAt: places, by: group.authority())
    #expect(seen.withLock { $0.map { $0 == (0o3700, Self.unixGroup) } } == true)
    expect(group, Self.shapes[0])
  }

  @Test func `a damaged group is made private unchanged, and a file that claims 200 GiB is not copied`() throws {
    let group = try GroupFixture()
    try group.set(["name": "value"])
    try group.claim(pages: 50 << 20)
    try group.share(.closed)
    var status = stat()
    #expect(unsafe stat(group.folder + "/group.vault", &status) == 0)
    #expect(Int(status.st_size) == 50 << 32 && Int(status.st_blocks) < 1 << 12)
    expectFiles(group, 0o600)
  }

  @Test func `the modes of a folder and of its successor's files are not compared`() throws {
    let folder = TemporaryFolder()
    let paths = (0..<2_000).map { folder.file("\($0)") }
    for (number, path) in paths.enumerated() {
      #expect(unsafe mkdir(path, 0o700) == 0 && chmod(path, number % 2 == 0 ? 0o700 : 0o2770) == 0)
      let file = unsafe open(path + "/group.vault", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)
      #expect(file >= 0 && fchmod(file, number % 2 == 0 ? 0o600 : 0o660) == 0 && close(file) == 0)
    }
    let place = try ContainerPlace(folder: paths[0])
    let isDone = Atomic(false)
    onThreads(2) { thread in
      if thread == 0 {
        // Each folder comes into the place once, like that of a new key.
        for path in paths.dropFirst() { #expect(unsafe csystem_exchange(path, paths[0]) == 0) }
        isDone.store(true, ordering: .releasing)
      } else {
        while !isDone.load(ordering: .acquiring) { #expect(throws: Never.self) { try place.shape() } }
      }
    }
  }

  private func expectFiles(_ group: GroupFixture, _ mode: mode_t) {
    for name in ["group.vault", "group.vault-wal"] { #expect(status("\(group.folder)/\(name)").mode == mode) }
  }

  @Test(.enabled(if: geteuid() != 0, "root is in every Unix group"))
  func `sharing with a Unix group that the user is not in is refused with the path`() throws {
    let group = try GroupFixture()
    #expect(throws: VaultError.denied(.permissions("changing the mode or Unix group of '\(group.folder).draft'"))) {
      try group.share(.shared(UnixGroup(number: 0)))
    }
  }
}

extension GroupFixture {
  /// Changes who may enter the group's folder, as the owner's command does.
  func share(_ shape: ContainerShape) throws {
    let places = DraftPlaces(draft: folder + ".draft", kept: folder + ".kept")
    defer {
      removeDrafts()
      for suffix in ["", "+locked"] { try? FileManager.default.removeItem(atPath: places.kept + suffix) }
    }
    _ = try open().take(shape, at: places)
  }

  /// Writes a state after `body`, in another thread, has copied the group's files to the draft `.draft`, and before the copy
  /// takes their place.
  ///
  /// - Returns: the state's epoch.
  func writeOnceCopied(_ body: () throws -> Void) throws -> UInt64 {
    let forge = try forge()
    try onceCopied({ try forge.storeManifest { _ in } }, during: body)
    return forge.state.manifest.epoch + 1
  }

  /// Runs `change` after `body`, in another thread, has copied the group's files to the draft `.draft`, and before the copy
  /// takes their place.
  func onceCopied(_ change: () throws -> Void, during body: () throws -> Void) throws {
    // The copy is complete before its lock is taken.
    let copy = try ContainerPlace(folder: folder).folder + ".draft.copy"
    defer { removeDrafts() }
    let turn = ConnectionPool.shared.turn(at: copy + "/lock")
    #expect(turn.take(until: Deadline(after: 10_000)))
    let errors = onThreads(2) { number in
      guard number == 1 else { return try body() }
      defer { turn.pass() }
      #expect(eventually { turn.testOnlyWaiterCount == 1 })
      try change()
    }
    #expect(errors.isEmpty, "\(errors)")
  }
}
