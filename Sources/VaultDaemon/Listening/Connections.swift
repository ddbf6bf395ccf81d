#if Daemon
  import Glibc
  import Hummingbird
  import NIOCore
  import Synchronization

  /// Limits the bytes of bodies that are held for all callers together.
  final class BodyBudget: Sendable {
    private let limit: Int
    private let state = Mutex(0)

    init(limit: Int) { self.limit = limit }

    /// How many bytes are held.
    var held: Int { state.withLock { $0 } }

    /// - Returns: false if that would exceed the limit; then nothing is taken.
    func take(_ count: Int) -> Bool {
      state.withLock { held in
        guard count <= limit - held else { return false }
        held += count
        return true
      }
    }

    func giveBack(_ count: Int) { state.withLock { $0 -= count } }

    /// Lends the body of a request, and counts it until the answer is made.
    ///
    /// - Parameter refusal: for a body of more than `limit` bytes.
    func lend<Answer>(
      _ requestBody: RequestBody, upTo limit: Int, else refusal: Refusal,
      _ answer: (ByteBuffer) async throws -> Answer
    ) async throws -> Answer {
      var body = ByteBuffer()
      defer { giveBack(body.readableBytes) }
      do {
        for try await part in requestBody {
          guard body.readableBytes + part.readableBytes <= limit else { throw refusal }
          guard take(part.readableBytes) else { throw Refusal.tooManyBodies }
          body.writeImmutableBuffer(part)
        }
      } catch {
        throw error as? Refusal ?? Refusal.invalid("the body is incomplete")
      }
      return try await answer(body)
    }
  }

  /// Counts the open connections, for each user and in total.
  final class Connections: Sendable {
    private struct State {
      var all = 0
      var ofCallers: [String: Int] = [:]
    }

    private let limits: Limits
    private let state = Mutex(State())

    init(_ limits: Limits) { self.limits = limits }

    var count: Int { state.withLock { $0.all } }

    /// Counts a connection.
    ///
    /// - Parameter peer: the caller: a user, or over TCP an address.
    /// - Returns: false if that would exceed a limit.
    func enter(_ peer: Peer) -> Bool {
      let key = peer.key
      return state.withLock { state in
        // Root's connections count towards the total, but other users cannot keep root out.
        guard state.all < limits.connections || peer.user == 0 else { return false }
        guard state.ofCallers[key, default: 0] < limits.connectionsPerUser else { return false }
        state.all += 1
        state.ofCallers[key, default: 0] += 1
        return true
      }
    }

    func leave(_ peer: Peer) {
      let key = peer.key
      state.withLock { state in
        state.all -= 1
        let left = state.ofCallers[key, default: 1] - 1
        state.ofCallers[key] = left > 0 ? left : nil
      }
    }
  }

  extension Channel {
    /// Keeps the connection from programs that the daemon starts, such as pinentry: they would hold it open for as long as
    /// they run, and NIO accepts it so that they inherit it. Called on the event loop.
    func keepFromPrograms() throws {
      try pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        _ = fcntl($0, F_SETFD, FD_CLOEXEC)
      }
    }
  }
#endif
