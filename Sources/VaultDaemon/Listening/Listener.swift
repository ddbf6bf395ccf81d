#if Daemon
  import Glibc
  import Hummingbird
  import HummingbirdCore
  import Logging
  import NIOCore
  import NIOHTTP1
  import NIOHTTPTypes
  import NIOHTTPTypesHTTP1
  import NIOSSL
  import ServiceLifecycle
  import VaultFoundation

  /// Accepts connections on one socket and answers HTTP on them. A graceful shutdown answers the requests that have
  /// begun.
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
      try await socket.accept(setUp) { await $0.http.handle(value: $0.channel, logger: logger) }
    }

    private struct Accepted: Sendable {
      let http: HTTP1Channel
      let channel: HTTP1Channel.Value
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
            var connection = connection
            connection.isOpen = { channel.isActive }
            return await answer(request, connection)
          }
          let response = try await answered()
          try await writer.write(response: response.head, body: response.body)
          // A large answer counts until the client has taken it, or is gone.
          guard response.largeSize != nil else { return }
          try await bound.eventLoop.flatSubmit { bound.value.waitForWrites(on: bound.eventLoop) }.get()
          withExtendedLifetime(response) {}
        }, configuration: configuration)
      return http.setup(channel: channel, logger: logger).flatMapThrowing { value in
        let codec = try channel.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)
        try channel.pipeline.syncOperations.addHandler(RequestHead(), position: .before(codec))
        return Accepted(http: http, channel: value)
      }
    }
  }

  /// The connection that a request came on.
  struct Connection: Sendable {
    let peer: Peer
    /// Whether somebody may still want an answer.
    var isOpen: @Sendable () -> Bool = { true }
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

  extension Channel {
    /// Keeps the connection from programs that the daemon starts, such as pinentry: they would hold it open for as long as
    /// they run, and NIO accepts it so that they inherit it. Called on the event loop.
    func keepFromPrograms() throws {
      try pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        _ = fcntl($0, F_SETFD, FD_CLOEXEC)
      }
    }

    /// The process at the other end of a Unix socket. Called on the event loop.
    ///
    /// - Throws: `eof` if the connection has ended.
    func peer(usesDescriptor: Bool, manager: ServiceManager) throws -> Peer {
      let peer = try pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) {
        Peer(of: $0, usesDescriptor: usesDescriptor, manager: manager)
      }
      guard let peer, let peer else { throw ChannelError.eof }
      return peer
    }
  }
#endif
