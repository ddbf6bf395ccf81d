import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Synchronization
import Testing
import VaultFoundation

@testable import Ground
@testable import Sealing
@testable import Vault
@testable import VaultDaemon

/// Clients that send nonsense, too much, or nothing.
struct HostileClientTests {
  @Test func `random bytes get an answer or a closed connection, 10,000 times`() async throws {
    let daemon = try RunningDaemon { $0.limits.failures = .max }
    let socket = daemon.socket
    let unanswered = await onThread { () -> Int in
      var random = Numbers(seed: 3)
      let words = [
        "GET ", "LIST ", "POST ", "/v1/web/data/", "/v1/sys/health", " HTTP/1.1\r\n", "Host: x\r\n", "\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n", "X-Vault-Token: hvs.1\r\n", "0\r\n\r\n",
        "FFFFFFFFFFFFFFFF\r\n",
        "{\"data\":", "%2F", "%", "\u{0}", "?version=99999999999999999999", "/vault/1/call",
      ]
      var unanswered = 0
      for _ in 0..<10_000 {
        var bytes: [UInt8] = []
        for _ in 0..<Int.random(in: 0...8, using: &random) {
          if Bool.random(using: &random) {
            bytes += (words.randomElement(using: &random) ?? "").utf8
          } else {
            for _ in 0..<Int.random(in: 0...20, using: &random) { bytes.append(.random(in: 0...255, using: &random)) }
          }
        }
        guard let client = RawClient(socket) else {
          unanswered += 1
          continue
        }
        client.send(bytes)
        client.endSending()
        // It comes back only when the daemon has closed the connection.
        _ = client.receiveAll()
        guard !client.isForgotten else { return unanswered + 1 }
      }
      return unanswered
    }
    #expect(unanswered == 0)
    #expect(try await daemon.curl("/v1/sys/health").status == 200)
  }

  /// Whether programs inherit the sockets with this path: the one that listens, and those of accepted connections.
  private static func areInherited(_ path: String) -> [Bool] {
    let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return open.compactMap { CInt($0) }.compactMap { descriptor in
      guard ListeningSocket(descriptor: descriptor, kind: .unix, name: "").isBound(to: path) else { return nil }
      return fcntl(descriptor, F_GETFD) & FD_CLOEXEC == 0
    }
  }

  @Test func `programs that the daemon starts inherit no connection, which they would keep open`() async throws {
    let folder = NSTemporaryDirectory() + "doors-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (agent, credentials) = (folder + "/agent", folder + "/credentials")
    let daemon = try RunningDaemon(others: [
      .unix(at: agent, name: ListeningSocket.agent), .unix(at: credentials, name: ListeningSocket.credentials),
    ])
    let socket = daemon.socket
    let found = await onThread { () -> [[Bool]] in
      guard let web = RawClient(socket), let ssh = RawClient(agent), let unit = RawClient(credentials) else {
        return []
      }
      _ = web.request("GET", "/v1/sys/health")
      ssh.send([0, 0, 0, 1, 11])
      _ = ssh.receive()
      // The refusal is larger than what one call receives, so the connection stays.
      unit.endSending()
      _ = unit.receive()
      return withExtendedLifetime((web, ssh, unit)) { [socket, agent, credentials].map(Self.areInherited) }
    }
    #expect(found == [[Bool]](repeating: [false, false], count: 3))
  }

  @Test func `a request that does not arrive is ended`() async throws {
    let daemon = try RunningDaemon { $0.limits.transfer = .milliseconds(200) }
    let socket = daemon.socket
    let begun = [
      "GET /v1/sys/he", "GET /v1/sys/health HTTP/1.1\r\nHost: x\r\n",
      "POST /v1/web/data/a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{",
    ]
    for text in begun {
      // It comes back only when the connection is closed.
      let answer = await onThread { () -> String in
        guard let client = RawClient(socket) else { return "nobody listens" }
        client.send(Array(text.utf8))
        let answer = client.receiveAll()
        return client.isForgotten ? "HTTP/1.1 200 would be as wrong" : answer
      }
      #expect(!answer.contains(" 200 "))
    }
    #expect(try await daemon.curl("/v1/sys/health").status == 200)
  }

