#if Daemon
  import Glibc
  import Ground
  import Hummingbird
  import NIOCore
  import Synchronization

  /// Limits for one client. Anything beyond them is refused or closed.
  struct Limits: Sendable {
    /// Over Unix sockets; as many again over TCP, so that callers on the network cannot lock local ones out.
    var connections = 4_096
    var connectionsPerUser = 1_024
    /// How many of those over Unix sockets are left to root and to processes that a binding identifies. A user may have
    /// thousands of other uids, for containers.
    var connectionsOfBound = 1_024
    /// How many requests of one application, user or address may be refused within `failureWindow`.
    var failures = 600
    var failureWindow = Duration.seconds(60)
    /// In bytes, of all header fields together.
    var header = 32 * 1_024
    /// In bytes: the largest value, escaped in JSON, fits.
    var body = 8 * 1_024 * 1_024
    /// In bytes, of the bodies of all applications together, from their arrival to their answers.
    var bodies = 64 * 1_024 * 1_024
    /// In bytes, for a caller without a binding or token, who can only log in.
    var strangersBody = 64 * 1_024
    /// In bytes, of the bodies of all such callers together.
    var strangersBodies = 16 * 1_024 * 1_024
    /// In bytes, of all commits of other users' programs and of all messages to the SSH agent together. Whoever sends them
    /// need not be an application.
    var messages = 64 * 1_024 * 1_024
    /// In bytes, of all large answers together, until their clients have taken them.
    var answers = 256 * 1_024 * 1_024
    /// How long a connection may be silent between two requests.
    var idle = Duration.seconds(300)
    /// How long a connection over TCP may take to agree on TLS and begin its first request.
    var handshake = Duration.seconds(10)
    /// How long it may take to receive a request, and to send an answer.
    var transfer = Duration.seconds(30)
  }

  extension Peer {
    /// The key that the limits of callers that are no application are counted by: a user, or over TCP an address. One
    /// host can have all IPv6 addresses with the same first 64 bits, so they are one caller.
    var key: String { user.map { "user \($0)" } ?? address.map(Self.network) ?? "" }

    private static func network(of address: String) -> String {
      var bytes = [UInt8](repeating: 0, count: 16)
      guard unsafe bytes.withUnsafeMutableBytes({ unsafe inet_pton(AF_INET6, address, $0.baseAddress) }) == 1,
        // An address of IPv4 in the form of IPv6.
        !bytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
      else { return address }
      return bytes.prefix(8).hexadecimal + "/64"
    }
  }

  /// Counts how often each caller was refused in the current window of time. A caller that is refused too often is
  /// ignored until the window ends, so that nobody can guess tokens.
  final class Failures: Sendable {
    private let limit: Int
    private let window: Duration
    private let state = Mutex((end: ContinuousClock.now, counts: [String: Int]()))

    init(_ limits: Limits) { (limit, window) = (limits.failures, limits.failureWindow) }

    func count(_ caller: String) { withCounts { $0[caller, default: 0] += 1 } }

    func isBlocked(_ caller: String) -> Bool { withCounts { $0[caller, default: 0] >= limit } }

    /// Lends the counts of the current window.
    private func withCounts<Result>(_ body: (inout [String: Int]) -> sending Result) -> Result {
      state.withLock { state in
        let now = ContinuousClock.now
        if now >= state.end { state = (now + window, [:]) }
        return body(&state.counts)
      }
    }
  }

  /// Limits the bytes of the bodies of requests or answers that are held for all callers together, and leaves room for
  /// those that hold none.
  final class BodyBudget: Sendable {
    private let limit: Int
    private let state = Mutex((all: 0, ofCallers: [String: Int]()))

    init(limit: Int) { self.limit = limit }

    /// How many bytes are held.
    var held: Int { state.withLock { $0.all } }

    /// - Returns: false if the caller would then hold more bytes than are left for others; then nothing is taken.
    func take(_ count: Int, for caller: String) -> Bool {
      state.withLock { state in
        let held = state.ofCallers[caller, default: 0] + count
        guard held <= limit - state.all - count else { return false }
        state.all += count
        state.ofCallers[caller] = held
        return true
      }
    }

    func giveBack(_ count: Int, of caller: String) {
      state.withLock { state in
        state.all -= count
        let left = state.ofCallers[caller, default: 0] - count
        state.ofCallers[caller] = left > 0 ? left : nil
      }
    }

    /// Lends the body of a request, and counts it until the answer is made.
    ///
    /// - Parameter refusal: for a body of more than `limit` bytes.
    func lend<Answer>(
      _ requestBody: RequestBody, to caller: String, upTo limit: Int, else refusal: Refusal,
      _ answer: (ByteBuffer) async throws -> Answer
    ) async throws -> Answer {
      var body = ByteBuffer()
      defer { giveBack(body.readableBytes, of: caller) }
      do {
        for try await part in requestBody {
          guard body.readableBytes + part.readableBytes <= limit else { throw refusal }
          guard take(part.readableBytes, for: caller) else { throw Refusal.tooManyBodies }
          body.writeImmutableBuffer(part)
        }
      } catch {
        throw error as? Refusal ?? Refusal.invalid("the body is incomplete")
      }
      return try await answer(body)
    }

    /// Counts a large answer for as long as it, or its body, exists.
    func count(_ answer: Response, for caller: String) throws(Refusal) -> Response {
      guard let count = answer.largeSize else { return answer }
      guard take(count, for: caller) else { throw .tooManyBodies }
      let share = Share { self.giveBack(count, of: caller) }
      var counted = answer
      counted.body = ResponseBody(contentLength: count) { writer in
        defer { withExtendedLifetime(share) {} }
        try await answer.body.write(writer)
      }
      return counted
    }

    /// Where a list counts while it is made.
    struct Drafts: Sendable {
      let budget: BodyBudget
      let caller: String

      func begin() -> Draft { Draft(budget, caller) }
    }

    /// A list that is being made. Its size counts until this is released; a small one does not, as a small answer.
    final class Draft {
      private let budget: BodyBudget
      private let caller: String
      private var (size, taken) = (0, 0)

      fileprivate init(_ budget: BodyBudget, _ caller: String) { (self.budget, self.caller) = (budget, caller) }

      deinit { budget.giveBack(taken, of: caller) }

      /// - Parameter count: in bytes.
      func grow(by count: Int) throws(Refusal) {
        size += count
        guard size - taken > Response.smallSize else { return }
        guard budget.take(size - taken, for: caller) else { throw .tooManyBodies }
        taken = size
      }
    }

    private final class Share: Sendable {
      private let end: @Sendable () -> Void
      init(_ end: @escaping @Sendable () -> Void) { self.end = end }
      deinit { end() }
    }
  }

  extension Response {
    /// In bytes; `nil` for an answer so small that as many as there may be connections take little memory.
    var largeSize: Int? { body.contentLength.flatMap { $0 > Self.smallSize ? $0 : nil } }

    /// In bytes.
    fileprivate static let smallSize = 32 * 1_024
  }

  /// Counts the open connections, for each caller, and in total over Unix sockets and over TCP.
  final class Connections: Sendable {
    private struct State {
      var local = 0
      var remote = 0
      var ofCallers: [String: Int] = [:]
    }

    private let limits: Limits
    private let isBound: @Sendable (Peer) -> Bool
    private let state = Mutex(State())

    /// - Parameter isBound: whether a binding identifies a process here. It is asked on the event loop, and only if no other
    ///   place is left.
    init(_ limits: Limits, isBound: @escaping @Sendable (Peer) -> Bool = { _ in false }) {
      (self.limits, self.isBound) = (limits, isBound)
    }

    var count: Int { state.withLock { $0.local + $0.remote } }

    /// Counts a connection.
    ///
    /// - Parameter peer: the caller: a user, or over TCP an address.
    /// - Returns: `nil` if that would exceed a limit, or if the caller would then have more than are left for others.
    func enter(_ peer: Peer) -> Place? {
      let (key, total) = (peer.key, peer.user == nil ? \State.remote : \State.local)
      let isFree = state.withLock { state in
        let count = state.ofCallers[key, default: 0] + 1
        guard count <= limits.connectionsPerUser else { return false }
        // Root's connections count towards the total, but other users cannot keep root out.
        if peer.user != 0 {
          let left = limits.connections - state[keyPath: total] - 1
          let isOpen = count <= (peer.user == nil ? left : left - limits.connectionsOfBound)
          guard isOpen || peer.user != nil && count <= left && isBound(peer) else { return false }
        }
        state[keyPath: total] += 1
        state.ofCallers[key] = count
        return true
      }
      return isFree ? Place(self, key, isLocal: peer.user != nil) : nil
    }

    /// Counts as a connection until it is released: when the connection is closed and no request of it is worked on.
    /// Otherwise, a caller could close connections and leave any number of requests behind.
    final class Place: Sendable {
      private let connections: Connections
      private let key: String
      private let isLocal: Bool

      fileprivate init(_ connections: Connections, _ key: String, isLocal: Bool) {
        (self.connections, self.key, self.isLocal) = (connections, key, isLocal)
      }

      deinit { connections.leave(key, isLocal) }
    }

    private func leave(_ key: String, _ isLocal: Bool) {
      state.withLock { state in
        if isLocal { state.local -= 1 } else { state.remote -= 1 }
        let left = state.ofCallers[key, default: 1] - 1
        state.ofCallers[key] = left > 0 ? left : nil
      }
    }
  }
#endif
