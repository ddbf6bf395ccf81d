#if Daemon
  import NIOCore

  /// Lets the method LIST of HashiCorp's interface through NIO's HTTP parser, which does not know it.
  ///
  /// It writes LINK (RFC 2068), which the parser knows, which is as long, and which nothing here uses otherwise: a client that
  /// sends LINK itself gets the answer of LIST. Only the first word of a request is changed. Where a request begins, the
  /// parser says: it stands behind this handler, the bytes before a possible LIST are given to it first, the last one of them
  /// alone, and only if that byte has ended a request is the next one changed. So there is no second reading of lengths
  /// and chunks that could differ from the parser's.
  final class ListMethod: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let word = Array("LIST ".utf8)
    private static let replacement = Array("LINK ".utf8)

    private static let wordsInsideLimit = 1_000

    private let watch: RequestWatch
    /// How often the word stood inside requests since the last one that began with it.
    private var wordsInside = 0
    /// The beginning of a request that may become LIST: shorter than the word.
    private var held: ByteBuffer?

    init(_ watch: RequestWatch) { self.watch = watch }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      if var held {
        self.held = nil
        held.writeBuffer(&bytes)
        bytes = held
      }
      while bytes.readableBytes > 0 {
        // Inside a body whose length is known, no request begins: those bytes need no look. The last one is left to the
        // search, because it ends the request.
        if watch.remainingBody > 1 {
          pass(&bytes, min(watch.remainingBody - 1, bytes.readableBytes), context)
          continue
        }
        guard let distance = Self.candidate(in: bytes) else {
          pass(&bytes, bytes.readableBytes, context)
          return
        }
        pass(&bytes, distance, context)
        let isPart = bytes.readableBytes < Self.word.count
        guard watch.isBetweenRequests else {
          // The word inside a request is passed as it is; the next candidate can only begin behind its first letter. A head
          // or a body in chunks that is full of it is not worth the work.
          wordsInside += 1
          guard wordsInside <= Self.wordsInsideLimit else { return context.close(promise: nil) }
          pass(&bytes, 1, context)
          continue
        }
        guard !isPart else {
          held = bytes
          return
        }
        wordsInside = 0
        bytes.setBytes(Self.replacement, at: bytes.readerIndex)
        pass(&bytes, Self.word.count, context)
      }
    }

    /// Gives the next `count` bytes to the parser, the last of them alone.
    private func pass(_ bytes: inout ByteBuffer, _ count: Int, _ context: ChannelHandlerContext) {
      for piece in [count - 1, 1] where piece > 0 && count > 0 {
        guard let slice = bytes.readSlice(length: piece) else { continue }
        watch.willParse()
        context.fireChannelRead(wrapInboundOut(slice))
      }
    }

    /// The distance to the first place where the word stands, or where the bytes end with a beginning of it.
    private static func candidate(in bytes: ByteBuffer) -> Int? {
      unsafe bytes.withUnsafeReadableBytes { raw in
        var start = 0
        while start < raw.count {
          let length = min(word.count, raw.count - start)
          if unsafe raw[start] == word[0], unsafe raw[start..<start + length].elementsEqual(word[..<length]) {
            return start
          }
          start += 1
        }
        return nil
      }
    }

    private func release(_ context: ChannelHandlerContext) {
      guard let held else { return }
      self.held = nil
      watch.willParse()
      context.fireChannelRead(wrapInboundOut(held))
    }

    func channelInactive(context: ChannelHandlerContext) {
      release(context)
      context.fireChannelInactive()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if case ChannelEvent.inputClosed = event { release(context) }
      context.fireUserInboundEventTriggered(event)
    }
  }
#endif
