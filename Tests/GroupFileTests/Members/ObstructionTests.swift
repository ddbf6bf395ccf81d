import CVaultSQLite
import Foundation
import Glibc
import Ground
import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// What somebody does to a group's files without any key neither prevents the removal of a member nor costs a state that
/// readers see.
@Suite struct ObstructionTests {
  /// A group whose file cannot be changed in place, because of damage that no reader notices, and whose newest state is
  /// only in the log.
  private func group(in folder: String? = nil) throws -> GroupFixture {
    let group = if let folder { try GroupFixture(keep: 3, in: folder) } else { try GroupFixture(keep: 3) }
    try group.grant(RevocationTests.thief, .read)
    for value in ["a", "b", "c"] { try group.set(["history": value]) }
    try group.set(["item": "old"])
    try group.checkpoint()
    try damageHistory(group)
    try group.set(["item": "new"])
    return group
  }

  private static func folderInMemory() throws -> String {
    let folder = "/dev/shm/vault-\(UInt64.random(in: 0 ... .max))"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    return folder
  }

  private func damageHistory(_ group: GroupFixture) throws {
    let token = try group.forge().keys.token(of: "history")
    let row = try #require(try group.peek { try $0.olderRow(token, version: 1) })
    var files = try group.files()
    let attributes = Array(row.encoded[row.attributesRange])
    let place = try #require(Data(files.main).range(of: Data(attributes)))
    files.main[place.lowerBound] ^= 1
    try group.replace(with: files)
  }

