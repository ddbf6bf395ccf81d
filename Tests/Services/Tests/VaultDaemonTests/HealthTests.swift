import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import Synchronization
import Testing
import VaultFoundation

@testable import VaultDaemon

struct HealthTests {
  @Test func `a sealed daemon says so, and answers nothing else`() async throws {
    let daemon = try RunningDaemon()
    daemon.seal.seal()
    let health = try await daemon.curl("/v1/sys/health")
    #expect(health.status == 503)
    #expect(health.body.contains(#""sealed":true"#))
    let other = try await daemon.curl("/v1/web/data/a")
    #expect(other.status == 503)
    #expect(other.body == #"{"errors":["Vault is sealed"]}"#)
    try daemon.seal.unseal()
    #expect(try await daemon.curl("/v1/sys/health").status == 200)
  }

  @Test func `whoever asks for the daemon's health cannot choose what the metrics count`() async throws {
    let daemon = try RunningDaemon()
    #expect(try await daemon.curl("/v1/sys/health?activecode=599").status == 599)
    #expect(try await daemon.curl("/v1/sys/h%65alth?activecode=598").status == 598)
    let metrics = try await daemon.curl("/metrics").body
    #expect(metrics.contains(#"vaultd_requests_total{status="200"} 2"#))
    #expect(!metrics.contains(#"status="59"#))
  }

  @Test func `a daemon that is sealed while a request arrives does not answer it`() async throws {
    let daemon = try RunningDaemon(serves: false)
    try daemon.set("a", in: "web", to: "secret")
    var peer = Peer()
    peer.user = getuid()
    let body = AsyncStream<ByteBuffer> {
      daemon.seal.seal()
      return nil
    }
    let head = HTTPRequest(method: .get, scheme: "http", authority: "vaultd", path: "/v1/web/data/a")
    let answer = await daemon.interface().answer(
      Request(head: head, body: .init(asyncSequence: body)), over: Connection(peer: peer))
    #expect(answer.status == .serviceUnavailable)
  }

  @Test(arguments: ["binding", "token", "none"])
  func `a request whose body arrives after its binding or token has ended is refused`(_ end: String) async throws {
    let daemon = try RunningDaemon(binds: end != "token", serves: false)
    if end == "token" { try daemon.bind("web", user: "4000000") }
    try daemon.set("a", in: "web", to: "secret")
    let token = end == "token" ? try daemon.token(of: "web") : nil
    var peer = Peer()
    peer.user = getuid()
    let body = AsyncStream<ByteBuffer> {
      if end != "none" { try? daemon.unbind("web") }
      try? await Task.sleep(for: .milliseconds(200))
      return nil
    }
    var head = HTTPRequest(method: .get, scheme: "http", authority: "vaultd", path: "/v1/web/data/a")
    if let token, let name = HTTPField.Name("X-Vault-Token") { head.headerFields[name] = token }
    let answer = await daemon.interface().answer(
      Request(head: head, body: .init(asyncSequence: body)), over: Connection(peer: peer))
    #expect(answer.status == (end == "none" ? .ok : .forbidden))
  }

  @Test(arguments: [false, true])
  func `a daemon that is sealed while it opens its store again stays sealed`(fails: Bool) throws {
    let daemon = try RunningDaemon(serves: false)
    let sealed = Mutex<Seal?>(nil)
    defer { sealed.withLock { $0 = nil } }
    let seal = Seal { () throws(VaultError) in
      let isSealing = sealed.withLock { seal in
        seal?.seal()
        return seal != nil
      }
      if fails, isSealing { throw .locked(.credential(.missing)) }
      return try SecretStore.open(at: daemon.configuration.location, credential: daemon.folder + "/credential")
    }
    try seal.unseal()
    #expect(!seal.isSealed)
    sealed.withLock { $0 = seal }
    try? seal.reopen()
    #expect(seal.isSealed && seal.isShut)
    sealed.withLock { $0 = nil }
    try seal.unseal()
    #expect(!seal.isSealed && !seal.isShut)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a daemon whose store did not open opens it later, unless somebody has sealed it`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let isThere = Mutex(false)
    let seal = Seal { () throws(VaultError) in
      guard isThere.withLock({ $0 }) else { throw .locked(.credential(.missing)) }
      return try SecretStore.open(at: daemon.configuration.location, credential: daemon.folder + "/credential")
    }
    #expect(throws: VaultError.self) { try seal.retry() }
    isThere.withLock { $0 = true }
    let upkeep = await Upkeep(
      seal: seal, notices: SystemdNotices([:]), logger: RunningDaemon.logger,
      reloads: Handover.Signals(ends: []).reload)
    let running = Task { try await upkeep.run() }
    while seal.isSealed { try await Task.sleep(for: .milliseconds(20)) }
    running.cancel()
    seal.seal()
    try seal.retry()
    #expect(seal.isSealed && seal.isShut)
  }

