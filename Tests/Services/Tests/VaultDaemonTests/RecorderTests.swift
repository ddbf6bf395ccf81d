import Synchronization
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

struct RecorderTests {
  /// Batches that were written, each as the groups of its records.
  private final class Written: Sendable {
    private let state = Mutex((batches: [[String]](), isBroken: false))

    var batches: [[String]] { state.withLock { $0.batches } }
    func setBroken(_ isBroken: Bool) { state.withLock { $0.isBroken = isBroken } }

    func append(_ records: [AuditRecord]) throws(VaultError) {
      try state.withLock { (state) throws(VaultError) in
        guard !state.isBroken else { throw .overLimit("what the disk takes") }
        state.batches.append(records.map { $0.group ?? "" })
      }
    }
  }

  private let written = Written()

  private func recorder(delay: Duration) -> Recorder {
    Recorder(delay: delay) { [written] (records) throws(VaultError) in try written.append(records) }
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
}