  private func expectRevoked(_ group: GroupFixture, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let outcome = try group.forceRevocation(of: RevocationTests.thief, droppingUnproved: true)
    #expect(outcome.left.isKeptAside, sourceLocation: sourceLocation)
    #expect(try group.value("item") == "new", sourceLocation: sourceLocation)
    #expect(
      failure { try group.open(RevocationTests.thief).value("item") } == .denied(.notAMember),
      sourceLocation: sourceLocation)
    _ = try group.open().verify()
  }

  @Test(arguments: [4_096, 1 << 27]) func `a file that is longer than its log says hides nothing in the log`(
    _ surplus: Int
  ) throws {
    let group = try group()
    let files = try group.files()
    let frames = stride(from: 32, to: files.log.count, by: 24 + 4_096).map { files.log[$0..<$0 + 4] }
    try #require(!frames.isEmpty && !frames.contains { $0.elementsEqual([0, 0, 0, 1]) })
    #expect(unsafe truncate(group.folder + "/group.vault", files.main.count + surplus) == 0)
    #expect(try group.value("item") == "new")
    try expectRevoked(group)
  }

  @Test func `a header with other fractions of a page hides nothing in the log`() throws {
    let group = try group()
    var files = try group.files()
    files.main.replaceSubrange(21..<24, with: [1, 2, 3])
    try group.replace(with: files)
    try expectRevoked(group)
  }

  @Test func `a file of the greatest size does not block a revocation`() throws {
    // A file system in memory takes such a size.
    let folder = try ObstructionTests.folderInMemory()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = try group(in: folder)
    let file = folder + "/group.vault"
    let isHuge = unsafe truncate(file, off_t(Int64.max)) == 0 || truncate(file, 1 << 43) == 0
    try #require(isHuge)
    try expectRevoked(group)
  }

  /// SQLite takes as much memory for a key as it claims to have bytes, up to the size of the file.
  @Test func `a file that claims more than it stores is not changed in place`() throws {
    let group = try GroupFixture()
    try group.grant(RevocationTests.thief, .read)
    try group.set(["item": "new"])
    try group.claim(pages: 1 << 19)
    try expectRevoked(group)
  }

  /// Readers whose index was made before do not look at the checksums of the log.
  @Test func `what readers see of a log outlives a revocation and a change of sharing`() throws {
    for shares in [false, true] {
      let group = try group()
      // As long as somebody has the index, nobody makes it anew.
      let reader = try Connection(folder: group.folder, access: .reading)
      defer { reader.close() }
      try reader.begin(.reading)
      let log = try #require(FileHandle(forUpdatingAtPath: group.folder + "/group.vault-wal"))
      defer { try? log.close() }
      // The checksum of the first frame.
      try log.seek(toOffset: 32 + 16)
      try log.write(contentsOf: [0, 0, 0, 0, 0, 0, 0, 0])
      #expect(try group.value("item") == "new")
      if shares {
        try group.share(.closed)
        #expect(try group.value("item") == "new")
      } else {
        try expectRevoked(group)
      }
    }
  }

  /// SQLite ignores a log whose header has another page size, although all its checksums are right.
  @Test func `a log that readers ignore does not bring an older state back`() throws {
    let group = try group()
    let before = try group.files()
    try group.checkpoint()
    var files = try group.files()
    files.log = ForgedLog.bytes(of: before.pagesInLog, from: before.main, pageSize: 3)
    try group.replace(with: files)
    #expect(try group.value("item") == "new")
    try expectRevoked(group)
  }

  /// Readers look for pages that the index counts as backfilled in the file, whatever the log has.
  @Test func `frames that an index counts as backfilled do not bring an older state back`() throws {
    let group = try group()
    let before = try group.files()
    let writer = try Connection(folder: group.folder, access: .writing)
    defer { writer.close() }
    let reader = try Connection(folder: group.folder, access: .reading)
    defer { reader.close() }
    try reader.begin(.reading)
    let seen = try reader.part(.manifest)
    try Statement(writer.handle, "PRAGMA wal_checkpoint(PASSIVE)").run()
    let forged = ForgedLog.bytes(of: before.pagesInLog, from: before.main, pageSize: 4_096)
    let log = try #require(FileHandle(forUpdatingAtPath: group.folder + "/group.vault-wal"))
    try log.write(contentsOf: forged)
    try log.close()
    #expect(try group.value("item") == "new")
    let folder = group.folder + ".salvage"
    defer { SalvageCopy.remove(folder) }
    let (_, stored) = try SalvageCopy.make(
      of: ContainerPlace(folder: group.folder), in: folder, header: writer.header())
    #expect(stored.parts[.manifest] == seen)
  }

  @Test func `a lease on the lock does not block a revocation`() throws {
    signal(SIGIO, SIG_IGN)
    // Not every file system has leases; one in memory does.
    let folder = try ObstructionTests.folderInMemory()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = try group(in: folder)
    // A new one, because this process keeps the old one open.
    unsafe unlink(group.folder + "/lock")
    let lock = unsafe Glibc.open(group.folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(lock) }
    let isLeased = fcntl(lock, 1_024, F_WRLCK) == 0
    try #require(isLeased)
    #expect(failure { try group.set(["item": "other"]) } == .busy(group: nil))
    try expectRevoked(group)
  }

  /// Rows that name a large value could make a repair read it for each of them.
  @Test func `unproved rows that name one large value are listed without reading it`() throws {
    let group = try group()
    try group.set(["large": String(repeating: "x", count: 5_000)])
    let large = try group.open().beginReading().storedRow("large")
    let digest = try #require(large).encoded.suffix(32)
    let planted = try (0..<3).map { try group.forge().row("planted/\($0)", naming: Array(digest)) }
    try group.tamper { for row in planted { try $0.insertCurrent(row) } }
    let repaired = try #require(try group.repair())
    #expect(repaired.unproved.map(\.name) == ["planted/0", "planted/1", "planted/2"])
    #expect(try group.value("large").utf8.count == 5_000)
  }

  @Test(arguments: [true, false])
  func `a commit into files that were exchanged or moved away meanwhile is not reported as done`(
    isExchanged: Bool
  ) throws {
    let group = try GroupFixture()
    try group.set(["item": "old"])
    let copy = group.folder + ".copy"
    let old = group.folder + ".old"
    defer { for path in [copy, old] { try? FileManager.default.removeItem(atPath: path) } }
    try FileManager.default.copyItem(atPath: group.folder, toPath: copy)
    let transaction = try group.open().beginWriting()
    try transaction.put(Attributes(name: "item", created: 1, changed: 2, valueKind: 0), nil)
    // SQLite calls the hook after the last look at the path, before it writes the commit.
    let exchange = Exchange {
      unsafe rename(group.folder, old) == 0 && (!isExchanged || rename(copy, group.folder) == 0)
    }
    unsafe sqlite3_commit_hook(
      transaction.view.connection.handle.database,
      { context in unsafe Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue().run() ? 0 : 1 },
      Unmanaged.passUnretained(exchange).toOpaque())
    #expect(failure { try transaction.commit() } == .storage(.unconfirmed))
    if isExchanged { #expect(try group.value("item") == "old") }
  }

  @Test(arguments: [false, true]) func `files that were changed since a draft was made are not replaced by it`(
    _ drops: Bool
  ) throws {
    let group = try GroupFixture()
    try group.set(["item": "old"])
    let (draft, kept, salvage) = (group.folder + ".draft", group.folder + ".kept", group.folder + ".salvage")
    defer { for path in [draft, kept] { try? FileManager.default.removeItem(atPath: path) } }
    let place = try ContainerPlace(folder: group.folder)
    let owner = try group.open()
    let epoch = try owner.newestEpoch(at: place, salvagingIn: salvage)
    for isChanged in [true, false] {
      if isChanged { try group.set(["item": "new"]) }
      let known = isChanged ? epoch : try owner.newestEpoch(at: place, salvagingIn: salvage)
      let made = try GroupFile.GroupDraft(in: draft, for: group.folder)
      try Data([1]).write(to: URL(fileURLWithPath: draft + "/group.vault"))
      let error = failure {
        _ = try made.take(keeping: kept, dropping: drops) {
          (try? owner.newestEpoch(at: place, salvagingIn: salvage)) == known
        }
      }
      #expect(error == (isChanged ? .busy(group: nil) : nil))
      #expect(!FileManager.default.fileExists(atPath: salvage))
      guard isChanged else { break }
      #expect(try group.value("item") == "new")
      #expect(try Data(contentsOf: URL(fileURLWithPath: draft + "/group.vault")) == Data([1]))
      #expect(!FileManager.default.fileExists(atPath: kept))
      try FileManager.default.removeItem(atPath: draft)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: group.folder + "/group.vault")) == Data([1]))
  }

  @Test func `a state that is written while its files are copied is copied, too`() throws {
    let group = try group()
    try group.share(.shared(UnixGroup(number: getegid())))
    let epoch = try group.writeOnceCopied { try expectRevoked(group) }
    #expect(try group.forge().state.manifest.epoch == epoch + 1)
    #expect(!FileManager.default.fileExists(atPath: group.folder + ".aside+locked"))
    try group.set(["item": "newer"])
    #expect(try group.value("item") == "newer")
  }

  @Test func `a lock that somebody keeps does not block a revocation or a change of sharing`() throws {
    // Both wait ten seconds first.
    let groups = try [group(), group()]
    let errors = onThreads(2) { number in
      let group = groups[number]
      let lock = unsafe Glibc.open(group.folder + "/lock", O_RDONLY | O_CLOEXEC)
      defer { close(lock) }
      try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
      if number == 0 { try group.share(.closed) } else { try expectRevoked(group) }
      try group.set(["item": "newer"])
      #expect(try group.value("item") == "newer")
    }
    #expect(errors.isEmpty)
  }

  /// Whoever owns a file can have a lease on it, which the system ends after a time, but only for those who wait.
  @Test(arguments: ["group.vault", "group.vault-wal"]) func `a lease on a file only delays a revocation`(
    _ name: String
  ) throws {
    signal(SIGIO, SIG_IGN)
    let folder = try ObstructionTests.folderInMemory()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let group = try group(in: folder)
    // New files, because this process keeps the old ones open.
    let files = try group.files()
    for path in [name, "group.vault-shm"] { unsafe unlink("\(folder)/\(path)") }
    try group.replace(with: files)
    let file = unsafe Glibc.open("\(folder)/\(name)", O_RDWR | O_CLOEXEC)
    defer { close(file) }
    try #require(fcntl(file, 1_024, F_WRLCK) == 0)
    Thread.detachNewThread {
      usleep(500_000)
      _ = fcntl(file, 1_024, F_UNLCK)
    }
    try expectRevoked(group)
  }
}

