#if Daemon
  import NIOCore
  import NIOHTTP1

  /// Lets a client go on that sends its body only after it was asked to, and closes the connection after the answer to
  /// an HTTP/1.0 request, whose client may wait for the end of the connection.
  final class RequestHead: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
      if head.version == .http1_1, head.headers["Expect"].contains(where: { $0.lowercased() == "100-continue" }) {
        let goOn = HTTPResponseHead(version: .http1_1, status: .continue)
        context.writeAndFlush(wrapOutboundOut(.head(goOn)), promise: nil)
      }
      if head.version != .http1_1 || !head.isKeepAlive {
        // The only value on which the handlers behind this one close the connection.
        head.headers.replaceOrAdd(name: "Connection", value: "close")
      }
      context.fireChannelRead(wrapInboundOut(.head(head)))
    }
  }

  /// Lets a connection that was accepted just before the shutdown send its first request. Without this, the handlers
  /// behind it would see an idle connection and close it, and the client would have to ask again.
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
