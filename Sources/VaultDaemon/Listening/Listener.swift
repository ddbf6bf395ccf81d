#if Daemon
  import Glibc
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import NIOExtras
  import NIOHTTP1
  import NIOHTTPTypes
  import NIOHTTPTypesHTTP1
  import NIOPosix
  import NIOSSL
  import ServiceLifecycle
  import Synchronization
  import VaultFoundation

  /// Accepts connections on one socket and answers HTTP on them. A graceful shutdown accepts no more connections and
  /// answers the requests that have begun.
  ///
  /// Hummingbird's own server binds its socket itself. This one can take it from systemd, and sees each connection
  /// before the first byte of HTTP is read.
  struct Listener: Service {
    typealias Answer = @Sendable (Request, Connection) async -> Response

    let socket: ListeningSocket
    let limits: Limits
    let connections: Connections
    let logger: Logger
    /// Asks the kernel who is at the other end; called once for each connection.
    let identify: @Sendable (any Channel) -> EventLoopFuture<Peer>
    /// Returns what TLS needs; called for each connection over TCP.
    let secure: @Sendable () async throws -> TLSIdentity.Security
    let answer: Answer

    func run() async throws {
      let group = MultiThreadedEventLoopGroup.singleton
      let quiescing = ServerQuiescingHelper(group: group)
      let server = try await quiescing.bootstrap(group)
        .bind(socket.descriptor) { channel in setUp(channel).map(Pending.init) }
      socket.lengthenQueue()
      await withGracefulShutdownHandler {
        await withDiscardingTaskGroup { tasks in
          do {
            try await server.executeThenClose { inbound in
              for try await pending in inbound {
                guard let accepted = pending.take() else { continue }
                tasks.addTask { await accepted.http.handle(value: accepted.channel, logger: logger) }
              }
            }
          } catch {
            logger.error("no more connections are accepted", metadata: ["error": "\(type(of: error))"])
          }
        }
      } onGracefulShutdown: {
        quiescing.end(server.channel, promise: nil)
      }
    }

    private struct Accepted: Sendable {
      let http: HTTP1Channel
      let channel: HTTP1Channel.Value
    }

    /// A connection that has been accepted but not yet taken over. If the listener ends at that moment, the connection
    /// must be closed explicitly: an async channel that is only released ends the process.
    private final class Pending: Sendable {
      private let accepted: Mutex<Accepted?>

      init(_ accepted: Accepted?) { self.accepted = Mutex(accepted) }

      func take() -> Accepted? { accepted.withLock { $0.take() } }

      deinit {
        guard let left = take() else { return }
        Task { try? await left.channel.executeThenClose { _, _ in } }
      }
    }

    /// - Returns: `nil` for a connection that is closed at once.
    private func setUp(_ channel: any Channel) -> EventLoopFuture<Accepted?> {
      channel.eventLoop.makeCompletedFuture { try channel.keepFromPrograms() }.flatMap { identify(channel) }.flatMap {
        peer in
        guard let place = connections.enter(peer) else { return channel.close().map { nil } }
        channel.closeFuture.whenComplete { _ in withExtendedLifetime(place) {} }
        guard socket.kind == .tcp else { return accept(channel, Connection(peer: peer), place).map { $0 } }
        return channel.eventLoop.makeFutureWithTask(secure).flatMapThrowing { security in
          try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security.context))
          return Connection(peer: peer, secured: (channel, security.authorities))
        }.flatMap { accept(channel, $0, place).map { $0 } }
      }.flatMapError { _ in channel.close().map { nil } }
    }

    private func accept(
      _ channel: any Channel, _ connection: Connection, _ place: Connections.Place
    ) -> EventLoopFuture<Accepted> {
      let watch = RequestWatch(limits, isStranger: connection.isTLS)
      do { try channel.pipeline.syncOperations.addHandlers(FirstRequest(), ListMethod(watch)) } catch {
        return channel.eventLoop.makeFailedFuture(error)
      }
      let bound = NIOLoopBound(watch, eventLoop: channel.eventLoop)
      let configuration = HTTP1Channel.Configuration(
        additionalChannelHandlers: [bound.value], idleTimeout: TimeAmount(limits.idle),
        httpDecoderConfiguration: .init(
          maxHeaderFieldSize: limits.header, maxHeaderListSize: limits.header, maxHeaderFieldCount: 100))
      let http = HTTP1Channel(
        responder: { [answer, weak place] (request, writer, _) in
          // A stream notices late that its connection is closed, so it counts only until it begins.
          func answered() async throws -> Response {
            // Nobody waits for an answer any more if the connection is closed.
            guard let place else { throw ChannelError.alreadyClosed }
            defer { withExtendedLifetime(place) {} }
            return await answer(request, connection)
          }
          let response = try await answered()
          try await writer.write(response: response.head, body: response.body)
        }, configuration: configuration)
      return http.setup(channel: channel, logger: logger).flatMapThrowing { value in
        let codec = try channel.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)
        try channel.pipeline.syncOperations.addHandler(RequestHead(), position: .before(codec))
        return Accepted(http: http, channel: value)
      }
    }
  }

  extension ServerQuiescingHelper {
    /// Accepts connections that ``end(_:promise:)`` closes.
    func bootstrap(_ group: any EventLoopGroup) -> ServerBootstrap {
      ServerBootstrap(group: group)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(self.makeServerChannelHandler(channel: channel))
          }
        }
        // A client that has finished sending may still wait for the answer.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
    }

    /// Accepts no more connections, and closes those that are idle or have been answered.
    ///
    /// - Parameter promise: kept when all connections are closed.
    func end(_ server: any Channel, promise: EventLoopPromise<Void>?) {
      server.acceptNoMore { self.initiateShutdown(promise: promise) }
    }
  }

  extension Channel {
    /// Accepts no more connections on this listening channel, and lets the accepted ones get their handlers: closing it
    /// would close those that have none yet. The others wait in the socket's queue for the next process that listens.
    ///
    /// - Parameter end: called after that, on the event loop.
    func acceptNoMore(_ end: @escaping @Sendable () -> Void) {
      setOption(.autoRead, value: false).whenComplete { [eventLoop] _ in
        eventLoop.scheduleTask(in: .milliseconds(100)) {
          // A connection gets its handlers on its own event loop, which may be late.
          let loops = MultiThreadedEventLoopGroup.singleton.makeIterator().map { $0.submit {} }
          EventLoopFuture.andAllComplete(loops, on: eventLoop).whenComplete { _ in end() }
        }
      }
    }
  }

  /// The connection that a request came on.
  struct Connection: Sendable {
    let peer: Peer
    /// For a connection with TLS: its channel, and the authorities that a client's certificate was verified with.
    private let secured: (channel: any Channel, authorities: String?)?

    init(peer: Peer, secured: (channel: any Channel, authorities: String?)? = nil) {
      (self.peer, self.secured) = (peer, secured)
    }

    var isTLS: Bool { secured != nil }

    /// The client's certificate, if it was verified with these authorities and has not expired since.
    func certificate(signedBy authorities: String?) async -> ClientCertificate? {
      guard let secured, let authorities, secured.authorities == authorities,
        let shown = try? await secured.channel.nioSSL_peerCertificate().get(),
        let certificate = try? ClientCertificate(shown), Timestamp.now < certificate.expires
      else { return nil }
      return certificate
    }
  }

  /// Limits for one client. Anything beyond them is refused or closed.
  struct Limits: Sendable {
    var connections = 4_096
    var connectionsPerUser = 1_024
    /// How many requests of one application, user or address may be refused in a minute.
    var failuresPerMinute = 600
    /// In bytes, of all header fields together.
    var header = 32 * 1_024
    /// In bytes: the largest value, escaped in JSON, fits.
    var body = 8 * 1_024 * 1_024
    /// In bytes, of the bodies of all callers together, from their arrival to their answers.
    var bodies = 64 * 1_024 * 1_024
    /// In bytes, for a caller without a binding or token, who can only log in.
    var strangersBody = 64 * 1_024
    /// How long a connection may be silent between two requests.
    var idle = Duration.seconds(300)
    /// How long a connection over TCP may take to agree on TLS and begin its first request.
    var handshake = Duration.seconds(10)
    /// How long it may take to receive a request, and to send an answer.
    var transfer = Duration.seconds(30)

    init() {}
  }
#endif