  @Test(arguments: [[], [0, 0], [0, 0, 0, 1, 11, 0, 0, 0]] as [[UInt8]])
  func `a silent connection to the agent is ended, and so is a message that does not arrive`(begun: [UInt8])
    async throws
  {
    let folder = NSTemporaryDirectory() + "agent-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/agent"
    let daemon = try RunningDaemon(others: [.unix(at: path, name: ListeningSocket.agent)]) {
      let (short, long) = (Duration.milliseconds(200), Duration.seconds(3_600))
      ($0.limits.idle, $0.limits.transfer) = begun.isEmpty ? (short, long) : (long, short)
    }
    // It comes back only when the connection is closed.
    let isForgotten = await onThread { () -> Bool? in
      guard let client = RawClient(path) else { return nil }
      client.send(begun)
      _ = client.receiveAll()
      return client.isForgotten
    }
    withExtendedLifetime(daemon) { #expect(isForgotten == false) }
  }

  @Test func `slow clients do not delay others`() async throws {
    let daemon = try RunningDaemon()
    let socket = daemon.socket
    let slow = await onThread { (0..<200).compactMap { _ in RawClient(socket) } }
    for client in slow { client.send(Array("GET /v1/sys/health HTTP/1.1\r\nHo".utf8)) }
    #expect(slow.count == 200)
    // It waits while the queue of the socket is full; curl would not.
    #expect(await onThread { RawClient(socket)?.request("GET", "/v1/sys/health")?.status } == 200)
  }

  @Test func `a user has a limited number of connections`() async throws {
    let daemon = try RunningDaemon { $0.limits.connectionsPerUser = 3 }
    let socket = daemon.socket
    let answers = await onThread { () -> [Int?] in
      let clients = (0..<4).compactMap { _ in RawClient(socket) }
      return clients.map { $0.request("GET", "/v1/sys/health")?.status }
    }
    #expect(answers.count { $0 == 200 } == 3)
    #expect(answers.count { $0 == nil } == 1)
  }

  @Test func `callers on the network leave local ones their connections, and each caller leaves some for others`() {
    var limits = Limits()
    (limits.connections, limits.connectionsPerUser, limits.connectionsOfBound) = (64, 32, 0)
    let connections = Connections(limits)
    func enter(_ count: Int, _ peer: Peer) -> [Connections.Place] {
      (0..<count).compactMap { _ in connections.enter(peer) }
    }
    func user(_ user: UInt32) -> Peer {
      var peer = Peer()
      peer.user = user
      return peer
    }
    let remote = (1...6).map { enter(100, Peer(address: "192.0.2.\($0)")) }
    #expect(remote.map(\.count) == [32, 16, 8, 4, 2, 1])
    let local = (1...4).map { enter(100, user($0)) }
    #expect(local.map(\.count) == [32, 16, 8, 4])
    #expect(enter(100, user(0)).count == 32, "root")
    withExtendedLifetime((remote, local)) { #expect(connections.count == 63 + 60) }
  }

  @Test func `local callers without a binding leave connections for those with one`() async throws {
    var limits = Limits()
    (limits.connections, limits.connectionsPerUser, limits.connectionsOfBound) = (64, 32, 16)
    let daemon = try RunningDaemon(binds: false, serves: false)
    try daemon.bind("web", user: "1000")
    let connections = Connections(limits) { daemon.seal.current?.callers.recognizes($0) ?? false }
    func enter(_ user: UInt32) -> [Connections.Place] {
      var peer = Peer()
      peer.user = user
      return (0..<100).compactMap { _ in connections.enter(peer) }
    }
    let strangers = (2_000..<2_020).map { enter($0) }
    #expect(connections.count == 47)
    #expect(enter(1_000).isEmpty, "no binding was read yet")
    let opened = try #require(daemon.seal.current)
    _ = try opened.callers.application(of: Peer(process: nil, user: 1_000), in: opened.store)
    let bound = enter(1_000)
    #expect(bound.count == 8)
    #expect(enter(3_000).isEmpty)
    withExtendedLifetime((strangers, bound)) { #expect(connections.count == 55) }
  }

  @Test(.timeLimit(.minutes(1)))
  func `a store that is opened again knows who is bound before anybody asks`() async throws {
    let daemon = try RunningDaemon(binds: false, serves: false)
    try daemon.bind("web", user: "1000")
    try daemon.seal.reopen()
    let peer = Peer(process: nil, user: 1_000)
    while daemon.seal.current?.callers.recognizes(peer) != true { try await Task.sleep(for: .milliseconds(20)) }
  }

  @Test func `commits of others take no room from the bodies of applications`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let (bodies, messages) = (BodyBudget(limit: 0), BodyBudget(limit: 1_000))
    var peer = Peer()
    peer.user = geteuid() + 12_345
    let source = ReplicaSource(
      group: "web", id: try #require(GroupID([UInt8](repeating: 1, count: 32))), store: try daemon.owner(),
      remote: try Remote("test", at: "etcd://127.0.0.1:1"))
    let server = MemoryLogServer()
    let replication = Replication({ [source] }, RunningDaemon.logger, log: { _, _ in MemoryLog(server) })
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/commit/web")
    let request = Request(head: head, body: .init(buffer: ByteBuffer(repeating: 0, count: 100)))
    let answer = await daemon.interface(replication: replication, bodies: bodies, messages: messages)
      .answer(request, over: Connection(peer: peer))
    #expect(answer.status == .ok, "not 429")
    #expect(messages.held == 0)
  }

  @Test func `all addresses of a network of IPv6 are one caller`() {
    let keys = ["2001:db8::1", "2001:db8::ffff:1", "2001:db8:0:1::1", "::ffff:192.0.2.1", "192.0.2.1"].map {
      Peer(address: $0).key
    }
    #expect(keys[0] == keys[1] && Set(keys).count == 4)
    #expect(keys.suffix(2) == ["::ffff:192.0.2.1", "192.0.2.1"])
  }

  @Test(arguments: [false, true])
  func `the bodies of callers that are no application take no room from those of applications`(binds: Bool) async throws
  {
    let daemon = try RunningDaemon(binds: binds, serves: false)
    let (bodies, others) = (BodyBudget(limit: 1_000), BodyBudget(limit: 1_000))
    var peer = Peer()
    peer.user = getuid()
    let sent = Atomic(false)
    let held = Mutex([0, 0])
    let body = AsyncStream<ByteBuffer> {
      guard sent.exchange(true, ordering: .relaxed) else { return ByteBuffer(repeating: 0x20, count: 100) }
      held.withLock { $0 = [bodies.held, others.held] }
      return nil
    }
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/v1/auth/unix/login")
    _ = await daemon.interface(bodies: bodies, strangersBodies: others).answer(
      Request(head: head, body: .init(asyncSequence: body)), over: Connection(peer: peer))
    #expect(held.withLock { $0 } == (binds ? [100, 0] : [0, 100]))
    #expect(bodies.held == 0 && others.held == 0)
  }

  @Test func `a list counts towards the limit of large answers while it is made`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let group = try daemon.owner().group("web")
    let names = (0..<40).map { "\($0)-" + String(repeating: "x", count: 1_000) }
    try await group.set(contentsOf: names.map { (name: $0, value: "") })
    let budget = BodyBudget(limit: 50_000)
    let drafts = BodyBudget.Drafts(budget: budget, caller: "application web")
    // One caller holds at most half.
    #expect(throws: Refusal.tooManyBodies) { try KVMount(group).list("", all: true, drafts.begin()) }
    #expect(budget.held == 0)
    let ample = BodyBudget.Drafts(budget: BodyBudget(limit: 100_000), caller: "application web")
    #expect(try KVMount(group).list("", all: true, ample.begin()) == names.sorted())
  }

  @Test func `a list of removed items counts towards the limit of large answers while it is made, too`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let group = try daemon.owner().group("web")
    let names = (0..<40).map { "\($0)-" + String(repeating: "x", count: 1_000) }
    try await group.set(contentsOf: names.map { (name: $0, value: "") })
    for name in names { try await group.remove(name) }
    var call = ServiceCall(.list, "web")
    call.listsRemoved = true
    let scarce = BodyBudget.Drafts(budget: BodyBudget(limit: 50_000), caller: "application web")
    #expect(throws: Refusal.tooManyBodies) { try NativeCall.list(for: call, in: group, scarce.begin()) }
    #expect(scarce.budget.held == 0)
    let ample = BodyBudget.Drafts(budget: BodyBudget(limit: 200_000), caller: "application web")
    let answer = try NativeCall.list(for: call, in: group, ample.begin())
    #expect(answer.items.map(\.name.description).sorted() == names.sorted())
  }

