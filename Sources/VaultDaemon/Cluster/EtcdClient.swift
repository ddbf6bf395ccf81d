#if Daemon
  import Foundation
  import Synchronization
  import VaultFoundation

  /// Calls to an etcd cluster through the JSON gateway of its servers.
  ///
  /// A call goes to one server, and to the next one if that cannot be reached, does not answer in time or has no leader. It
  /// ends when its time limit is over. What servers answer is bounded in bytes before it is read.
  final class EtcdClient: Sendable {
    /// How long things may take.
    struct TimeLimits: Sendable {
      /// A whole call, over all servers.
      var call = Duration.seconds(10)
      /// One exchange with one server.
      var attempt = Duration.seconds(3)
      /// How often a watch asks whether it still hears everything.
      var watchCheck = Duration.seconds(15)
    }

    let timeLimits: TimeLimits
    private let remote: Remote
    private let transport: Transport
    private let session = Session()
    /// The index of the server that answered last.
    private let preferred: Atomic<Int>

    /// - Parameter first: the index of the server to begin with; `nil` takes any, so that hosts spread over them.
    /// - Throws: ``EtcdError/untrusted(isSent:)`` if the certificates or the key cannot be read.
    init(_ remote: Remote, timeLimits: TimeLimits = TimeLimits(), first: Int? = nil) throws(EtcdError) {
      (self.remote, self.timeLimits) = (remote, timeLimits)
      preferred = Atomic(first ?? Int.random(in: remote.endpoints.indices))
      transport = try Transport(remote)
    }

    /// Sends `request` until a server answers or the time limit is over.
    ///
    /// - Parameters:
    ///   - limit: the most bytes of the answer.
    ///   - isBulk: whether an answer may take longer than the time limits, as long as it keeps coming.
    func call<Answer: Decodable>(
      _ path: String, _ request: some Encodable & Sendable, limit: Int = 65_536, isBulk: Bool = false
    ) async throws(EtcdError) -> Answer {
      try await exchange(path, request, limit: limit, isBulk: isBulk).answer
    }

    /// Sends `request` until a server answers or the time limit is over.
    ///
    /// - Returns: also whether no earlier attempt can have reached a server.
    /// - Throws: ``EtcdError/mayBeDone`` if an attempt before the last one may have reached a server.
    func exchange<Answer: Decodable>(
      _ path: String, _ request: some Encodable & Sendable, limit: Int, isBulk: Bool = false
    ) async throws(EtcdError) -> (answer: Answer, isFirst: Bool) {
      let body = try Self.encode(request)
      let deadline = ContinuousClock.now + timeLimits.call
      var (failure, wasSent, renewals, inARow) = (EtcdError.unreachable, false, 0, 0)
      while ContinuousClock.now < deadline, !Task.isCancelled {
        let index = preferred.load(ordering: .relaxed)
        do throws(EtcdError) {
          let token = try await token(until: deadline)
          do throws(EtcdError) {
            return (try Self.decode(await post(path, body, token, index, limit, deadline, isBulk)), !wasSent)
          } catch EtcdError.token where renewals < 2 {
            renewals += 1
            session.forget(token)
            continue
          } catch EtcdError.unanswered {
            // A token names the state of the cluster that gave it. A cluster that was made anew and is not that far yet does
            // not answer at all.
            session.forget(token)
            throw .unanswered
          }
        } catch {
          guard error.isWorthAnotherServer else { throw wasSent ? .mayBeDone : error }
          wasSent = wasSent || error.leavesOutcomeOpen
          if case .untrusted = error, remote.endpoints.count == 1 { throw .untrusted(isSent: wasSent) }
          failure = error
        }
        moveOn(from: index)
        inARow += 1
        // All of them failed: give them a moment.
        if inARow.isMultiple(of: remote.endpoints.count) { try? await Task.sleep(for: .milliseconds(100)) }
      }
      if case .untrusted = failure { throw .untrusted(isSent: wasSent) }
      throw wasSent ? .mayBeDone : failure == .malformed ? failure : .unreachable
    }

    /// Opens a watch on one server, and hands over the lines of its answer until it ends or `consume` throws.
    ///
    /// - Throws: why the answer ended; ``EtcdError/unreachable`` if the server ended it.
    func lines(
      of path: String, _ request: some Encodable & Sendable, limit: Int,
      _ consume: @Sendable (EtcdWatchLine) async throws(EtcdError) -> Void
    ) async throws(EtcdError) {
      let index = preferred.load(ordering: .relaxed)
      do throws(EtcdError) {
        let token = try await token(until: ContinuousClock.now + timeLimits.call)
        let address = transport.address(of: remote.endpoints[index], path)
        try await transport.lines(address, Self.encode(request), token, limit: limit, within: timeLimits.attempt) {
          line throws(EtcdError) in
          try await consume(Self.decode(line))
        }
        throw .unreachable
      } catch {
        moveOn(from: index)
        throw error
      }
    }

    /// The latest time that a server tells, in milliseconds since 1970: the date of an answer, even of a refusal.
    func time() async -> UInt64? {
      await withTaskGroup(of: UInt64?.self) { tasks in
        for endpoint in remote.endpoints {
          let address = transport.address(of: endpoint, "auth/status")
          tasks.addTask { [self] in await transport.date(address, within: timeLimits.attempt) }
        }
        return await tasks.compactMap(\.self).max()
      }
    }

    /// Takes the next server for the calls that follow.
    func moveOn() { moveOn(from: preferred.load(ordering: .relaxed)) }

    /// Whether the cluster gave the remote's user a token; `false` if it checks no logins.
    var isLoggedIn: Bool {
      get async throws(EtcdError) { try await token(until: ContinuousClock.now + timeLimits.call) != nil }
    }

    /// Forgets the token, so that the next call logs in again.
    func forgetToken() { session.forget(nil) }

    private func moveOn(from index: Int) {
      _ = preferred.compareExchange(
        expected: index, desired: (index + 1) % remote.endpoints.count, ordering: .relaxed)
    }

    private func post(
      _ path: String, _ body: [UInt8], _ token: String?, _ index: Int, _ limit: Int,
      _ deadline: ContinuousClock.Instant, _ isBulk: Bool = false
    ) async throws(EtcdError) -> [UInt8] {
      let address = transport.address(of: remote.endpoints[index], path)
      let time = min(timeLimits.attempt, deadline - ContinuousClock.now)
      let (status, bytes) = try await transport.post(
        address, body, token, limit: limit, within: time, isBulk: isBulk)
      guard status != 200 else { return bytes }
      guard let failure = try? JSONDecoder().decode(EtcdFailure.self, from: Data(bytes)) else { throw .malformed }
      throw EtcdError(failure)
    }

    // MARK: Login

    private struct Login: Encodable, Sendable {
      let name: String
      let password: String
    }

    private struct Token: Decodable {
      let token: String
    }

    private func token(until deadline: ContinuousClock.Instant) async throws(EtcdError) -> String? {
      guard let user = remote.user else { return nil }
      return try await session.token { [self] () throws(EtcdError) in
        let password = remote.password()?.exportInsecurelyAsString() ?? ""
        let index = preferred.load(ordering: .relaxed)
        let body = try Self.encode(Login(name: user, password: password))
        do throws(EtcdError) {
          let answer: Token = try Self.decode(
            await post("auth/authenticate", body, nil, index, 65_536, deadline))
          // It becomes a header, in which no line may end.
          guard answer.token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .malformed }
          return answer.token
        } catch EtcdError.authenticationIsOff {
          return nil
        } catch EtcdError.untrusted {
          throw .untrusted(isSent: false)
        } catch {
          // A login that was lost has changed nothing.
          throw error.leavesOutcomeOpen ? .unreachable : error
        }
      }
    }

    /// The token that calls carry. One login serves all calls that wait for it.
    private final class Session: Sendable {
      private enum State {
        case none
        case known(String?)
        case waiting([CheckedContinuation<Void, Never>])
      }

      private let state = Mutex(State.none)

      func token(_ logIn: () async throws(EtcdError) -> String?) async throws(EtcdError) -> String? {
        while true {
          let (found, isOurs) = state.withLock { state -> (String??, Bool) in
            switch state {
            case .known(let token): return (.some(token), false)
            case .waiting: return (nil, false)
            case .none:
              state = .waiting([])
              return (nil, true)
            }
          }
          if let found { return found }
          guard isOurs else {
            await wait()
            continue
          }
          do throws(EtcdError) {
            let token = try await logIn()
            settle(.known(token))
            return token
          } catch {
            settle(.none)
            throw error
          }
        }
      }

      /// - Parameter token: the one that was refused; `nil` for whichever there is.
      func forget(_ token: String?) {
        state.withLock { state in
          if case .known(let known) = state, token == nil || known == token { state = .none }
        }
      }

      private func wait() async {
        await withCheckedContinuation { continuation in
          let isSettled = state.withLock { state in
            guard case .waiting(let others) = state else { return true }
            state = .waiting(others + [continuation])
            return false
          }
          if isSettled { continuation.resume() }
        }
      }

      private func settle(_ next: State) {
        let waiting = state.withLock { state in
          guard case .waiting(let waiting) = state else { return [CheckedContinuation<Void, Never>]() }
          state = next
          return waiting
        }
        for continuation in waiting { continuation.resume() }
      }
    }

    // MARK: JSON

    private static func encode(_ request: some Encodable) throws(EtcdError) -> [UInt8] {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .withoutEscapingSlashes
      do { return Array(try encoder.encode(request)) } catch { throw .malformed }
    }

    static func decode<Answer: Decodable>(_ bytes: [UInt8]) throws(EtcdError) -> Answer {
      let decoder = JSONDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      do { return try decoder.decode(Answer.self, from: Data(bytes)) } catch { throw .malformed }
    }
  }
#endif
