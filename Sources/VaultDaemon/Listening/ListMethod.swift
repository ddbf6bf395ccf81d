#if Daemon
  import NIOCore

  /// Lets the method LIST of HashiCorp's interface through NIO's HTTP parser, which does not know it.
  ///
  /// It replaces LIST with LINK (RFC 2068), which the parser knows, which has the same length, and which nothing here
  /// uses otherwise; a client that sends LINK itself gets the answer to LIST. Only the first word of a request is
  /// replaced. The parser decides where a request begins: it is behind this handler and gets all bytes before a
  /// possible LIST first, the last of them alone. Only if that byte has ended a request is the next word replaced. So
  /// lengths and chunks are not parsed a second time, possibly differently.
  final class ListMethod: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let word = Array("LIST ".utf8)
    private static let replacement = Array("LINK ".utf8)

    private static let wordsInsideLimit = 1_000

    private let watch: RequestWatch
    /// How often the word has occurred inside requests since the last request that began with it.
    private var wordsInside = 0
    /// Bytes at the end that may be the beginning of LIST, shorter than the word.
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
        // No request begins inside a body of known length, so those bytes need no search. The last byte is searched,
        // because it ends the request.
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
          // Inside a request, the word is passed on as it is; the next candidate can only begin after its first letter.
          // A head or a chunked body that is full of the word is not worth the work.
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

    /// Passes the next `count` bytes to the parser, the last of them alone.
    private func pass(_ bytes: inout ByteBuffer, _ count: Int, _ context: ChannelHandlerContext) {
      for piece in [count - 1, 1] where piece > 0 && count > 0 {
        guard let slice = bytes.readSlice(length: piece) else { continue }
        watch.willParse()
        context.fireChannelRead(wrapInboundOut(slice))
      }
    }

    /// The distance to the first occurrence of the word, or to a beginning of it at the end of the bytes.
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
