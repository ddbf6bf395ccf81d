import CVaultSQLite
import Foundation
import Sealing
import Testing

@testable import GroupFile

/// Junk that somebody without a key puts into the file where no table reaches, while all tables stay as they are.
@Suite struct HostilePagesTests {
  enum Junk: CaseIterable, Sendable {
    /// Records of 2 MiB that share all their bytes.
    case records
    /// The same lengths, with bytes that are no record.
    case noRecords
    /// Records whose bytes are those of the large values of honest items.
    case stolen
  }

  /// A group whose file begins with free pages full of `junk`, and states a wrong number of free pages.
  private func group(_ junk: Junk) throws -> RepairFixture {
    let fixture = try RepairFixture()
    _ = try fixture.group.change(RosterChange(grants: [.init(application: "thief", issue: 1, rights: .read)]))
    try fixture.group.checkpoint()
    var files = try fixture.group.files()
    files.main = try rebuilt(files.main)
    files.log = []
    let free = files.main.freePages
    let loop = free.pages[free.pages.count - 1]
    let overflow = files.main.overflowPages
    for (position, page) in free.pages.dropLast().enumerated() {
      let next = junk == .stolen ? overflow[position % overflow.count] : loop
      files.main.set(page, junk.page(next: next))
    }
    files.main.set(loop, loop.bytes + [UInt8](repeating: 0, count: 4_092))
    files.main.replaceSubrange(36..<40, with: (free.count + 1).bytes)
    try fixture.group.replace(with: files)
    return fixture
  }

  /// The same tables in a file whose first pages are free.
  private func rebuilt(_ bytes: [UInt8]) throws -> [UInt8] {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (old, new) = (folder.appendingPathComponent("old").path, folder.appendingPathComponent("new").path)
    try Data(bytes).write(to: URL(fileURLWithPath: old))
    var opened: OpaquePointer?
    #expect(unsafe sqlite3_open(new, &opened) == SQLITE_OK)
    let database = try unsafe #require(opened)
    defer { unsafe sqlite3_close(database) }
    func run(_ sql: String) { #expect(unsafe sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK, "\(sql)") }
    let version = bytes[60..<64].reduce(0) { $0 << 8 | Int($1) }
    let identifier = bytes[68..<72].reduce(0) { $0 << 8 | Int($1) }
    run("PRAGMA page_size=4096; PRAGMA application_id=\(identifier); PRAGMA user_version=\(version)")
    run("CREATE TABLE junk(x); INSERT INTO junk VALUES(zeroblob(\(4_092 * 30)))")
    for entry in Schema.entries where entry.sql != nil { run("\(entry.sql!)") }
    run("ATTACH '\(old)' AS old")
    for entry in Schema.entries where entry.sql != nil {
      run("INSERT INTO main.\"\(entry.name)\" SELECT * FROM old.\"\(entry.name)\"")
    }
    run("DETACH old; DROP TABLE junk; PRAGMA journal_mode=WAL; PRAGMA wal_checkpoint(TRUNCATE)")
    return [UInt8](try Data(contentsOf: URL(fileURLWithPath: new)))
  }

  @Test(arguments: Junk.allCases)
  func `a member is removed in place, whatever is on free pages`(_ junk: Junk) throws {
    let fixture = try group(junk)
    defer { fixture.end() }
    #expect(failure { try fixture.group.open().verify() }?.isDamage == true)
    #expect(try fixture.group.open("thief").value("item/2") == "value of 2")
    let changed = try fixture.group.change(RosterChange { $0.application == "thief" })
    #expect(changed.roster.members.count == 1)
    #expect(try fixture.missing().isEmpty)
  }

  @Test(arguments: Junk.allCases)
  func `a salvage finds everything that the tables hold, whatever is on free pages`(_ junk: Junk) throws {
    let fixture = try group(junk)
    defer { fixture.end() }
    let repair = try #require(try fixture.repair())
    #expect(repair.lost == 0 && repair.lostVersions == 0 && repair.unproved.isEmpty && !repair.losesChain)
    #expect(try fixture.missing().isEmpty)
  }

  @Test(arguments: [Junk.records, .noRecords])
  func `a search of all pages goes on after junk`(_ junk: Junk) throws {
    let fixture = try group(junk)
    defer { fixture.end() }
    let path = fixture.group.folder + "/group.vault"
    let index = try SalvageIndex(of: path, StoredParts()) { _, _ in }
    #expect(index.parts.count == 3 && !index.foundWraps.isEmpty)
    #expect(Set(index.rows.map(\.token)).count == fixture.values.count + 1)
  }

  @Test func `the log is merged into the copy of a file that ends with pages of zeros`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    var files = try fixture.group.files()
    files.main += [UInt8](repeating: 0, count: 400 * 4_096)
    files.main.replaceSubrange(28..<32, with: UInt32(files.main.count / 4_096).bytes)
    files.log = []
    try fixture.group.replace(with: files)
    try fixture.group.set(["item/3": "in the log"])
    let header = Array(files.main[..<ContainerHeader.byteCount])
    let folder = fixture.group.folder + ".salvage"
    defer { SalvageCopy.remove(folder) }
    let (copy, _) = try SalvageCopy.make(
      of: ContainerPlace(folder: fixture.group.folder), in: folder, header: header)
    #expect(try ContainerPlace.status(copy.logPath)?.byteCount ?? 0 == 0)
    let index = try SalvageIndex(of: copy.path, StoredParts()) { _, _ in }
    let token = try fixture.group.forge().keys.token(of: "item/3")
    #expect(index.versions(of: token).last?.version == 2)
  }

