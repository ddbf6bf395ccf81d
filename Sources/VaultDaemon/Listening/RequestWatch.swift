#if Daemon
  import HTTPTypes
  import NIOCore
  import NIOHTTPTypes

  /// Watches the requests and answers of one connection: knows where a request ends, and closes the connection if a request
  /// is too long or arrives too slowly, or if its answer is not taken.
  final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: Limits
    private var context: ChannelHandlerContext?
    /// Whether the last byte that was parsed ended a request, or none was parsed yet.
    private(set) var isBetweenRequests = true
    private var bodyCount = 0
    /// How many bytes of the body are still to come, if the head said how long it is.
    private(set) var remainingBody = 0
    private var requestDeadline: NIODeadline?
    private var answerDeadline: NIODeadline?
    private var waitingWrites = 0
    private var timer: Scheduled<Void>?

    init(_ limits: Limits) { self.limits = limits }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
      self.context = nil
      timer?.cancel()
      timer = nil
    }

    /// The next byte goes to the parser.
    func willParse() {
      if isBetweenRequests, requestDeadline == nil { requestDeadline = deadline() }
      isBetweenRequests = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        bodyCount = 0
        remainingBody = head.headerFields[.contentLength].flatMap { Int($0) } ?? 0
      case .body(let bytes):
        bodyCount += bytes.readableBytes
        remainingBody -= bytes.readableBytes
        // An answer says that a body is too long; this is for clients that do not stop.
        if bodyCount > 2 * limits.body { return context.close(promise: nil) }
      case .end:
        isBetweenRequests = true
        remainingBody = 0
        requestDeadline = nil
      }
      context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      waitingWrites += 1
      if answerDeadline == nil { answerDeadline = deadline() }
      let written = promise ?? context.eventLoop.makePromise()
      let watch = NIOLoopBound(self, eventLoop: context.eventLoop)
      written.futureResult.whenComplete { _ in
        watch.value.waitingWrites -= 1
        watch.value.answerDeadline = watch.value.waitingWrites == 0 ? nil : watch.value.deadline()
      }
      context.write(data, promise: written)
    }

    /// The end of the time for what begins now.
    private func deadline() -> NIODeadline {
      let deadline = NIODeadline.now() + TimeAmount(limits.transfer)
      if timer == nil { schedule(deadline) }
      return deadline
    }

    private func schedule(_ deadline: NIODeadline) {
      guard let context else { return }
      let watch = NIOLoopBound(self, eventLoop: context.eventLoop)
      timer = context.eventLoop.scheduleTask(deadline: deadline) { watch.value.check() }
    }

    /// One timer serves all requests of the connection: what ended meanwhile needs no timer of its own to be cancelled.
    private func check() {
      timer = nil
      guard let context, let next = [requestDeadline, answerDeadline].compactMap(\.self).min() else { return }
      if next <= .now() { context.close(promise: nil) } else { schedule(next) }
    }
  }
#endif
