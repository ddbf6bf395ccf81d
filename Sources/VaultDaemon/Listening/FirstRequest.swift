#if Daemon
  import NIOCore

  /// Lets a connection that was accepted just before the end send its first request: without this, the handlers behind it
  /// would take it for an idle one and close it, and the client would have to ask again.
  final class FirstRequest: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let patience = TimeAmount.seconds(1)

    private var hasBegun = false
    private var isHeld = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      hasBegun = true
      context.fireChannelRead(data)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      context.fireChannelReadComplete()
      if hasBegun { release(context) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      guard event is ChannelShouldQuiesceEvent, !hasBegun else {
        return context.fireUserInboundEventTriggered(event)
      }
      isHeld = true
      let (bound, boundContext) = (
        NIOLoopBound(self, eventLoop: context.eventLoop), NIOLoopBound(context, eventLoop: context.eventLoop)
      )
      context.eventLoop.scheduleTask(in: Self.patience) { bound.value.release(boundContext.value) }
    }

    private func release(_ context: ChannelHandlerContext) {
      guard isHeld else { return }
      isHeld = false
      context.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }
  }
#endif
