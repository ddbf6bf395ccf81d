#if Daemon
  import NIOPosix
  import Synchronization
  import VaultFoundation

  /// Writes down every decision. Records that arrive while a batch is being written are the next batch, so many callers
  /// share one durable write.
  final class Recorder: Sendable {
    /// Appends records in one durable transaction.
    typealias Append = @Sendable ([AuditRecord]) throws(VaultError) -> Void

    private typealias Waiting = (record: AuditRecord?, continuation: CheckedContinuation<VaultError?, Never>)

    private struct State {
      var waiting: [Waiting] = []
      /// Records that nobody waits for.
      var noted: [AuditRecord] = []
      /// Whether the last batch could not be written.
      var hasFailed = false
      var isWriting = false
      var isDelaying = false
    }

    private let append: Append
    private let delay: Duration
    private let state = Mutex(State())

    /// The most records of one batch, and so of one transaction.
    private static let batchLimit = 4_096

    /// - Parameter delay: how long a noted record may wait for one that somebody waits for.
    init(delay: Duration = .milliseconds(500), _ append: @escaping Append) {
      (self.delay, self.append) = (delay, append)
    }

    /// Makes `record` durable, and those that were noted before.
    ///
    /// - Throws: the error that kept it from being written; then nothing may be answered.
    func write(_ record: AuditRecord) async throws(VaultError) { try await wait(for: record) }

    /// Makes `record` durable with the next one that somebody waits for, or else after the delay, for an answer without any
    /// value. While records cannot be written, it waits as ``write(_:)`` does.
    ///
    /// - Throws: the error that kept it from being written; then nothing may be answered.
    func note(_ record: AuditRecord) async throws(VaultError) {
      let (isTaken, begins) = state.withLock { state in
        guard !state.hasFailed, state.noted.count < Self.batchLimit / 2 else { return (false, false) }
        state.noted.append(record)
        defer { state.isDelaying = true }
        return (true, !state.isDelaying)
      }
      guard isTaken else { return try await wait(for: record) }
      guard begins else { return }
      Task {
        try? await Task.sleep(for: delay)
        state.withLock { $0.isDelaying = false }
        try? await finish()
      }
    }

    /// Makes durable what was noted.
    ///
    /// - Throws: the error that kept it from being written. It is tried again with the next record.
    func finish() async throws(VaultError) {
      if state.withLock({ $0.isWriting || !$0.noted.isEmpty }) { try await wait(for: nil) }
    }

    /// Checks, after records could not be written, whether one can be written again.
    ///
    /// - Throws: the error that keeps it from being written.
    func requireWritable() async throws(VaultError) {
      guard state.withLock({ $0.hasFailed }) else { return }
      // A disk that is full shows that only when it is written to.
      try await write(AuditRecord(caller: .daemon, action: .repair, detail: "records can be written again"))
    }

    private func wait(for record: AuditRecord?) async throws(VaultError) {
      let failure = await withCheckedContinuation { continuation in
        let begins = state.withLock { state in
          state.waiting.append((record, continuation))
          defer { state.isWriting = true }
          return !state.isWriting
        }
        if begins { NIOThreadPool.singleton.submit { _ in self.work() } }
      }
      if let failure { throw failure }
    }

    /// Writes batches until nobody waits.
    private func work() {
      while true {
        let (noted, batch) = state.withLock { state in
          let batch = state.waiting.prefix(Self.batchLimit / 2)
          state.waiting.removeFirst(batch.count)
          guard !batch.isEmpty else {
            state.isWriting = false
            return ([AuditRecord](), [Waiting]())
          }
          defer { state.noted = [] }
          return (state.noted, Array(batch))
        }
        guard !batch.isEmpty else { return }
        var failure: VaultError?
        let records = noted + batch.compactMap(\.record)
        if !records.isEmpty {
          do throws(VaultError) { try append(records) } catch { failure = error }
        }
        state.withLock { state in
          if !records.isEmpty { state.hasFailed = failure != nil }
          // Their answers have left.
          if failure != nil { state.noted = noted + state.noted }
        }
        for waiting in batch { waiting.continuation.resume(returning: failure) }
      }
    }
  }

  extension AuditRecord.Caller {
    init(_ peer: Peer, _ application: String?) {
      self.init(
        application.map { .application($0) } ?? .nobody, uid: peer.user, pid: peer.process, unit: peer.unit,
        exe: peer.executable, address: peer.address)
    }
  }
#endif