  @Test func `an application's misses have few records, and a name that nothing can have has none`() async throws {
    let daemon = try RunningDaemon()
    let socket = daemon.socket
    let long = String(repeating: "n", count: 1_025)
    let fields = try ServiceCall(.open, "web", long).encoded()
    let call = [0, 0, UInt8(fields.count >> 8), UInt8(fields.count & 255)] + fields
    let head = "POST /vault/1/call HTTP/1.1\r\nHost: x\r\nContent-Length: \(call.count)\r\n\r\n"
    let statuses = await onThread { () -> [Int?] in
      guard let client = RawClient(socket) else { return [] }
      return (0..<3 * Recorder.missesLimit).map { client.request("GET", "/v1/web/data/none-\($0)")?.status }
        + [client.send(Array(head.utf8) + call) ? client.answer()?.status : nil]
    }
    #expect(statuses.dropLast().count { $0 == 404 } == 3 * Recorder.missesLimit && statuses.last == 400)
    daemon.seal.seal()
    func told() throws -> (records: [AuditRecord], misses: Int) {
      let records = try daemon.records().filter { $0.action == .read }
      return (
        records, records.reduce(0) { $0 + ($1.item != nil ? 1 : Int($1.detail?.prefix { $0 != " " } ?? "") ?? 0) }
      )
    }
    // Sealing does not wait for the counts. A new minute may have begun.
    while try told().misses < 3 * Recorder.missesLimit {}
    let records = try told().records
    #expect(records.count <= 2 * Recorder.missesLimit + 2)
    #expect(records.allSatisfy { $0.caller.who == .application("web") && $0.outcome == .init(.notFound) })
    #expect(records.allSatisfy { $0.item?.utf8.count ?? 0 < 1_000 })
  }

