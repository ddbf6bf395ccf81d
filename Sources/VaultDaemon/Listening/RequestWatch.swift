#if Daemon
  import HTTPTypes
  import NIOCore
  import NIOHTTPTypes
  import VaultFoundation

  /// Watches the requests and answers of one connection. It knows where a request ends, and closes the connection if a
  /// request is too long or arrives too slowly, or if the client does not read the answer.
  final class RequestWatch: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let limits: Limits
    /// Whether the caller is unknown before the first request.
    private let isStranger: Bool
    private var context: ChannelHandlerContext?
    /// Whether the last parsed byte ended a request, or nothing has been parsed yet.
    private(set) var isBetweenRequests = true
    private var bodyCount = 0
    private var takesCommit = false
    /// How many bytes of the body are still to come, if the head gave its length.
    private(set) var remainingBody = 0
    /// The deadline for the first byte of the first request, which with TLS comes after the handshake.
    private var firstDeadline: NIODeadline?
    private var requestDeadline: NIODeadline?
    private var answerDeadline: NIODeadline?
    private var waitingWrites = 0
    private var allWritten: [EventLoopPromise<Void>] = []
    private var timer: Scheduled<Void>?

    init(_ limits: Limits, isStranger: Bool = false) { (self.limits, self.isStranger) = (limits, isStranger) }

    func handlerAdded(context: ChannelHandlerContext) {
      self.context = context
      if isStranger { firstDeadline = deadline(in: limits.handshake) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
      self.context = nil
      timer?.cancel()
      timer = nil
    }

    /// Must be called before the next byte goes to the parser.
    func willParse() {
      if isBetweenRequests, requestDeadline == nil { requestDeadline = deadline(in: limits.transfer) }
      firstDeadline = nil
      isBetweenRequests = false
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head):
        bodyCount = 0
        takesCommit = ["commit", "commit-again"].contains { head.path?.hasPrefix("/vault/1/\($0)/") ?? false }
        remainingBody = head.headerFields[.contentLength].flatMap { Int($0) } ?? 0
      case .body(let bytes):
        bodyCount += bytes.readableBytes
        remainingBody -= bytes.readableBytes
        // Clients get an answer saying that the body is too long. This limit is for clients that go on sending.
        let limit = takesCommit ? max(limits.body, GroupCommit.byteLimit) : limits.body
        if bodyCount > 2 * limit { return context.close(promise: nil) }
      case .end:
        isBetweenRequests = true
        remainingBody = 0
        requestDeadline = nil
      }
      context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
      waitingWrites += 1
      if answerDeadline == nil { answerDeadline = deadline(in: limits.transfer) }
      let written = promise ?? context.eventLoop.makePromise()
      let watch = NIOLoopBound(self, eventLoop: context.eventLoop)
      written.futureResult.whenComplete { _ in
        watch.value.waitingWrites -= 1
        watch.value.answerDeadline =
          watch.value.waitingWrites == 0 ? nil : watch.value.deadline(in: watch.value.limits.transfer)
        watch.value.settleWrites()
      }
      context.write(data, promise: written)
    }

    /// Waits until the client has taken all that was written, or the connection is closed.
    func waitForWrites(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
      let promise = eventLoop.makePromise(of: Void.self)
      allWritten.append(promise)
      settleWrites()
      return promise.futureResult
    }

    private func settleWrites() {
      guard waitingWrites == 0 else { return }
      for promise in allWritten { promise.succeed() }
      allWritten = []
    }

    /// The deadline for something that begins now.
    private func deadline(in time: Duration) -> NIODeadline {
      let deadline = NIODeadline.now() + TimeAmount(time)
      if timer == nil { schedule(deadline) }
      return deadline
    }

    private func schedule(_ deadline: NIODeadline) {
      guard let context else { return }
      let watch = NIOLoopBound(self, eventLoop: context.eventLoop)
      timer = context.eventLoop.scheduleTask(deadline: deadline) { watch.value.check() }
    }

    /// One timer serves all requests of the connection, so a request that ends needs no timer of its own to be
    /// cancelled.
    private func check() {
      timer = nil
      guard let context, let next = [firstDeadline, requestDeadline, answerDeadline].compactMap(\.self).min() else {
        return
      }
      if next <= .now() { context.close(promise: nil) } else { schedule(next) }
    }
  }
#endif
