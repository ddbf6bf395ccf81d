#if Daemon
  import Glibc
  import NIOCore
  import ServiceLifecycle

  /// Accepts connections of SSH clients on one socket. Each message has its length before it and is answered in turn. A
  /// graceful shutdown accepts no more connections and sends the answers that have begun.
  struct AgentDoor: Service {
    let socket: ListeningSocket
    let manager: ServiceManager
    let usesPeerDescriptors: Bool
    let limits: Limits
    let connections: Connections
    let bodies: BodyBudget
    let answer: @Sendable (ByteBuffer, Peer) async -> ByteBuffer

    func run() async throws {
      try await socket.accept(
        { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.keepFromPrograms()
            let peer = try channel.peer(usesDescriptor: usesPeerDescriptors, manager: manager)
            guard let place = connections.enter(peer) else { throw ChannelError.eof }
            let messages = AgentMessages(limits, bodies, of: peer.key) { message in
              defer { withExtendedLifetime(place) {} }
              return await answer(message, peer)
            }
            try channel.pipeline.syncOperations.addHandlers(FirstRequest(), messages)
            return channel
          }
        }, serve: { try? await $0.closeFuture.get() })
    }
  }

  /// Splits the stream into messages and answers them one after the other. It closes the connection if nothing comes
  /// for a long time, if a message arrives too slowly, or if the client does not read the answer.
  private final class AgentMessages: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// In bytes, the same as in OpenSSH's own agent.
    private static let limit = 256 * 1_024

    private let limits: Limits
    private let bodies: BodyBudget
    private let caller: String
    private let answer: @Sendable (ByteBuffer) async -> ByteBuffer
    private var waiting = ByteBuffer()
    /// The bytes that have arrived and are not yet answered, as they are counted for the caller.
    private var held = 0
    private var answering: Task<Void, Never>?
    /// Whether only the messages that have arrived are still answered, because the client has finished sending or the
    /// daemon ends.
    private var hasEnded = false
    /// Closes the connection. There is none while the client waits for an answer.
    private var timer: Scheduled<Void>?
    /// Whether the timer is that of a message that has begun.
    private var hasBegun = false

    init(
      _ limits: Limits, _ bodies: BodyBudget, of caller: String,
      _ answer: @escaping @Sendable (ByteBuffer) async -> ByteBuffer
    ) {
      (self.limits, self.bodies, self.caller, self.answer) = (limits, bodies, caller, answer)
    }

    func handlerAdded(context: ChannelHandlerContext) { limit(limits.idle, context) }

    func handlerRemoved(context: ChannelHandlerContext) {
      timer?.cancel()
      giveBack(held)
    }

    private func giveBack(_ count: Int) {
      // Nothing is held any more once the connection is closed.
      let count = min(count, held)
      held -= count
      bodies.giveBack(count, of: caller)
    }

    /// Gives the client this time for what it does next.
    private func limit(_ time: Duration, _ context: ChannelHandlerContext) {
      timer?.cancel()
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      timer = context.eventLoop.scheduleTask(in: TimeAmount(time)) { bound.value.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      let count = bytes.readableBytes
      guard held + count <= 2 * Self.limit, bodies.take(count, for: caller) else { return context.close(promise: nil) }
      held += count
      waiting.writeBuffer(&bytes)
      answerNext(context)
    }

    private func answerNext(_ context: ChannelHandlerContext) {
      guard answering == nil else { return }
      let length = waiting.getInteger(at: waiting.readerIndex, as: UInt32.self)
      if let length, !(1...UInt32(Self.limit)).contains(length) { return context.close(promise: nil) }
      guard let length, waiting.readableBytes >= 4 + Int(length) else {
        if hasEnded { return context.close(promise: nil) }
        let begins = waiting.readableBytes > 0
        // The time of a message does not begin again with each of its parts.
        if !begins || !hasBegun { limit(begins ? limits.transfer : limits.idle, context) }
        hasBegun = begins
        return
      }
      timer?.cancel()
      hasBegun = false
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
          guard context.channel.isActive else { return }
          handler.limit(handler.limits.transfer, context)
          context.writeAndFlush(handler.wrapOutboundOut(framed)).whenComplete { _ in
            let (handler, context) = bound.value
            handler.giveBack(4 + Int(length))
            handler.answering = nil
            handler.answerNext(context)
          }
        }
      }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if event as? ChannelEvent == .inputClosed || event is ChannelShouldQuiesceEvent {
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
