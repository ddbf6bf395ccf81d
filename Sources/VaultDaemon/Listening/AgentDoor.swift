#if Daemon
  import Glibc
  import NIOCore
  import NIOPosix
  import ServiceLifecycle

  /// Accepts connections of `ssh` and its kin on one socket: messages with their length before them, each answered in turn.
  struct AgentDoor: Service {
    let socket: ListeningSocket
    let manager: ServiceManager
    let usesPeerDescriptors: Bool
    let connections: Connections
    let answer: @Sendable (ByteBuffer, Peer) async -> ByteBuffer

    func run() async throws {
      let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
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

  /// Takes messages apart, and answers one after the other.
  private final class AgentMessages: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// In bytes, as OpenSSH's own agent has it.
    private static let limit = 256 * 1_024

    private let answer: @Sendable (ByteBuffer) async -> ByteBuffer
    private var waiting = ByteBuffer()
    private var isAnswering = false

    init(_ answer: @escaping @Sendable (ByteBuffer) async -> ByteBuffer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      waiting.writeBuffer(&bytes)
      guard waiting.readableBytes <= 2 * Self.limit else { return context.close(promise: nil) }
      answerNext(context)
    }

    private func answerNext(_ context: ChannelHandlerContext) {
      guard !isAnswering, let length = waiting.getInteger(at: waiting.readerIndex, as: UInt32.self) else { return }
      guard (1...UInt32(Self.limit)).contains(length) else { return context.close(promise: nil) }
      guard waiting.readableBytes >= 4 + Int(length) else { return }
      waiting.moveReaderIndex(forwardBy: 4)
      guard let message = waiting.readSlice(length: Int(length)) else { return }
      waiting.discardReadBytes()
      isAnswering = true
      let (bound, boundContext) = (
        NIOLoopBound(self, eventLoop: context.eventLoop), NIOLoopBound(context, eventLoop: context.eventLoop)
      )
      context.eventLoop.makeFutureWithTask { [answer] in await answer(message) }.whenSuccess { answer in
        let (handler, context) = (bound.value, boundContext.value)
        var framed = ByteBuffer(integer: UInt32(answer.readableBytes))
        framed.writeImmutableBuffer(answer)
        context.writeAndFlush(handler.wrapOutboundOut(framed), promise: nil)
        handler.isAnswering = false
        handler.answerNext(context)
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
#endif
