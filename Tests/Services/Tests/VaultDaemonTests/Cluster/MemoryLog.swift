import Foundation
import Synchronization

@testable import VaultDaemon

/// A log of commits in memory: what several hosts share in a test.
final class MemoryLogServer: Sendable {
  fileprivate struct State {
    var revision: Int64 = 1
    var compacted: Int64 = 0
    var head: LogHead?
    var commits: [UInt64: StoredCommit] = [:]
    var base: LogBase?
    var baseBytes: [UInt8] = []
    var isBaseGarbage = false
    var events: [(revision: Int64, event: LogEvent)] = []
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  fileprivate let state = Mutex(State())

  init() {}

  /// Forgets all events so far, so that a watch that is behind loses its place.
  func compact() {
    state.withLock { state in
      state.compacted = state.revision
      state.events = []
    }
  }

  /// Loses the newest commits, as after restoring an older backup.
  func roll(back epoch: UInt64) {
    change { state in
      guard let stored = state.commits[epoch] else { return [] }
      state.commits = state.commits.filter { $0.key <= epoch }
      state.head = LogHead(epoch: epoch, link: stored.commit.link, revision: LogRevision(number: state.revision))
      return state.head.map { [.head($0)] } ?? []
    }
  }

  fileprivate func change(_ body: (inout State) throws -> [LogEvent]) rethrows {
    let waiting = try state.withLock { state in
      state.revision += 1
      let before = state
      do {
        for event in try body(&state) { state.events.append((state.revision, event)) }
      } catch {
        state = before
        throw error
      }
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  fileprivate func waitForChange(after revision: Int64) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waits = state.withLock { state in
          guard state.revision <= revision, state.compacted <= revision, !Task.isCancelled else { return false }
          state.waiting.append(continuation)
          return true
        }
        if !waits { continuation.resume() }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
  }
}

/// One host's way to a ``MemoryLogServer``.
final class MemoryLog: CommitLog {
  enum Fault: Sendable {
    /// The change is made, and its answer is lost for good.
    case unknownAfterDoing
    /// The change is not made, and nobody can say so.
    case unknownBeforeDoing
    /// The call fails and changes nothing.
    case error(LogError)
    /// The change is made, and its answer is this error.
    case errorAfterDoing(LogError)
    /// Another host is faster with a commit of these bytes.
    case overtaken(by: LoggedCommit)
  }

  private let server: MemoryLogServer
  private let faults = Mutex<[Fault]>([])
  private let away = Mutex(false)
  private let silent = Mutex(false)
  private let held = Mutex(false)
  private let waiting = Mutex(false)

  init(_ server: MemoryLogServer) { self.server = server }

  /// The next changes fail like this, one each.
  func fail(_ next: Fault...) { faults.withLock { $0 += next } }

  /// Whether attempts to find out what became of a change fail.
  var isSilent: Bool {
    get { silent.withLock { $0 } }
    set { silent.withLock { $0 = newValue } }
  }

  /// How many of this host's next readings of a complete file begin just before that is replaced.
  let lateReadings = Mutex(0)

  /// What the servers say that the time is, in milliseconds since 1970.
  let serverTime = Mutex<UInt64?>(nil)

  /// What happens before each of this host's readings of the head.
  let uponHead = Mutex<(@Sendable () async throws -> Void)?>(nil)

  /// What happens before each of this host's readings of a complete file.
  let uponReading = Mutex<(@Sendable () async throws -> Void)?>(nil)

  /// What happens before this host puts each complete file under the log.
  let uponPutting = Mutex<(@Sendable () async throws -> Void)?>(nil)

  /// How often this host began to read a complete file.
  let readings = Mutex(0)

  /// Whether this host cannot reach the server.
  var isAway: Bool {
    get { away.withLock { $0 } }
    set { away.withLock { $0 = newValue } }
  }

  /// Whether appending waits.
  var isHeld: Bool {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }

  /// Waits until a commit is on its way.
  func waitForHeldCommit() async throws {
    while !waiting.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
  }

  private typealias State = MemoryLogServer.State

  private func read<Result: Sendable>(_ body: (State) throws -> Result) throws(LogError) -> Result {
    guard !isAway else { throw .unavailable }
    return try Self.typed { try server.state.withLock { try body($0) } }
  }

  private func change(_ body: (inout State) throws -> [LogEvent]) throws(LogError) {
    guard !isAway else { throw .unavailable }
    let fault = faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    switch fault {
    case .unknownBeforeDoing: throw .outcomeUnknown
    case .error(let error): throw error
    case .overtaken(let commit):
      try Self.typed {
        try server.change { state in
          try Self.append(commit, after: state.head, over: state.commits[commit.epoch]?.revision, in: &state)
        }
      }
    case .unknownAfterDoing, .errorAfterDoing, nil: break
    }
    try Self.typed { try server.change(body) }
    switch fault {
    case .unknownAfterDoing: throw .outcomeUnknown
    case .errorAfterDoing(let error): throw error
    default: break
    }
  }

  private static func typed<Result>(_ body: () throws -> Result) throws(LogError) -> Result {
    do { return try body() } catch let error as LogError { throw error } catch { throw .malformed }
  }

  private static func append(
    _ commit: LoggedCommit, after head: LogHead?, over occupant: LogRevision?, in state: inout State
  ) throws -> [LogEvent] {
    guard state.head == head else { throw LogError.conflict(state.head) }
    if let other = state.commits[commit.epoch], other.revision != occupant { throw LogError.occupied(other) }
    let revision = LogRevision(number: state.revision)
    let stored = StoredCommit(commit: commit, revision: revision)
    let next = LogHead(epoch: commit.epoch, link: commit.link, revision: revision)
    state.commits[commit.epoch] = stored
    state.head = next
    return [.commit(stored), .head(next)]
  }

  // MARK: CommitLog

  func time() async -> UInt64? { serverTime.withLock { $0 } }

  func head() async throws(LogError) -> LogHead? {
    if let body = uponHead.withLock({ $0 }) {
      do { try await body() } catch { throw .malformed }
    }
    // The change itself still has its fault before it.
    if isSilent, faults.withLock({ $0.isEmpty }) { throw .unavailable }
    return try read { $0.head }
  }

  func append(
    _ commit: LoggedCommit, after head: LogHead, over occupant: LogRevision?
  ) async throws(LogError) -> LogHead {
    guard commit.bytes.count <= LogLimits.commit else { throw .tooLarge(limit: LogLimits.commit) }
    while isHeld {
      waiting.withLock { $0 = true }
      try? await Task.sleep(for: .milliseconds(5))
    }
    let present = try read { (commit: $0.commits[commit.epoch], head: $0.head) }
    if let stored = present.commit, stored.commit == commit, (present.head?.epoch ?? 0) >= commit.epoch {
      return LogHead(epoch: commit.epoch, link: commit.link, revision: stored.revision)
    }
    let made = Mutex<LogHead?>(nil)
    try change { state in
      let events = try Self.append(commit, after: head, over: occupant, in: &state)
      made.withLock { [head = state.head] in $0 = head }
      return events
    }
    guard let made = made.withLock({ $0 }) else { throw .malformed }
    return made
  }

  func commits(after epoch: UInt64, limit: Int) async throws(LogError) -> [StoredCommit] {
    try read { state in
      guard epoch < .max else { return [] }
      guard let head = state.head else { throw LogError.baseNeeded }
      guard head.epoch > epoch else { return [] }
      var found: [StoredCommit] = []
      while found.count < limit, let next = state.commits[epoch + 1 + UInt64(found.count)],
        next.commit.epoch <= head.epoch
      {
        found.append(next)
      }
      guard !found.isEmpty else { throw LogError.baseNeeded }
      return found
    }
  }

  func watch(after head: LogHead?) -> AsyncThrowingStream<LogEvent, any Error> {
    let server = server
    let present = server.state.withLock { ($0.head, $0.revision) }
    let place = Mutex((told: head?.revision.number ?? present.1, queue: [LogEvent]()))
    let shared = Shared(place)
    if head == nil, let now = present.0 { shared.place.withLock { $0.queue.append(.head(now)) } }
    return AsyncThrowingStream {
      while !Task.isCancelled {
        let next = shared.place.withLock { $0.queue.isEmpty ? nil : $0.queue.removeFirst() }
        if let next { return next }
        let told = shared.place.withLock { $0.told }
        let (events, isLost, now, revision) = server.state.withLock { state in
          (
            state.events.filter { $0.revision > told }.map(\.event), state.compacted > told, state.head, state.revision
          )
        }
        shared.place.withLock { place in
          place.queue += isLost ? [.lostPlace] + (now.map { [.head($0)] } ?? []) : events
          place.told = revision
        }
        if !isLost, events.isEmpty { await server.waitForChange(after: revision) }
      }
      return nil
    }
  }

  private final class Shared: Sendable {
    let place: Mutex<(told: Int64, queue: [LogEvent])>
    init(_ place: consuming sending Mutex<(told: Int64, queue: [LogEvent])>) { self.place = place }
  }

  func base() async throws(LogError) -> LogBase? {
    try read { state in
      if state.isBaseGarbage, let base = state.base {
        throw LogError.damaged(LogDamage(place: .base, revision: base.revision))
      }
      return state.base
    }
  }

  func readBase(
    _ base: LogBase, _ consume: @Sendable (_ piece: [UInt8]) async throws(LogError) -> Void
  ) async throws(LogError) {
    readings.withLock { $0 += 1 }
    if let body = uponReading.withLock({ $0 }) {
      do { try await body() } catch { throw .malformed }
    }
    let isLate = lateReadings.withLock { count in
      defer { count = max(0, count - 1) }
      return count > 0
    }
    let bytes = try read { state in
      guard state.base == base, !isLate else { throw LogError.baseReplaced }
      return state.baseBytes
    }
    for piece in PartList.pieces(of: bytes) { try await consume(Array(piece)) }
  }

  func publish(
    epoch: UInt64, link: CommitLink, after head: LogHead?, pieces: BasePieces
  ) async throws(LogError) -> LogHead {
    let bytes = try await Self.bytes(pieces)
    try change { state in
      guard state.head == head else { throw LogError.conflict(state.head) }
      let revision = LogRevision(number: state.revision)
      let head = LogHead(epoch: epoch, link: link, revision: revision)
      state.head = head
      state.base = LogBase(epoch: epoch, link: link, byteCount: UInt64(bytes.count), revision: revision)
      (state.baseBytes, state.isBaseGarbage) = (bytes, false)
      return [.baseChanged, .head(head)] + Self.remove(through: epoch, in: &state)
    }
    return try read { state in
      guard let head = state.head else { throw LogError.malformed }
      return head
    }
  }

  func putBase(
    epoch: UInt64, link: CommitLink, replacing base: LogBase?, keeping margin: UInt64, pieces: BasePieces
  ) async throws(LogError) -> LogBase {
    let bytes = try await Self.bytes(pieces)
    if let body = uponPutting.withLock({ $0 }) {
      do { try await body() } catch { throw .malformed }
    }
    try change { state in
      guard state.base?.revision == base?.revision else { throw LogError.baseReplaced }
      state.base = LogBase(
        epoch: epoch, link: link, byteCount: UInt64(bytes.count), revision: LogRevision(number: state.revision))
      (state.baseBytes, state.isBaseGarbage) = (bytes, false)
      return [.baseChanged] + (epoch >= margin ? Self.remove(through: epoch - margin, in: &state) : [])
    }
    return try read { state in
      guard let base = state.base else { throw LogError.malformed }
      return base
    }
  }

  private static func bytes(_ pieces: BasePieces) async throws(LogError) -> [UInt8] {
    var (bytes, index) = ([UInt8](), 0)
    while let piece = try await pieces(index) {
      bytes += piece
      index += 1
    }
    return bytes
  }

  func replaceHead(
    at revision: LogRevision?, with epoch: UInt64, link: CommitLink
  ) async throws(LogError) -> LogHead {
    try change { state in
      guard state.head?.revision == revision else { throw LogError.conflict(state.head) }
      let head = LogHead(epoch: epoch, link: link, revision: LogRevision(number: state.revision))
      state.head = head
      return [.head(head)]
    }
    return try read { state in
      guard let head = state.head else { throw LogError.malformed }
      return head
    }
  }

  func isWhole(from epoch: UInt64, to head: LogHead) async throws(LogError) -> Bool {
    try read { state in
      var last: Int64 = 0
      for epoch in epoch + 1..<max(epoch, head.epoch) + 1 {
        guard let number = state.commits[epoch]?.revision.number, number > last, number <= head.revision.number else {
          return false
        }
        last = number
      }
      return true
    }
  }

  private static func remove(through epoch: UInt64, in state: inout State) -> [LogEvent] {
    let removed = state.commits.keys.filter { $0 <= epoch }.sorted()
    for epoch in removed { state.commits[epoch] = nil }
    return removed.map { .commitRemoved(epoch: $0) }
  }

  // MARK: What others do

  /// Removes a commit, as whoever may write to the server can.
  func remove(_ epoch: UInt64) throws {
    try change { state in
      state.commits[epoch] = nil
      return [.commitRemoved(epoch: epoch)]
    }
  }

  /// Removes the head.
  func removeHead() throws {
    try change { state in
      state.head = nil
      return [.headRemoved]
    }
  }

  /// Removes the complete file.
  func removeBase() throws {
    try change { state in
      state.base = nil
      return [.baseChanged]
    }
  }

  /// Writes what is no complete file in its place.
  func spoilBase() throws {
    try change { state in
      let revision = LogRevision(number: state.revision)
      state.base = state.base.map { LogBase(epoch: $0.epoch, link: $0.link, byteCount: 1, revision: revision) }
      state.isBaseGarbage = true
      return [.baseChanged]
    }
  }

  /// Writes over a commit, or into a place where none is.
  func replace(
    _ commit: LoggedCommit, at revision: LogRevision?, under head: LogHead
  ) async throws(LogError) -> StoredCommit {
    try change { state in
      guard state.head == head else { throw LogError.conflict(state.head) }
      if let other = state.commits[commit.epoch], other.revision != revision { throw LogError.occupied(other) }
      let stored = StoredCommit(commit: commit, revision: LogRevision(number: state.revision))
      state.commits[commit.epoch] = stored
      return [.commit(stored)]
    }
    return try read { state in
      guard let stored = state.commits[commit.epoch] else { throw LogError.malformed }
      return stored
    }
  }
}
