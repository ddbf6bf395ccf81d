#if Daemon
  import AsyncHTTPClient
  import Foundation
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import Synchronization
  import VaultFoundation

  extension EtcdClient {
    /// One exchange with one server.
    struct Transport: Sendable {
      /// All clients of the process share it, and nothing ends it: connections that nobody uses are closed by themselves.
      private static let http: HTTPClient = {
        var configuration = HTTPClient.Configuration(
          redirectConfiguration: .disallow, timeout: .init(connect: .seconds(2)), decompression: .disabled)
        configuration.httpVersion = .http1Only
        // Each watch keeps a connection.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1_024
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
      }()

      private let security: TLSConfiguration?

      init(_ remote: Remote) throws(EtcdError) {
        security = remote.usesTLS ? try Self.security(remote) : nil
      }

      private static func security(_ remote: Remote) throws(EtcdError) -> TLSConfiguration {
        do {
          var security = TLSConfiguration.makeClientConfiguration()
          security.minimumTLSVersion = .tlsv12
          if let authority = remote.authority {
            security.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(authority.utf8)))
          }
          if let certificate = remote.certificate, let key = remote.key()?.exportInsecurelyAsString() {
            security.certificateChain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))
              .map { .certificate($0) }
            security.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
          }
          return security
        } catch {
          throw .untrusted(isSent: false)
        }
      }

      func address(of endpoint: Remote.Endpoint, _ path: String) -> String {
        "\(security == nil ? "http" : "https")://\(endpoint)/v3/\(path)"
      }

      /// In bytes per second. A network that is slower counts as broken.
      private static let slowest = 131_072

      /// - Parameters:
      ///   - limit: the most bytes of the answer.
      ///   - time: for an exchange of a few bytes. A large body gets more.
      ///   - isBulk: whether a large answer gets more, too, as long as it keeps coming.
      /// - Returns: the status and the body.
      func post(
        _ address: String, _ body: [UInt8], _ token: String?, limit: Int, within time: Duration, isBulk: Bool
      ) async throws(EtcdError) -> (Int, [UInt8]) {
        let passage = Passage(body: body)
        var request = request(address, token)
        request.body = .stream(passage, length: .known(Int64(body.count)))
        let exchange = request
        let end = ContinuousClock.now + time + .seconds(body.count / Self.slowest)
        do throws(EtcdError) {
          return try await Self.limited {
            isBulk ? end + .seconds(passage.receivedCount.load(ordering: .relaxed) / Self.slowest) : end
          } work: {
            let response = try await Self.http.execute(exchange, deadline: .distantFuture)
            if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }), length > limit {
              throw EtcdError.answerTooLarge
            }
            var bytes: [UInt8] = []
            for try await buffer in response.body {
              guard bytes.count + buffer.readableBytes <= limit else { throw EtcdError.answerTooLarge }
              bytes.append(contentsOf: buffer.readableBytesView)
              passage.receivedCount.store(bytes.count, ordering: .relaxed)
            }
            try Task.checkCancellation()
            return (Int(response.status.code), bytes)
          }
        } catch EtcdError.unanswered where !passage.isSent.load(ordering: .relaxed) {
          throw .unreachable
        } catch EtcdError.untrusted {
          throw .untrusted(isSent: passage.isSent.load(ordering: .relaxed))
        }
      }

      /// When an answer was made, by the server's clock, in milliseconds since 1970; `nil` if it does not say so.
      func date(_ address: String, within time: Duration) async -> UInt64? {
        var request = request(address, nil)
        request.body = .bytes(ByteBuffer(string: "{}"))
        guard let response = try? await Self.http.execute(request, timeout: TimeAmount(time)),
          let text = response.headers.first(name: "date")
        else { return nil }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        format.timeZone = TimeZone(identifier: "GMT")
        guard let date = format.date(from: text) else { return nil }
        return UInt64(exactly: (date.timeIntervalSince1970 * 1_000).rounded())
      }

      /// Hands over each line of the answer.
      ///
      /// - Parameters:
      ///   - limit: the most bytes of a line.
      ///   - time: for the answer to begin.
      func lines(
        _ address: String, _ body: [UInt8], _ token: String?, limit: Int, within time: Duration,
        _ consume: ([UInt8]) async throws(EtcdError) -> Void
      ) async throws(EtcdError) {
        var request = request(address, token)
        request.body = .bytes(ByteBuffer(bytes: body))
        do {
          let response = try await Self.http.execute(request, timeout: TimeAmount(time))
          guard response.status == .ok else { throw EtcdError.malformed }
          var line: [UInt8] = []
          for try await buffer in response.body {
            for piece in buffer.readableBytesView.split(
              separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
            ).enumerated() {
              if piece.offset > 0 {
                if !line.isEmpty { try await consume(line) }
                line = []
              }
              guard line.count + piece.element.count <= limit else { throw EtcdError.answerTooLarge }
              line.append(contentsOf: piece.element)
            }
          }
        } catch {
          throw Self.meaning(of: error)
        }
      }

      private func request(_ address: String, _ token: String?) -> HTTPClientRequest {
        var request = HTTPClientRequest(url: address)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/json")
        if let token { request.headers.add(name: "authorization", value: token) }
        request.tlsConfiguration = security
        return request
      }

      /// The body, which is asked for in one piece once a server is connected, and how much of the answer has come.
      private final class Passage: AsyncSequence, Sendable {
        private let body: ByteBuffer
        let isSent = Atomic<Bool>(false)
        let receivedCount = Atomic<Int>(0)

        init(body: [UInt8]) { self.body = ByteBuffer(bytes: body) }

        struct Iterator: AsyncIteratorProtocol {
          fileprivate var piece: ByteBuffer?

          mutating func next() async -> ByteBuffer? { piece.take() }
        }

        func makeAsyncIterator() -> Iterator {
          isSent.store(true, ordering: .relaxed)
          return Iterator(piece: body)
        }
      }

      /// The result of `work`, or ``EtcdError/unanswered`` if it is not there at its end, which may move.
      private static func limited<Result: Sendable>(
        to end: @escaping @Sendable () -> ContinuousClock.Instant,
        work: @escaping @concurrent @Sendable () async throws -> Result
      ) async throws(EtcdError) -> Result {
        do {
          return try await withThrowingTaskGroup(of: Result.self) { tasks in
            tasks.addTask(operation: work)
            tasks.addTask {
              while ContinuousClock.now < end() { try await Task.sleep(until: end(), clock: .continuous) }
              throw EtcdError.unanswered
            }
            defer { tasks.cancelAll() }
            guard let first = try await tasks.next() else { throw EtcdError.unanswered }
            return first
          }
        } catch {
          throw meaning(of: error)
        }
      }

      private static func meaning(of error: any Error) -> EtcdError {
        switch error {
        case let error as EtcdError: error
        case is NIOConnectionError, ChannelError.connectTimeout, is SocketAddressError: .unreachable
        case let error as IOError where error.errnoCode == ECONNREFUSED: .unreachable
        case let error as HTTPClientError where error == .connectTimeout || error == .getConnectionFromPoolTimeout:
          .unreachable
        case let error as HTTPClientError where error == .tlsHandshakeTimeout: .untrusted(isSent: false)
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError: .untrusted(isSent: false)
        case is HTTPParserError: .malformed
        default: .unanswered
        }
      }
    }
  }
#endif
