import Foundation
import Testing

@testable import GroupFile

/// Files that are cut short, emptied, deleted or combined from different points in time.
@Suite struct TruncationTests {
  private static func cuts(of count: Int) -> [Int] {
    let pages = stride(from: 0, to: count, by: 4_096)
    return (pages + pages.flatMap { [$0 + 1, $0 + 2_000, $0 + 4_095] } + [16, 32, 60, 99, 100, count - 1])
      .filter { $0 < count }
  }

  @Test func `a truncated main file is refused`() throws {
    let group = try SmallGroup(logged: false)
    let whole = try group.fixture.files()
    for cut in TruncationTests.cuts(of: whole.main.count) {
      try group.fixture.replace(with: with(whole) { $0.main = Array($0.main.prefix(cut)) })
      let answers = try group.answers()
      #expect(answers.lie(against: group.before) == nil, "cut at \(cut)")
      // The last page may end in unused bytes.
      #expect(!answers.refused.isEmpty || cut > whole.main.count - 4_096, "cut at \(cut)")
    }
    try group.fixture.replace(with: whole)
    #expect(try group.lie() == nil)
  }

  @Test func `a truncated log is refused, and nothing is written over it`() throws {
    let group = try SmallGroup(logged: true)
    let whole = try group.fixture.files()
    #expect(whole.log.count > 4_096)
    for cut in [0, 1, 31, 32, 33, 55, 56] + TruncationTests.cuts(of: whole.log.count) where cut < whole.log.count {
      let short = with(whole) { $0.log = Array($0.log.prefix(cut)) }
      try group.fixture.replace(with: short)
      #expect(try group.answers().refused.count == group.before.all.count, "cut at \(cut)")
      let error = failure { try group.fixture.set(["item/1": "new"]) }
      #expect(error?.isRefusal == true, "cut at \(cut): \(String(describing: error))")
      let after = try group.fixture.files()
      #expect(after.main == short.main && after.log == short.log, "cut at \(cut)")
    }
    try group.fixture.replace(with: whole)
    #expect(try group.lie() == nil)
  }

  @Test func `a group whose log is missing is refused as older`() throws {
    let group = try SmallGroup(logged: true)
    try ConnectionPool.closeIdle(at: ContainerPlace(folder: group.fixture.folder))
    try FileManager.default.removeItem(atPath: group.fixture.folder + "/group.vault-wal")
    let known = try #require(group.fixture.witness.record?.epoch)
    let error = failure { try group.fixture.value("item/0") }
    #expect(error == .rolledBack(found: known - 2, known: known, reason: .olderState))
  }

  @Test func `a log from another time or another group is never used`() throws {
    let group = try SmallGroup(logged: true)
    let older = try group.fixture.files()
    try group.fixture.checkpoint()
    try group.fixture.set(["item/2": "newer"])
    let newer = try group.fixture.files()
    let before = try group.answers()
    let foreign = try SmallGroup(logged: true).fixture.files()
    for log in [older.log, foreign.log, [UInt8](repeating: 7, count: 8_240), older.log + newer.log] {
      try group.fixture.replace(with: with(newer) { $0.log = log })
      #expect(try group.answers().lie(against: before) == nil)
      #expect(try !group.answers().refused.isEmpty)
    }
    for main in [older.main, foreign.main] {
      try group.fixture.replace(with: with(newer) { $0.main = main })
      #expect(try group.answers().lie(against: before) == nil)
    }
    try group.fixture.replace(with: newer)
    #expect(try group.answers().lie(against: before) == nil)
    #expect(try group.answers().refused.isEmpty)
  }

  @Test func `bytes after the end of the file change nothing`() throws {
    let group = try SmallGroup(logged: true)
    let whole = try group.fixture.files()
    try group.fixture.replace(with: with(whole) { $0.log += [UInt8](repeating: 0x5A, count: 5_000) })
    #expect(try group.lie() == nil)
    try group.fixture.replace(with: with(whole) { $0.main += [UInt8](repeating: 0x5A, count: 8_192) })
    #expect(try group.lie() == nil)
  }

  private func with(_ files: GroupFiles, _ change: (inout GroupFiles) -> Void) -> GroupFiles {
    var copy = files
    change(&copy)
    return copy
  }
}
