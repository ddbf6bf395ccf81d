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
      var strangers = Strangers()
    }

    private let append: Append
    private let delay: Duration
    private let interval: Duration
    private let state = Mutex(State())

    /// The most records of one batch, and so of one transaction.
    private static let batchLimit = 4_096

    /// The most refusals of strangers that have a record of their own in an interval; as many again for those on the
    /// network. The others are only counted.
    static let strangersLimit = 10

    /// The most records of an application in an interval for what it did not find. The others are only counted.
    static let missesLimit = 100

    /// - Parameters:
    ///   - delay: how long a noted record may wait for one that somebody waits for.
    ///   - interval: how long refusals of strangers, and misses of applications, are counted before the counts are
    ///     recorded.
    init(
      delay: Duration = .milliseconds(500), interval: Duration = .seconds(60), _ append: @escaping Append
    ) {
      (self.delay, self.interval, self.append) = (delay, interval, append)
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
        try? await flush()
      }
    }

    /// Makes the refusal of a caller that is no application durable, or what an application did not find, or only
    /// counts it if the interval has too many already. At its end each kind gets one record with the count, so that
    /// callers cannot fill the disk with them.
    ///
    /// - Throws: the error that kept it from being written; then nothing may be answered.
    func refuse(_ record: AuditRecord) async throws(VaultError) {
      let (isCounted, begins) = state.withLock { state in
        defer { state.strangers.isOpen = true }
        return (!state.hasFailed && state.strangers.count(record), !state.strangers.isOpen)
      }
      if begins {
        // When the daemon is sealed, its store and its keys must not wait for the end of the interval.
        Task { [weak self, interval] in
          try? await Task.sleep(for: interval)
          self?.state.withLock { state in
            state.noted += state.strangers.takeCounts()
            state.strangers = Strangers()
          }
          try? await self?.flush()
        }
      }
      if !isCounted { try await wait(for: record.shortened()) }
    }

    /// Makes durable what was noted and counted.
    ///
    /// - Throws: the error that kept it from being written. It is tried again with the next record.
    func finish() async throws(VaultError) {
      state.withLock { $0.noted += $0.strangers.takeCounts() }
      try await flush()
    }

    private func flush() async throws(VaultError) {
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
          // They were answered already, so they are tried again with the next batch.
          if failure != nil { state.noted = noted + state.noted }
        }
        for waiting in batch { waiting.continuation.resume(returning: failure) }
      }
    }
  }

  /// The refusals of callers that are no application, and the misses of applications, in one interval.
  private struct Strangers {
    /// Who shares a number of records.
    private struct Source: Hashable {
      let application: String?
      /// Callers on the network cannot use up the records of local ones.
      let isLocal: Bool

      var limit: Int { application == nil ? Recorder.strangersLimit : Recorder.missesLimit }
    }

    private struct Kind: Hashable {
      let source: Source
      let action: AuditRecord.Action
      let outcome: AuditRecord.Outcome
    }

    private struct Count {
      var count = 0
      /// Where the first ones came from, one more than are named.
      var sources: [String] = []
    }

    /// Whether the interval has begun.
    var isOpen = false
    /// How many have a record of their own.
    private var recorded: [Source: Int] = [:]
    private var counts: [Kind: Count] = [:]

    /// The most sources that a count names.
    private static let sourceLimit = 4

    /// - Returns: `false` if the refusal is to have a record of its own.
    mutating func count(_ record: AuditRecord) -> Bool {
      let application = record.caller.who.application
      let source = Source(application: application, isLocal: application != nil || record.caller.uid != nil)
      guard recorded[source, default: 0] >= source.limit else {
        recorded[source, default: 0] += 1
        return false
      }
      let place = record.caller.uid.map { "user \($0)" } ?? record.caller.address ?? "unknown"
      let kind = Kind(source: source, action: record.action, outcome: record.outcome)
      var count = counts[kind] ?? Count()
      count.count += 1
      if count.sources.count <= Self.sourceLimit, !count.sources.contains(place) { count.sources.append(place) }
      counts[kind] = count
      return true
    }

    /// One record for each kind of refusal that was only counted; then nothing is counted.
    mutating func takeCounts() -> [AuditRecord] {
      defer { counts = [:] }
      return counts.map { kind, count in
        var sources = count.sources.prefix(Self.sourceLimit).joined(separator: ", ")
        if count.sources.count > Self.sourceLimit { sources += " and others" }
        let caller = AuditRecord.Caller(kind.source.application.map { .application($0) } ?? .nobody)
        return AuditRecord(
          caller: caller, action: kind.action, outcome: kind.outcome,
          detail: "\(count.count) more within a minute, from \(sources)")
      }
    }
  }

  extension AuditRecord {
    /// The record with short texts: the caller chose them, and nothing has such a name.
    func shortened() -> AuditRecord {
      func short(_ text: String?) -> String? {
        guard let text, text.unicodeScalars.count > 200 else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(199))) + "…"
      }
      var record = self
      (record.group, record.item) = (short(group), short(item))
      (record.subject, record.detail) = (short(subject), short(detail))
      return record
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
