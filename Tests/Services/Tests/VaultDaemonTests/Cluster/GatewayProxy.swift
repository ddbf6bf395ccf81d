import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

@testable import Sealing
@testable import VaultDaemon

/// A server between a client and etcd's gateway that lies, as its ``mode`` says.
///
/// It sees what a server sees: keys, values and answers. Modes can change between calls, also back to honesty.
final class GatewayProxy: Sendable {
  enum Mode: Sendable, Equatable {
    case honest
    /// Every question that was asked before is answered as the first time since this mode began; transactions seem to
    /// succeed and do nothing.
    case replay
    /// Watches say nothing, and everything else is honest.
    case silentWatch
    /// The pairs of an answer and the events of a watch come in the wrong order.
    case reorder
    /// Each value loses its second half.
    case truncate
    /// The answer ends in its middle.
    case cut
    /// In answers with several pairs each key has its neighbour's value.
    case swap
    /// The head has this value, wherever it is read.
    case forgeHead(Data)
    /// Lists of pairs begin with one that has this key.
    case insert(key: Data)
    /// A question for several keys whose first one begins like this is answered with so many new keys, each later than the
    /// ones before, after so many milliseconds. There are ``pageLimit`` such answers.
    case pages(Data, size: Int, pause: Int = 0)
    /// A request is carried out, and its answer never comes.
    case loseAnswer
    /// A request is not carried out, and no answer comes.
    case loseRequest
    /// Requests are carried out, and the connection is closed instead of an answer.
    case closeAfterwards
    /// Requests are carried out, and bytes come instead of an answer that are no record of TLS.
    case garble
    /// An answer of this many bytes a millisecond that never ends.
    case endless(Int)
    /// The answer comes, one byte in this many milliseconds.
    case slow(Int)
    /// An answer with this date, and nothing else.
    case dated(String)
    /// This instead of an answer.
    case answer(status: Int, String)
  }

  /// How many answers of ``Mode/pages(_:size:pause:)`` there are, so that a client that reads all of them ends, too.
  static let pageLimit = 1_200

  let port: Int
  private let upstream: String
  private let state: Mutex<(mode: Mode, known: [Data: Data], pageCount: Int)>
  private let channel: any Channel
  private let watches = Mutex((open: [Writer](), progress: Int64(0)))

