import Synchronization
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

struct RecorderTests {
  /// Batches that were written, each as the groups of its records.
  private final class Written: Sendable {
    private let state = Mutex((batches: [[String]](), records: [AuditRecord](), isBroken: false))

    var batches: [[String]] { state.withLock { $0.batches } }
    var records: [AuditRecord] { state.withLock { $0.records } }
    func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }

    func append(_ records: [AuditRecord]) throws(VaultError) {
      try state.withLock { (state) throws(VaultError) in
        guard !state.isBroken else { throw .overLimit("what the disk takes") }
        state.batches.append(records.map { $0.group ?? "" })
        state.records += records
      }
    }
  }

  private let written = Written()

  private func recorder(delay: Duration, interval: Duration = .seconds(3_600)) -> Recorder {
    Recorder(delay: delay, interval: interval) { [written] (records) throws(VaultError) in try written.append(records) }
  }

  private func record(_ group: String) -> AuditRecord {
    AuditRecord(caller: AuditRecord.Caller(Peer(), nil), action: .list, group: group)
  }

  @Test func `a noted record is in the durable write of the next one, before it`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    try await recorder.note(record("search"))
    #expect(written.batches.isEmpty)
    try await recorder.write(record("read"))
    #expect(written.batches == [["search", "read"]])
  }

  @Test(.timeLimit(.minutes(5))) func `a noted record becomes durable without another one`() async throws {
    let recorder = recorder(delay: .milliseconds(1))
    try await recorder.note(record("search"))
    while written.batches.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    #expect(written.batches == [["search"]])
    // And so does the next one.
    try await recorder.note(record("again"))
    while written.batches.count < 2 { try await Task.sleep(for: .milliseconds(5)) }
    #expect(written.batches.last == ["again"])
  }

  @Test func `the end makes durable what was noted`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    try await recorder.finish()
    #expect(written.batches.isEmpty)
    try await recorder.note(record("search"))
    try await recorder.finish()
    #expect(written.batches == [["search"]])
  }

  @Test func `while records cannot be written, nothing is noted only, and what was noted is kept`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    try await recorder.note(record("first"))
    written.setBroken(true)
    await #expect(throws: VaultError.self) { try await recorder.write(record("read")) }
    await #expect(throws: VaultError.self) { try await recorder.note(record("second")) }
    written.setBroken(false)
    try await recorder.note(record("third"))
    #expect(written.batches == [["first", "third"]])
  }

  @Test func `after a failure only a durable record shows that records can be written`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    try await recorder.requireWritable()
    #expect(written.batches.isEmpty)
    written.setBroken(true)
    await #expect(throws: VaultError.self) { try await recorder.write(record("read")) }
    await #expect(throws: VaultError.self) { try await recorder.requireWritable() }
    written.setBroken(false)
    for _ in 0..<2 { try await recorder.requireWritable() }
    #expect(written.batches == [[""]])
  }

  private func refusal(
    _ action: AuditRecord.Action = .login, user: UInt32? = nil, address: String? = nil, item: String? = nil
  ) -> AuditRecord {
    AuditRecord(
      caller: AuditRecord.Caller(.nobody, uid: user, address: address), action: action, item: item, outcome: .denied)
  }

  @Test func `a flood of refusals becomes a few records and one count of each kind, and none is lost`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    for number in 0..<1_000 { try await recorder.refuse(refusal(address: "192.0.2.\(number % 8)")) }
    for _ in 0..<5 { try await recorder.refuse(refusal(.read, address: "192.0.2.9")) }
    #expect(written.records.count == Recorder.strangersLimit)
    // Whoever is on the network does not use up the records of local callers.
    try await recorder.refuse(refusal(user: 1_000))
    #expect(written.records.last?.caller.uid == 1_000)
    try await recorder.finish()
    let counts = written.records.dropFirst(Recorder.strangersLimit + 1).sorted {
      $0.action.rawValue < $1.action.rawValue
    }
    #expect(counts.map(\.action) == [.read, .login])
    #expect(counts.allSatisfy { $0.outcome == .denied && $0.caller.who == .nobody })
    #expect(counts.first?.detail == "5 more within a minute, from 192.0.2.9")
    #expect(
      counts.last?.detail
        == "990 more within a minute, from 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5 and others")
    // Nothing is told twice.
    try await recorder.finish()
    #expect(written.records.count == Recorder.strangersLimit + 3)
  }

  @Test func `what applications do not find becomes a few records and one count for each of them`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    for name in ["web", "other"] {
      for _ in 0..<1_000 {
        let caller = AuditRecord.Caller(.application(name), uid: 7)
        try await recorder.refuse(AuditRecord(caller: caller, action: .read, item: "x", outcome: .init(.notFound)))
      }
    }
    // They use up no records of strangers.
    try await recorder.refuse(refusal(user: 8))
    #expect(written.records.count == 2 * Recorder.missesLimit + 1)
    try await recorder.finish()
    let counts = written.records.dropFirst(2 * Recorder.missesLimit + 1)
    #expect(Set(counts.compactMap(\.caller.who.application)) == ["web", "other"] && counts.count == 2)
    #expect(
      counts.allSatisfy { $0.outcome == .init(.notFound) && $0.detail == "900 more within a minute, from user 7" })
  }

  @Test(.timeLimit(.minutes(5))) func `counts of refusals are recorded when the interval ends`() async throws {
    let recorder = recorder(delay: .seconds(3_600), interval: .milliseconds(1))
    var total = 0
    // However many intervals it takes, each refusal is in one record or in one count.
    for _ in 0..<2 * Recorder.strangersLimit {
      try await recorder.refuse(refusal(user: 7))
      total += 1
    }
    func told() -> Int {
      written.records.reduce(0) { $0 + ($1.detail?.split(separator: " ").first.flatMap { Int($0) } ?? 1) }
    }
    while told() < total { try await Task.sleep(for: .milliseconds(5)) }
    #expect(told() == total)
  }

  @Test func `while records cannot be written, no refusal is only counted`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    for _ in 0..<Recorder.strangersLimit + 1 { try await recorder.refuse(refusal(user: 7)) }
    written.setBroken(true)
    await #expect(throws: VaultError.self) { try await recorder.finish() }
    await #expect(throws: VaultError.self) { try await recorder.refuse(refusal(user: 7)) }
    written.setBroken(false)
    try await recorder.finish()
    #expect(written.records.last?.detail == "1 more within a minute, from user 7")
  }

  @Test func `a text that a stranger chose is short in the record`() async throws {
    let recorder = recorder(delay: .seconds(3_600))
    try await recorder.refuse(refusal(user: 7, item: String(repeating: "e\u{301}", count: 4_000)))
    let item = try #require(written.records.first?.item)
    #expect(item.utf8.count <= 800 && item.hasSuffix("…"))
  }

  @Test(.timeLimit(.minutes(5))) func `counting keeps no recorder, and so no key of a store that was closed`()
    async throws
  {
    weak var counting: Recorder?
    do {
      let recorder = recorder(delay: .seconds(3_600))
      counting = recorder
      try await recorder.refuse(refusal(user: 7))
    }
    // The thread that wrote the record may still be leaving.
    while counting != nil { try await Task.sleep(for: .milliseconds(5)) }
  }
}