  @Test func `a caller that is refused too often is ignored for a while`() async throws {
    let daemon = try RunningDaemon { $0.limits = .allowing(failures: 3) }
    var statuses: [Int] = []
    for _ in 0..<5 { statuses.append(try await daemon.curl("/v1/default/data/a").status) }
    #expect(statuses == [403, 403, 403, 429, 429])
  }

  /// Calls of the library: the length of all fields, then each field with its number and length. The first call asks who
  /// the caller is, the second opens an item of a group that was not granted.
  @Test(arguments: [
    (false, "\0\0\0\u{3}\u{1}\u{1}\u{1}"),
    (true, "\0\0\0\u{F}\u{1}\u{1}\u{2}\u{2}\u{7}default\u{3}\u{1}a"),
  ])
  func `a caller whose calls of the library are refused too often is ignored for a while`(binds: Bool, call: String)
    async throws
  {
    let daemon = try RunningDaemon(binds: binds) { $0.limits = .allowing(failures: 3) }
    let socket = daemon.socket
    let statuses = await onThread {
      (0..<5).map { _ in RawClient(socket)?.request("POST", "/vault/1/call", call)?.status }
    }
    #expect(statuses == [200, 200, 200, 429, 429])
  }

  @Test func `the bodies of all callers together are limited, and a refused caller learns when to try again`()
    async throws
  {
    let daemon = try RunningDaemon {
      $0.limits.bodies = 2_000
      $0.limits.transfer = .seconds(3_600)
    }
    let socket = daemon.socket
    let value = String(repeating: "x", count: 600)
    let body = #"{"data":{"value":"\#(value)"}}"#
    let length = "Content-Length: \(body.utf8.count)"
    let begun = "POST /v1/web/data/a HTTP/1.1\r\nHost: x\r\n\(length)\r\n\r\n\(body.dropLast())"
    var first = try #require(RawClient(socket))
    first.send(Array(begun.utf8))
    // A caller may hold as much as it leaves to others. Until the first body is there but for its last byte, the second
    // one finds room. If the first one came while a second one was there, it was refused, and has to come again.
    var answer = try await daemon.curl("/v1/web/data/b", "--include", "-d", body)
    var attempt = 0
    while answer.status == 200 {
      attempt += 1
      if attempt.isMultiple(of: 20) {
        first = try #require(RawClient(socket))
        first.send(Array(begun.utf8))
      }
      answer = try await daemon.curl("/v1/web/data/b", "--include", "-d", body)
    }
    #expect(answer.status == 429 && answer.body.contains("Retry-After: 1"))
    try daemon.bind("other", unit: "nowhere.service")
    try daemon.set("a", in: "other", to: "1")
    let other = try daemon.token(of: "other")
    #expect(try await daemon.curl("/v1/other/data/b", "-H", "X-Vault-Token: \(other)", "-d", body).status == 200)
    #expect(try await daemon.curl("/v1/web/data/b", "-d", #"{"data":{"value":"small"}}"#).status == 200)
    first.send(Array("}".utf8))
    let last = first
    #expect(await onThread { last.answer()?.status } == 200)
    #expect(try await daemon.curl("/v1/web/data/b", "-d", body).status == 200)
  }