  @Test func `the log says why a group is refused, and what helps`() async throws {
    let daemon = try RunningDaemon(serves: false)
    var peer = Peer()
    peer.user = getuid()
    let log = Lines()
    let interface = daemon.interface(log: Logger(label: "test") { _ in LineHandler(lines: log) })
    let head = HTTPRequest(method: .get, scheme: "http", authority: "vaultd", path: "/v1/web/data/secret-name")
    func ask() async -> HTTPResponse.Status {
      let request = Request(head: head, body: .init(buffer: ByteBuffer()))
      return await interface.answer(request, over: Connection(peer: peer)).status
    }
    try daemon.set("secret-name", in: "web", to: "hunter2")
    let (group, copy) = (daemon.folder + "/home/groups/web", daemon.folder + "/copy")
    try FileManager.default.copyItem(atPath: group, toPath: copy)
    try daemon.set("secret-name", in: "web", to: "hunter3")
    #expect(await ask() == .ok)
    try FileManager.default.removeItem(atPath: group)
    try FileManager.default.moveItem(atPath: copy, toPath: group)
    #expect(await ask() == .internalServerError)
    let line = try #require(log.all.last)
    #expect(line.contains("error: rolled-back") && line.contains("reason: 'web' is older (epoch "))
    #expect(line.contains("vault group accept web") && !line.contains("secret-name") && !line.contains("hunter"))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a daemon whose files may not grow refuses the change, and takes no file of its own for stdout or stderr`()
    async throws
  {
    let executable = try #require(KillTests.executable)
    let daemon = try RunningDaemon(serves: false)
    let program = try Program(
      "/bin/sh",
      [
        "-c", #"ulimit -f 400; exec "$0" "$@" <&- >&- 2>&-"#, executable, "--socket", daemon.socket, "--credential",
        daemon.folder + "/credential",
      ], environment: ["VAULT_HOME": daemon.folder + "/home", "VAULT_STATE": daemon.folder + "/state"])
    while RawClient(daemon.socket) == nil { try await Task.sleep(for: .milliseconds(5)) }
    let status = try String(contentsOfFile: "/proc/\(program.number)/status", encoding: .utf8)
    let ignored = status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") }?.suffix(16)
    #expect(ignored.flatMap { UInt64($0, radix: 16) }.map { $0 >> (SIGXFSZ - 1) & 1 } == 1)
    // Only root sees the descriptors of a process that is not dumpable.
    for number in 0...2 where geteuid() == 0 {
      let file = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(program.number)/fd/\(number)")
      #expect(file == "/dev/null")
    }
    let large = daemon.folder + "/large"
    try Data(#"{"data":{"value":"\#(String(repeating: "x", count: 900_000))"}}"#.utf8)
      .write(to: URL(filePath: large))
    let answer = try await daemon.curl("/v1/web/data/a", "--data-binary", "@" + large)
    #expect(answer.status == 503, "\(answer)")
    #expect(try await daemon.curl("/v1/web/data/a", "--data", #"{"data":{"value":"x"}}"#).status == 200)
    kill(program.number, SIGTERM)
    await onThread { program.wait() }
    #expect(try daemon.text("a", in: "web") == "x")
  }

  @Test func `the daemon's own user seals and unseals it`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    #expect(try await daemon.curl("/v1/sys/seal", "-X", "PUT").status == 204)
    #expect(try await daemon.curl("/v1/web/data/a").status == 503)
    #expect(try await daemon.curl("/v1/sys/unseal", "-X", "PUT").status == 200)
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
  }

  @Test func `locking the store of this user seals a daemon that answers the Secret Service alone`() async throws {
    let runtime = NSTemporaryDirectory() + "runtime-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: runtime) }
    try FileManager.default.createDirectory(
      atPath: runtime + "/vault", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let daemon = try RunningDaemon(others: [.unix(at: runtime + "/vault/secrets")])
    // It answers when it has begun.
    #expect(try await daemon.curl("/v1/sys/health").status == 200)
    let location = try StoreLocation(environment: ["XDG_RUNTIME_DIR": runtime, "HOME": daemon.folder])
    #expect(await onThread { (try? SecretStore.sealService(at: location)) == true })
    #expect(daemon.seal.isSealed)
  }

  @Test func `whoever seals or unseals the daemon is in the record, and so are refused attempts`() async throws {
    let daemon = try RunningDaemon()
    for path in ["/v1/sys/unseal", "/v1/sys/seal", "/v1/sys/unseal"] { try await daemon.curl(path, "-X", "PUT") }
    func told() throws -> [String] {
      try daemon.records().map { "\($0.action.rawValue) \($0.outcome.rawValue) \($0.detail ?? "")" }
    }
    #expect(try told() == ["13 0 seal", "12 0 unseal"])
    var stranger = Peer()
    stranger.user = geteuid() + 12_345
    let interface = daemon.interface(Failures(.allowing(failures: 1)))
    for path in ["/v1/sys/seal", "/v1/sys/unseal"] {
      let head = HTTPRequest(method: .put, scheme: "http", authority: "vaultd", path: path)
      let request = Request(head: head, body: .init(buffer: ByteBuffer()))
      #expect(await interface.answer(request, over: Connection(peer: stranger)).status == .forbidden)
    }
    #expect(try told().suffix(2) == ["13 12 seal", "12 12 unseal"])
    #expect(!daemon.seal.isSealed && interface.failures.isBlocked(stranger.key))
  }

  @Test func `a daemon whose credential was revoked says that it is sealed, until it has another one`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    _ = try daemon.owner().revokeService()
    for path in ["/v1/web/data/a", "/v1/sys/mounts", "/v1/auth/token/lookup-self"] {
      let answer = try await daemon.curl(path, "-H", "X-Vault-Token: hvs.0000")
      #expect(answer.status == 503)
      #expect(answer.body == #"{"errors":["Vault is sealed"]}"#)
    }
    #expect(try await daemon.curl("/v1/web/data/a").status == 503)
    let health = try await daemon.curl("/v1/sys/health")
    #expect(health.status == 503)
    #expect(health.body.contains(#""sealed":true"#))
    #expect(try await daemon.curl("/v1/sys/health?sealedcode=202").status == 202)
    let probe = try await daemon.curl("/v1/sys/health?standbyok=true&sealedcode=204&uninitcode=204")
    #expect(probe.status == 204 && probe.body.isEmpty)
    #expect(try await daemon.curl("/v1/sys/seal-status").body.contains(#""sealed":true"#))
    #expect(try await daemon.curl("/metrics").body.contains("vaultd_sealed 1"))
    try FileManager.default.removeItem(atPath: daemon.folder + "/credential")
    _ = try daemon.owner().enrollService(to: daemon.folder + "/credential", .replacing)
    try daemon.seal.reopen()
    #expect(try await daemon.curl("/v1/sys/health").status == 200)
  }

  @Test(.timeLimit(.minutes(5)))
  func `the log of a daemon that the groups of the service do not admit says how to let it in`() async throws {
    let daemon = try RunningDaemon(serves: false)
    _ = try daemon.owner().revokeService()
    let log = Lines()
    let upkeep = await Upkeep(
      seal: daemon.seal, notices: SystemdNotices([:]), logger: Logger(label: "test") { _ in LineHandler(lines: log) },
      reloads: Handover.Signals(ends: []).reload)
    let running = Task { try await upkeep.run() }
    defer { running.cancel() }
    while !log.all.contains(where: { $0.contains("vault service enroll --output FILE, with --again or --replace") }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    #expect(ConfigurationCheck(daemon.configuration).problems().contains { $0.contains("vault service enroll") })
  }

  @Test(.timeLimit(.minutes(5)))
  func `a daemon that cannot write its record says so, until it can`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    let (file, aside) = (daemon.folder + "/home/groups/vault.audit", daemon.folder + "/aside")
    try FileManager.default.moveItem(atPath: file, toPath: aside)
    let health = try await daemon.curl("/v1/sys/health")
    #expect(health.status == 503)
    #expect(health.body.contains(#""sealed":false"#))
    #expect(health.body.contains(#""errors":["the record cannot be written"#))
    #expect(try await daemon.curl("/v1/web/data/a").status == 503)
    try FileManager.default.moveItem(atPath: aside, toPath: file)
    // The answer may be a second old.
    while try await daemon.curl("/v1/sys/health").status != 200 {}
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
  }

  @Test func `without its state folder a daemon answers, and says that it is not well`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    try FileManager.default.moveItem(atPath: daemon.folder + "/state", toPath: daemon.folder + "/aside")
    #expect(try await daemon.curl("/v1/sys/health").status == 503)
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
  }

  @Test func `an answer to HEAD has no body`() async throws {
    let daemon = try RunningDaemon()
    let socket = daemon.socket
    let text = await onThread { () -> String in
      guard let client = RawClient(socket) else { return "" }
      let head = "HEAD /v1/sys/health HTTP/1.1\r\nHost: x\r\n\r\n"
      client.send(Array((head + head).utf8))
      client.endSending()
      return client.receiveAll()
    }
    #expect(text.components(separatedBy: "HTTP/1.1 200").count == 3)
    #expect(!text.contains("{"))
  }
}

/// The lines of a log.
final class Lines: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func append(_ line: String) { lines.withLock { $0.append(line) } }
}

struct LineHandler: LogHandler {
  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: Logging.LogEvent) {
    let more = (event.metadata ?? [:]).map { "\($0): \($1)" }.sorted()
    lines.append("\(event.message); " + more.joined(separator: "; "))
  }
}