  /// - Parameters:
  ///   - port: of etcd on loopback.
  ///   - security: for TLS with the clients.
  init(to port: Int, mode: Mode = .honest, security: TLSConfiguration? = nil) async throws {
    upstream = "http://127.0.0.1:\(port)"
    let security = try security.map { try NIOSSLContext(configuration: $0) }
    state = Mutex((mode, [:], 0))
    let owner = Owner()
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let security { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security)) }
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(
            Handler { body, path, headers, writer in
              guard let proxy = owner.proxy.withLock({ $0.value }) else { return writer.close() }
              await proxy.serve(path, headers, body, writer)
            })
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    self.port = channel.localAddress?.port ?? 0
    owner.proxy.withLock { $0.value = self }
  }

  deinit { channel.close(promise: nil) }

  var mode: Mode {
    get { state.withLock { $0.mode } }
    set { state.withLock { $0 = (newValue, [:], 0) } }
  }

  /// How many answers of ``Mode/pages(_:size:pause:)`` were given since the mode began.
  var pageCount: Int { state.withLock { $0.pageCount } }

  /// The newest revision that a watch was told without an event.
  var progress: Int64 { watches.withLock { $0.progress } }

  /// Ends the watches so far, after what they were told.
  func closeWatches() {
    let open = watches.withLock { watches in
      defer { watches.open = [] }
      return watches.open
    }
    for writer in open { writer.close() }
  }

  private final class Owner: Sendable {
    struct Reference: Sendable { weak var value: GatewayProxy? }
    let proxy = Mutex(Reference())
  }

  // MARK: One request

  private static let http: HTTPClient = {
    var configuration = HTTPClient.Configuration(timeout: .init(connect: .seconds(2)))
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
    return HTTPClient(eventLoopGroup: MultiThreadedEventLoopGroup.singleton, configuration: configuration)
  }()

  private func serve(_ path: String, _ headers: HTTPHeaders, _ body: Data, _ writer: Writer) async {
    do {
      switch mode {
      case .loseRequest: return
      case .dated(let date): return writer.answer(200, Data(), date: date)
      case .answer(let status, let text): return writer.answer(status, Data(text.utf8))
      case .endless(let count):
        writer.begin()
        while writer.isOpen {
          try await writer.write(Data(repeating: UInt8(ascii: "["), count: count))
          try await Task.sleep(for: .milliseconds(1))
        }
        return
      case .pages(let start, let size, let pause):
        guard let page = page(path, body, after: start, size) else { break }
        try await Task.sleep(for: .milliseconds(pause))
        return writer.answer(200, page)
      default: break
      }
      var request = HTTPClientRequest(url: upstream + path)
      request.method = .POST
      request.body = .bytes(ByteBuffer(bytes: body))
      if let token = headers.first(name: "authorization") { request.headers.add(name: "authorization", value: token) }
      if path == "/v3/watch" { return try await watch(request, writer) }
      if let known = remembered(path, body) { return writer.answer(200, known) }
      let response = try await Self.http.execute(request, timeout: .seconds(30))
      let answer = Data(buffer: try await response.body.collect(upTo: 64 << 20))
      try await give(Int(response.status.code), answer, path, body, writer)
    } catch {
      writer.close()
    }
  }

  /// What was answered to the same question; to a transaction or a put, that it was carried out.
  private func remembered(_ path: String, _ body: Data) -> Data? {
    let known = state.withLock { $0.mode == .replay ? $0.known[Data(path.utf8) + body] ?? Data() : nil }
    guard let known else { return nil }
    if !known.isEmpty { return known }
    let changes = path == "/v3/kv/put" || path == "/v3/kv/txn" && body.range(of: Data("requestPut".utf8)) != nil
    return changes ? Data(#"{"header":{"revision":"900000"},"succeeded":true}"#.utf8) : nil
  }

  /// The next keys that begin with `start`; `nil` for another question. As commits in parts they name 64 parts each.
  private func page(_ path: String, _ body: Data, after start: Data, _ size: Int) -> Data? {
    guard path == "/v3/kv/range", let question = try? JSONSerialization.jsonObject(with: body) as? [String: Any],
      question["rangeEnd"] != nil, let key = (question["key"] as? String).flatMap({ Data(base64Encoded: $0) }),
      key.starts(with: start)
    else { return nil }
    let count = state.withLock { state in
      defer { state.pageCount += 1 }
      return state.pageCount
    }
    var answer: [String: Any] = ["header": ["revision": "900000"]]
    guard count < Self.pageLimit else { return try? JSONSerialization.data(withJSONObject: answer) }
    answer["kvs"] = (count * size..<(count + 1) * size).map { number in
      var pair = ["mod_revision": "1", "key": (start + Data(String(10_000_000 + number).utf8)).base64EncodedString()]
      if question["keysOnly"] as? Bool != true {
        var parts = PartList()
        for part in 0..<64 { parts.append(Hash.digest(.logPart, Array("\(number) \(part)".utf8)), byteCount: 1 << 20) }
        pair["value"] = Data(CommitValue.inParts(UInt64(number), .test(1), parts).bytes).base64EncodedString()
      }
      return pair
    }
    return try? JSONSerialization.data(withJSONObject: answer)
  }

  private func give(_ status: Int, _ answer: Data, _ path: String, _ body: Data, _ writer: Writer) async throws {
    switch mode {
    case .loseAnswer: return
    case .closeAfterwards: return writer.close()
    case .garble: return try await writer.garble()
    case .cut:
      writer.begin(length: answer.count)
      try await writer.write(answer.prefix(answer.count / 2))
      return writer.close()
    case .slow(let pause):
      writer.begin(length: answer.count)
      for byte in answer where writer.isOpen {
        try await writer.write(Data([byte]))
        try await Task.sleep(for: .milliseconds(pause))
      }
      return writer.end()
    default:
      state.withLock { state in
        if state.mode == .replay { state.known[Data(path.utf8) + body] = answer }
      }
      writer.answer(status, lie(answer))
    }
  }

  private func watch(_ request: HTTPClientRequest, _ writer: Writer) async throws {
    let response = try await Self.http.execute(request, timeout: .seconds(30))
    writer.begin()
    watches.withLock { $0.open.append(writer) }
    try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { [self] in
        var line = Data()
        for try await buffer in response.body {
          for byte in buffer.readableBytesView {
            line.append(byte)
            guard byte == UInt8(ascii: "\n") else { continue }
            let isEvent = line.range(of: Data(#""events""#.utf8)) != nil
            let withholds = mode == .silentWatch || mode == .replay || mode == .loseAnswer
            if !isEvent || !withholds { try await writer.write(lie(line)) }
            if !isEvent { note(line) }
            line = Data()
          }
        }
      }
      // A watch that nobody hears any more ends.
      tasks.addTask {
        while writer.isOpen { try await Task.sleep(for: .milliseconds(100)) }
      }
      try await tasks.next()
      tasks.cancelAll()
    }
    writer.close()
  }

  private func note(_ line: Data) {
    struct Line: Decodable {
      struct Result: Decodable {
        let header: EtcdHeader
        var created: Bool?
      }
      let result: Result
    }
    guard let line: Line = try? EtcdClient.decode(Array(line)), line.result.created != true else { return }
    watches.withLock { $0.progress = max($0.progress, line.result.header.revision.value) }
  }

  // MARK: Lies

  private func lie(_ answer: Data) -> Data {
    let mode = mode
    switch mode {
    case .reorder, .truncate, .swap, .forgeHead, .insert: break
    default: return answer
    }
    guard let value = try? JSONSerialization.jsonObject(with: answer),
      let changed = try? JSONSerialization.data(
        withJSONObject: Self.changed(value, mode), options: .withoutEscapingSlashes)
    else { return answer }
    return answer.last == UInt8(ascii: "\n") ? changed + "\n".utf8 : changed
  }

  /// The same JSON with each list of pairs or events changed.
  private static func changed(_ value: Any, _ mode: Mode) -> Any {
    if let list = value as? [Any] { return list.map { changed($0, mode) } }
    guard var object = value as? [String: Any] else { return value }
    for (name, member) in object {
      if name == "kvs", let pairs = member as? [[String: Any]] {
        object[name] = lie(about: pairs, mode)
      } else if name == "events", let events = member as? [[String: Any]] {
        let pairs = lie(about: events.map { $0["kv"] as? [String: Any] ?? [:] }, mode)
        object[name] = zip(events, pairs).map { $0.0.merging(["kv": $0.1]) { $1 } }
      } else {
        object[name] = changed(member, mode)
      }
    }
    return object
  }

  private static func lie(about pairs: [[String: Any]], _ mode: Mode) -> [[String: Any]] {
    switch mode {
    case .reorder: pairs.reversed()
    case .truncate:
      pairs.map { pair in
        let value = (pair["value"] as? String).flatMap { Data(base64Encoded: $0) } ?? Data()
        return pair.merging(["value": value.prefix(value.count / 2).base64EncodedString()]) { $1 }
      }
    case .swap:
      pairs.indices.map { index in
        pairs[index].merging(["value": pairs[(index + 1) % pairs.count]["value"] ?? ""]) { $1 }
      }
    case .insert(let key):
      pairs.prefix(1).map { $0.merging(["key": key.base64EncodedString()]) { $1 } } + pairs
    case .forgeHead(let head):
      pairs.map { pair in
        let key = (pair["key"] as? String).flatMap { Data(base64Encoded: $0) } ?? Data()
        let isHead = key.suffix(5) == Data("/head".utf8)
        return isHead ? pair.merging(["value": head.base64EncodedString()]) { $1 } : pair
      }
    default: pairs
    }
  }

  // MARK: HTTP

  /// Writes one answer.
  final class Writer: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    var isOpen: Bool { channel.isActive }

    func begin(length: Int? = nil) {
      var headers = HTTPHeaders()
      if let length {
        headers.add(name: "content-length", value: String(length))
      } else {
        headers.add(name: "transfer-encoding", value: "chunked")
      }
      channel.writeAndFlush(
        HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)), promise: nil)
    }

    func write(_ bytes: Data) async throws {
      try await channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))))
    }

    func end() { channel.writeAndFlush(HTTPServerResponsePart.end(nil), promise: nil) }

    func answer(_ status: Int, _ bytes: Data, date: String? = nil) {
      var head = HTTPResponseHead(
        version: .http1_1, status: .init(statusCode: status),
        headers: ["content-length": String(bytes.count), "content-type": "application/json"])
      if let date { head.headers.add(name: "date", value: date) }
      channel.write(HTTPServerResponsePart.head(head), promise: nil)
      channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
      end()
    }

    /// Writes beneath TLS what nobody can open, as whoever is on the way can.
    func garble() async throws {
      let bytes = ByteBuffer(bytes: [0x17, 3, 3, 0, 59] + (0..<59).map { _ in UInt8.random(in: 0...255) })
      try await channel.eventLoop.submit { [channel] in
        let beneath = try channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        beneath.writeAndFlush(NIOAny(bytes), promise: nil)
      }.get()
    }

    func close() { channel.close(promise: nil) }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias Serve = @Sendable (Data, String, HTTPHeaders, Writer) async -> Void

    private let serve: Serve
    private var head: HTTPRequestHead?
    private var body = Data()

    init(_ serve: @escaping Serve) { self.serve = serve }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      switch unwrapInboundIn(data) {
      case .head(let head): (self.head, body) = (head, Data())
      case .body(let buffer): body.append(contentsOf: buffer.readableBytesView)
      case .end:
        guard let head else { return }
        let (serve, body, writer) = (serve, body, Writer(context.channel))
        Task { await serve(body, head.uri, head.headers, writer) }
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
