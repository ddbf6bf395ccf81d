#if Daemon
  import NIOPosix
  import Synchronization
  import VaultFoundation

  /// Writes down every decision before its answer leaves. Records that arrive while a batch is being written are the
  /// next batch, so many callers share one durable write.
  final class Recorder: Sendable {
    /// Appends records in one durable transaction.
    typealias Append = @Sendable ([AuditRecord]) throws(VaultError) -> Void

    private typealias Waiting = (record: AuditRecord, continuation: CheckedContinuation<VaultError?, Never>)

    private struct State {
      var waiting: [Waiting] = []
      var isWriting = false
    }

    private let append: Append
    private let state = Mutex(State())

    /// The most records of one batch, and so of one transaction.
    private static let batchLimit = 4_096

    init(_ append: @escaping Append) { self.append = append }

    /// Makes `record` durable.
    ///
    /// - Throws: the error that kept it from being written; then nothing may be answered.
    func write(_ record: AuditRecord) async throws(VaultError) {
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
        let batch = state.withLock { state in
          let batch = state.waiting.prefix(Self.batchLimit)
          state.waiting.removeFirst(batch.count)
          if batch.isEmpty { state.isWriting = false }
          return Array(batch)
        }
        guard !batch.isEmpty else { return }
        var failure: VaultError?
        do throws(VaultError) { try append(batch.map(\.record)) } catch { failure = error }
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