  @Test func `large answers that nobody takes are limited, and count no longer than they wait`() async throws {
    let daemon = try RunningDaemon {
      $0.limits.answers = 4 * 1_024 * 1_024
      ($0.limits.transfer, $0.limits.idle) = (.seconds(3_600), .seconds(3_600))
    }
    try daemon.set("large", in: "web", to: String(repeating: "x", count: 1_000_000))
    try daemon.set("small", in: "web", to: "x")
    let request = Array("GET /v1/web/data/large HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
    // Of answers with a quarter of the limit, one caller can hold two. One of a client that reads may be among them, and
    // then another client's is refused.
    var (clients, status): ([RawClient], Int) = ([], 200)
    while status == 200, clients.count < 500 {
      clients.append(try #require(RawClient(daemon.socket)))
      clients.last?.send(request)
      status = try await daemon.curl("/v1/web/data/large").status
    }
    #expect(status == 429)
    #expect(try await daemon.curl("/v1/web/data/small").status == 200)
    let all = clients
    let answers = await onThread { all.map { $0.answer()?.status } }
    #expect(answers.filter { $0 == 200 }.count == 2 && answers.filter { $0 == 429 }.count == answers.count - 2)
    for _ in 0..<500 where status != 200 { status = try await daemon.curl("/v1/web/data/large").status }
    #expect(status == 200)
  }

  @Test func `the bodies of any callers leave room for those of another one`() {
    let budget = BodyBudget(limit: 64)
    let taken = ["one", "two", "three"].map { caller in
      var count = 0
      while budget.take(1, for: caller) { count += 1 }
      return count
    }
    #expect(taken == [32, 16, 8])
    #expect(budget.take(4, for: "four") && budget.held == 60)
  }

  @Test func `a silent connection over TCP is closed soon`() async throws {
    let address = try ListeningSocket.tcp("127.0.0.1:0")
    let port = try #require(address.port)
    let daemon = try RunningDaemon(others: [address]) {
      $0.limits.handshake = .milliseconds(200)
      $0.limits.transfer = .seconds(3_600)
      $0.limits.idle = .seconds(3_600)
    }
    _ = try await daemon.useTLS()
    for begun in [[], [0x16, 3, 1]] as [[UInt8]] {
      // It comes back only when the connection is closed.
      let answer = await onThread { () -> String in
        guard let client = RawClient(port: port) else { return "nobody listens" }
        client.send(begun)
        return client.receiveAll()
      }
      #expect(answer.isEmpty)
    }
    // On a busy machine an honest handshake can take longer than this limit, too.
    var status = 0
    for _ in 0..<100 where status != 200 {
      status = try await daemon.status(of: "https://127.0.0.1:\(port)/v1/sys/health", "--insecure")
    }
    #expect(status == 200)
  }

  @Test func `a connection of HTTP 1.0 ends with the answer`() async throws {
    let daemon = try RunningDaemon { $0.limits.idle = .seconds(3_600) }
    let socket = daemon.socket
    for end in ["HTTP/1.0\r\n\r\n", "HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n"] {
      let answer = await onThread { () -> String in
        guard let client = RawClient(socket) else { return "nobody listens" }
        client.send(Array("GET /v1/sys/health \(end)".utf8))
        return client.receiveAll()
      }
      #expect(answer.contains(" 200 "))
    }
  }

  @Test func `a client that waits before it sends its body is told to go on`() async throws {
    let daemon = try RunningDaemon()
    let socket = daemon.socket
    let body = #"{"data":{"value":"x"}}"#
    let answer = await onThread { () -> String in
      guard let client = RawClient(socket) else { return "nobody listens" }
      let head = "POST /v1/web/data/a HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nConnection: close\r\n"
      client.send(Array("\(head)Content-Length: \(body.utf8.count)\r\n\r\n".utf8))
      guard client.receive() == Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) else { return "it waits for ever" }
      client.send(Array(body.utf8))
      return client.receiveAll()
    }
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
  }

  @Test func `a folder has no empty components`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a/b", in: "web", to: "1")
    for path in ["metadata", "metadata/", "metadata/a", "metadata/a/"] {
      #expect(try await daemon.curl("/v1/web/\(path)", "-X", "LIST").status == 200)
    }
    for path in ["metadata//", "metadata/a//", "metadata//a"] {
      #expect(try await daemon.curl("/v1/web/\(path)", "-X", "LIST").status == 400)
    }
  }

