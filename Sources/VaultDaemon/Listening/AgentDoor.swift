#if Daemon
  import Glibc
  import NIOCore
  import NIOPosix
  import ServiceLifecycle

  /// Accepts connections of SSH clients on one socket. Each message has its length before it and is answered in turn.
  struct AgentDoor: Service {
    let socket: ListeningSocket
    let manager: ServiceManager
    let usesPeerDescriptors: Bool
    let connections: Connections
    let answer: @Sendable (ByteBuffer, Peer) async -> ByteBuffer

    func run() async throws {
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // A client that has finished sending may still wait for the answer.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.keepFromPrograms()
            let peer = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self)
            {
              Peer(of: $0, usesDescriptor: usesPeerDescriptors, manager: manager)
            }
            guard let peer, let peer, connections.enter(peer) else { throw ChannelError.eof }
            channel.closeFuture.whenComplete { _ in connections.leave(peer) }
            try channel.pipeline.syncOperations.addHandler(AgentMessages { await answer($0, peer) })
          }
        }
        .withBoundSocket(socket.descriptor).get()
      socket.lengthenQueue()
      try? await gracefulShutdown()
      try? await server.close()
    }
  }

  /// Splits the stream into messages and answers them one after the other.
  private final class AgentMessages: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// In bytes, the same as in OpenSSH's own agent.
    private static let limit = 256 * 1_024

    private let answer: @Sendable (ByteBuffer) async -> ByteBuffer
    private var waiting = ByteBuffer()
    private var answering: Task<Void, Never>?
    /// Whether the client has finished sending.
    private var hasEnded = false

    init(_ answer: @escaping @Sendable (ByteBuffer) async -> ByteBuffer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      waiting.writeBuffer(&bytes)
      guard waiting.readableBytes <= 2 * Self.limit else { return context.close(promise: nil) }
      answerNext(context)
    }

    private func answerNext(_ context: ChannelHandlerContext) {
      guard answering == nil else { return }
      let length = waiting.getInteger(at: waiting.readerIndex, as: UInt32.self)
      if let length, !(1...UInt32(Self.limit)).contains(length) { return context.close(promise: nil) }
      guard let length, waiting.readableBytes >= 4 + Int(length) else {
        if hasEnded { context.close(promise: nil) }
        return
      }
      waiting.moveReaderIndex(forwardBy: 4)
      guard let message = waiting.readSlice(length: Int(length)) else { return }
      waiting.discardReadBytes()
      let eventLoop = context.eventLoop
      let bound = NIOLoopBound((handler: self, context: context), eventLoop: eventLoop)
      answering = Task { [answer] in
        let answer = await answer(message)
        eventLoop.execute {
          var framed = ByteBuffer(integer: UInt32(answer.readableBytes))
          framed.writeImmutableBuffer(answer)
          let (handler, context) = bound.value
          context.writeAndFlush(handler.wrapOutboundOut(framed)).whenComplete { _ in
            let (handler, context) = bound.value
            handler.answering = nil
            handler.answerNext(context)
          }
        }
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event as? ChannelEvent == .inputClosed {
        hasEnded = true
        answerNext(context)
      }
      context.fireUserInboundEventTriggered(event)
    }

    /// Cancels a prompt whose client has disconnected.
    func channelInactive(context: ChannelHandlerContext) {
      answering?.cancel()
      context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