private final class Exchange {
  let run: () -> Bool
  init(_ run: @escaping () -> Bool) { self.run = run }
}

/// A log as SQLite would write it (https://www.sqlite.org/walformat.html).
private enum ForgedLog {
  /// One frame for each of `pages`, with the page's content in `main`; the last one is a commit.
  static func bytes(of pages: [UInt32], from main: [UInt8], pageSize: UInt32) -> [UInt8] {
    var sums: (UInt32, UInt32) = (0, 0)
    func add(_ bytes: ArraySlice<UInt8>) {
      let words = stride(from: bytes.startIndex, to: bytes.endIndex, by: 4).map {
        Array(bytes[$0..<$0 + 4]).word(at: 0)
      }
      for index in stride(from: 0, to: words.count, by: 2) {
        sums.0 = sums.0 &+ words[index] &+ sums.1
        sums.1 = sums.1 &+ words[index + 1] &+ sums.0
      }
    }
    func bytes(_ word: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
    let salts = bytes(7) + bytes(9)
    var log = bytes(0x377F_0683) + bytes(3_007_000) + bytes(pageSize) + bytes(1) + salts
    add(log[...])
    log += bytes(sums.0) + bytes(sums.1)
    for (index, page) in pages.enumerated() {
      let start = bytes(page) + bytes(index == pages.count - 1 ? UInt32(main.count / 4_096) : 0)
      let content = main[Int(page - 1) * 4_096..<Int(page) * 4_096]
      add(start[...])
      add(content)
      log += start + salts + bytes(sums.0) + bytes(sums.1) + content
    }
    return log
  }
}

extension GroupFiles {
  /// The page of each frame of the log.
  fileprivate var pagesInLog: [UInt32] {
    stride(from: 32, to: log.count, by: 24 + 4_096).map { Array(log[$0..<$0 + 4]).word(at: 0) }
  }
}