  @Test func `bodies and headers are limited in size`() async throws {
    let daemon = try RunningDaemon {
      $0.limits.body = 1_000
      $0.limits.header = 2_000
    }
    let large = String(repeating: "x", count: 1_500)
    #expect(try await daemon.curl("/v1/web/data/a", "-d", #"{"data":{"value":"\#(large)"}}"#).status == 413)
    #expect(try await daemon.curl("/v1/web/data/a", "-H", "X-A: \(large)\(large)").status == 400)
    #expect(try await daemon.curl("/v1/web/data/a", "-d", #"{"data":{"value":"x"}}"#).status == 200)
  }

  @Test(arguments: [("commit", true), ("commit-again", true), ("sync", false)])
  func `only a commit of a published group may be larger than other bodies`(_ request: String, _ isTaken: Bool) throws {
    let channel = EmbeddedChannel(handler: RequestWatch(Limits()))
    channel.connect(to: try SocketAddress(unixDomainSocketPath: "/vaultd"), promise: nil)
    let head = HTTPRequest(method: .post, scheme: "http", authority: "vaultd", path: "/vault/1/\(request)/team")
    try channel.writeInbound(HTTPRequestPart.head(head))
    let megabyte = ByteBuffer(repeating: 0, count: 1 << 20)
    for _ in 0..<20 where channel.isActive { try channel.writeInbound(HTTPRequestPart.body(megabyte)) }
    #expect(channel.isActive == isTaken)
    _ = try? channel.finish(acceptAlreadyClosed: true)
  }

  @Test func `requests in one piece are answered in their order`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "1")
    let socket = daemon.socket
    let text = await onThread { () -> String in
      guard let client = RawClient(socket) else { return "" }
      client.send(
        Array(
          ("LIST /v1/web/metadata HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/web/data/a HTTP/1.1\r\nHost: x\r\n\r\n"
            + "LIST /v1/web/metadata/none HTTP/1.1\r\nHost: x\r\n\r\n").utf8))
      client.endSending()
      return client.receiveAll()
    }
    let statuses = text.split(separator: "HTTP/1.1 ").map { $0.prefix(3) }
    #expect(statuses == ["200", "200", "404"])
  }
}