  @Test func `a table whose pages repeat ends a walk in place, and a salvage takes over`() throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    _ = try fixture.group.change(RosterChange(grants: [.init(application: "thief", issue: 1, rights: .read)]))
    try fixture.group.checkpoint()
    var files = try fixture.group.files()
    let root = Int(try fixture.group.peek { try $0.value("SELECT rootpage FROM sqlite_schema WHERE name = 'item'") })
    let start = (root - 1) * 4_096
    let page = Array(files.main[start..<start + 4_096])
    try #require(page[0] == 2)
    // Every child is the first one.
    let first = page.number(at: Int(page[12]) << 8 | Int(page[13]))
    for cell in 0..<(Int(page[3]) << 8 | Int(page[4])) {
      let offset = start + (Int(page[12 + 2 * cell]) << 8 | Int(page[13 + 2 * cell]))
      files.main.replaceSubrange(offset..<offset + 4, with: first.bytes)
    }
    files.main.replaceSubrange(start + 8..<start + 12, with: first.bytes)
    try fixture.group.replace(with: files)
    let change = RosterChange { $0.application == "thief" }
    #expect(failure { try fixture.group.change(change) }?.isDamage == true)
    let outcome = try fixture.group.forceRevocation(of: "thief", droppingUnproved: true)
    #expect(outcome.state.roster.members.count == 1 && outcome.left.lost == 0)
    #expect(try fixture.missing().isEmpty)
  }

  @Test(arguments: [false, true])
  func `a log is copied to its last frame, however long the file claims to be`(hasZeroSalts: Bool) throws {
    let fixture = try RepairFixture()
    defer { fixture.end() }
    try fixture.group.set(["item/3": "in the log"])
    let honest = try fixture.group.files().log.count
    if hasZeroSalts {
      // A hole looks like frames of such a log. SQLite ignores it.
      var files = try fixture.group.files()
      files.log.replaceSubrange(16..., with: [UInt8](repeating: 0, count: files.log.count - 16))
      try fixture.group.replace(with: files)
    }
    let target = fixture.group.folder + ".copy"
    defer { try? FileManager.default.removeItem(atPath: target) }
    try FileManager.default.createDirectory(
      atPath: target, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let source = try ContainerPlace(folder: fixture.group.folder)
    #expect(unsafe truncate(source.logPath, 1 << 30) == 0)
    let copy = try ContainerPlace(folder: target)
    _ = try SalvageCopy.duplicate(source, to: copy, .closed)
    #expect(try #require(try ContainerPlace.status(copy.logPath)).byteCount <= honest)
    try fixture.group.replace(with: GroupFiles(in: target))
    if !hasZeroSalts { #expect(try fixture.group.value("item/3") == "in the log") }
  }
}

extension HostilePagesTests.Junk {
  /// A leaf page of a table whose cells all claim 2 MiB, which continue on the page `next`.
  fileprivate func page(next: UInt32) -> [UInt8] {
    let length: [UInt8] = [0xFF, 0xFF, 0x7F]
    // The header of a record (NULL, bytes).
    let header: [UInt8] = [6, 0, 0x81, 0xFF, 0xFF, 0x7E]
    let cell = length + [1] + (self == .noRecords ? [] : header)
    let count = (4_096 - 8 - 2_055) / (2 + cell.count)
    let start = 8 + 2 * count
    var page = [UInt8](repeating: 0, count: 4_096)
    page.replaceSubrange(0..<5, with: [13, 0, 0, UInt8(count >> 8), UInt8(count & 0xFF)])
    for number in 0..<count {
      let offset = start + number * cell.count
      page.replaceSubrange(8 + 2 * number..<10 + 2 * number, with: [UInt8(offset >> 8), UInt8(offset & 0xFF)])
      page.replaceSubrange(offset..<offset + cell.count, with: cell)
    }
    for number in 0..<count {
      let end = start + number * cell.count + 4 + 2_047
      page.replaceSubrange(end..<end + 4, with: next.bytes)
    }
    return page
  }
}

extension UInt32 {
  fileprivate var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (24 - 8 * UInt32($0))) } }
}

extension [UInt8] {
  fileprivate func number(at offset: Int) -> UInt32 { self[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) } }

  fileprivate mutating func set(_ page: UInt32, _ bytes: [UInt8]) {
    replaceSubrange(Int(page - 1) * 4_096..<Int(page) * 4_096, with: bytes)
  }

  /// The free pages that hold nothing, and the number of all.
  fileprivate var freePages: (pages: [UInt32], count: UInt32) {
    let trunk = Int(number(at: 32) - 1) * 4_096
    let count = Int(number(at: trunk + 4))
    return ((0..<count).map { number(at: trunk + 8 + 4 * $0) }.sorted(), number(at: 36))
  }

  /// The pages on which the records of the table `blob` continue.
  fileprivate var overflowPages: [UInt32] {
    (2...UInt32(count / 4_096)).filter { page in
      let start = Int(page - 1) * 4_096
      let text = self[start + 4..<start + 4_096]
      // A page that only continues others has no header of a tree's page, and sealed bytes in it.
      return self[start] == 0 && !text.allSatisfy { $0 == 0 }
    }
  }
}
