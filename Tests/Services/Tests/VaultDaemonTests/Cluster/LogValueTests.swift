import Foundation
import Testing

@testable import Sealing
@testable import VaultDaemon

@Suite struct LogValueTests {
  private static let parts = PartList(of: Data.test(LogLimits.part + 1, seed: 1).bytes)
  private static let values: [[UInt8]] = [
    HeadValue.bytes(epoch: 7, link: .test(7)), CommitValue.inParts(7, .test(7), parts).bytes,
    BaseValue(epoch: 7, link: .test(7), parts: parts).bytes,
  ]

  private static func isRead(_ bytes: [UInt8]) -> Bool {
    HeadValue.head(bytes, LogRevision(number: 1)) != nil || CommitValue(bytes) != nil || BaseValue(bytes) != nil
  }

  @Test func `values that are cut or too long are refused`() {
    for value in Self.values {
      #expect(Self.isRead(value))
      for count in 0..<value.count { #expect(!Self.isRead(Array(value.prefix(count)))) }
      #expect(!Self.isRead(value + [0]))
    }
  }

  @Test func `a value with another label is refused`() {
    for value in Self.values {
      for index in 0..<16 {
        var changed = value
        changed[index] ^= 0x80
        #expect(!Self.isRead(changed))
      }
    }
  }

  @Test func `a list of parts names no more parts than its bytes need, and no more than the limit`() {
    // The byte count stands behind label, epoch and link; the number of parts follows it.
    let (count, number) = (16 + 8 + 32, 16 + 8 + 32 + 8)
    for value in [Self.values[1], Self.values[2]] {
      for index in count..<number + 4 {
        var changed = value
        changed[index] ^= 0x40
        // A few bytes more or less in the last part change nothing else.
        if index < number - 3 || index >= number { #expect(!Self.isRead(changed)) }
      }
      for huge in [UInt64.max, UInt64(Int64.max), UInt64(LogLimits.base) + 1] {
        let bytes = withUnsafeBytes(of: huge.bigEndian) { Array($0) }
        #expect(!Self.isRead(Array(value[..<count]) + bytes + value[number...]))
      }
    }
  }

  @Test func `a commit belongs to the epoch of its key`() {
    let value = CommitValue.whole(7, .test(7), [1]).bytes
    #expect(CommitValue(value, 7) != nil)
    #expect(CommitValue(value, 8) == nil)
  }

  @Test func `a key is read only in the form in which it is written`() {
    let keys = EtcdKeys(group: [0xAB, 0x01])
    #expect(String(decoding: keys.commit(255), as: UTF8.self) == "/vault/ab01/commit/00000000000000ff")
    for epoch in [0, 1, 255, UInt64.max] { #expect(keys.epoch(of: keys.commit(epoch)) == epoch) }
    for text in [
      "/vault/ab01/commit/00000000000000FF", "/vault/ab01/commit/ff", "/vault/ab01/commit/+0000000000000ff",
      "/vault/ab02/commit/00000000000000ff", "/vault/ab01/commit/00000000000000ff0", "/vault/ab01/head", "",
    ] {
      #expect(keys.epoch(of: Data(text.utf8)) == nil)
    }
    #expect(keys.digest(of: Data("/vault/ab01/part/\(String(repeating: "0A", count: 32))".utf8)) == nil)
    #expect(keys.digest(of: Data("/vault/ab01/part/\(String(repeating: "0a", count: 32))".utf8)) != nil)
    #expect(keys.digest(of: Data("/vault/ab01/part/\(String(repeating: "0a", count: 31))".utf8)) == nil)
  }

  // MARK: Queue

  @Test func `the producer of events waits for the consumer`() async throws {
    let queue = WatchQueue()
    let head = LogHead(epoch: 1, link: .test(1), revision: LogRevision(number: 1))
    let finder = Task {
      for _ in 0..<200 { await queue.add(.head(head)) }
      queue.finish(throwing: .refused)
    }
    while !queue.isFull { try await Task.sleep(for: .milliseconds(5)) }
    for _ in 0..<200 { #expect(try await queue.next() == .head(head)) }
    await #expect(throws: LogError.refused) { try await queue.next() }
    await finder.value
  }

  @Test func `cancelling ends the wait of producer and consumer`() async throws {
    let empty = WatchQueue()
    let taker = Task { try await empty.next() }
    taker.cancel()
    #expect(try await taker.value == nil)
    let full = WatchQueue()
    let finder = Task { while !Task.isCancelled { await full.add(.lostPlace) } }
    while !full.isFull { try await Task.sleep(for: .milliseconds(5)) }
    finder.cancel()
    await finder.value
  }

  @Test func `a base names no part twice`() throws {
    var parts = PartList()
    let part = Hash.digest(.logPart, [1])
    parts.append(part, byteCount: LogLimits.part)
    #expect(BaseValue(BaseValue(epoch: 1, link: .test(1), parts: parts).bytes) != nil)
    parts.append(part, byteCount: LogLimits.part)
    #expect(BaseValue(BaseValue(epoch: 1, link: .test(1), parts: parts).bytes) == nil)
  }

  // MARK: The log in memory

  @Test func `the log in memory fails on request`() async throws {
    let server = MemoryLogServer()
    let log = MemoryLog(server)
    var head = try await log.publish(0)
    log.fail(.unknownAfterDoing)
    await #expect(throws: LogError.outcomeUnknown) { try await log.append(.test(1), after: head, over: nil) }
    head = try await log.append(.test(1), after: head, over: nil)
    log.fail(.unknownBeforeDoing)
    await #expect(throws: LogError.outcomeUnknown) { try await log.append(.test(2), after: head, over: nil) }
    #expect(try await log.head() == head)
    log.fail(.overtaken(by: .test(2, "other")))
    await #expect(throws: LogError.self) { try await log.append(.test(2), after: head, over: nil) }
    #expect(try await log.commits(after: 1, limit: 9).map(\.commit) == [.test(2, "other")])
    log.isAway = true
    await #expect(throws: LogError.unavailable) { try await log.head() }
    log.isAway = false
    var events = log.watch(after: head).makeAsyncIterator()
    server.compact()
    #expect(try await events.next() == .lostPlace)
    server.roll(back: 1)
    let rolled = try #require(try await log.head())
    #expect(rolled.epoch == 1)
  }
}
