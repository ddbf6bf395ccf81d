import Foundation
import Glibc
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Testing

@testable import VaultDaemon

struct CredentialsDoorTests {
  @Test(
    arguments: [
      "", "x", "/unit/web.service/db", "ab/unit/web.service", "ab/unit//db", "ab/unit/web.service/",
      "ab/user/web.service/db",
      "ab/unit/web.service/db/more",
    ])
  func `a socket name that systemd does not use requests no credential`(name: String) {
    #expect(CredentialRequest(peerName: name, peer: Peer()) == nil)
  }

  @Test func `the name of systemd's socket names the unit and the credential`() {
    let request = CredentialRequest(peerName: "ac51db479753f6e7/unit/web@eu.service/db-pass", peer: Peer())
    #expect(request?.unit == "web@eu.service" && request?.id == "db-pass")
  }

  @Test func `a service of the system manager is distinguished from a user's program`() {
    let systems = "0::/system.slice/vaultd.service\n"
    #expect(ServiceManager(of: 0, inControlGroup: nil) == .system)
    #expect(ServiceManager(of: 997, inControlGroup: systems) == .system)
    #expect(ServiceManager(of: 1000, inControlGroup: nil) == .user(1000))
    #expect(
      ServiceManager(of: 1000, inControlGroup: "0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.service\n")
        == .user(1000))
    #expect(
      ServiceManager(of: 1000, inControlGroup: "0::/user.slice/user-1000.slice/session-2.scope\n") == .user(1000))
  }

  @Test func `the service manager gets a value, a refusal that is too large, and nobody else gets anything`()
    async throws
  {
    let folder = NSTemporaryDirectory() + "vaultd-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for (manager, isServed) in [(ServiceManager.user(geteuid()), true), (.user(geteuid() + 1), false)] {
      // A process that another test is starting can still hold the first socket.
      let path = folder + "/\(isServed).sock"
      let socket = try ListeningSocket.unix(at: path)
      let door = CredentialsDoor(socket: socket, manager: manager, limits: Limits(), logger: RunningDaemon.logger) {
        $0.unit == "web.service" && $0.id == "db" ? Array("s3cr3t".utf8) : nil
      }
      let group = ServiceGroup(services: [door], logger: door.logger)
      let running = Task { try await group.run() }
      defer { running.cancel() }
      let given = try await Self.ask(path, as: "\0\(UUID().uuidString)/unit/web.service/db")
      let refused = try await Self.ask(path, as: "\0\(UUID().uuidString)/unit/web.service/other")
      let unnamed = try await Self.ask(path, as: nil)
      #expect(given == (isServed ? Array("s3cr3t".utf8) : [UInt8](repeating: 0, count: 1 << 20 | 1)))
      #expect(refused.count == 1 << 20 | 1 && refused.allSatisfy { $0 == 0 })
      #expect(unnamed.count == 1 << 20 | 1)
      await group.triggerGracefulShutdown()
      try await running.value
    }
  }

  @Test func `a unit waits for its credential longer than a client may take to read it`() async throws {
    let path = NSTemporaryDirectory() + "door-\(UUID().uuidString.prefix(8))"
    defer { unlink(path) }
    var limits = Limits()
    limits.transfer = .seconds(1)
    let door = CredentialsDoor(
      socket: try .unix(at: path), manager: .user(geteuid()), limits: limits, logger: RunningDaemon.logger
    ) { _ in
      try? await Task.sleep(for: .seconds(2))
      return Array("s3cr3t".utf8)
    }
    let running = Task { try await ServiceGroup(services: [door], logger: door.logger).run() }
    defer { running.cancel() }
    #expect(try await Self.ask(path, as: "\0\(UUID().uuidString)/unit/web.service/db") == Array("s3cr3t".utf8))
  }

  @Test(.timeLimit(.minutes(5)))
  func `no unit gets an empty credential when the door ends, and others wait for the next one`() async throws {
    let path = NSTemporaryDirectory() + "door-\(UUID().uuidString.prefix(8))"
    defer { unlink(path) }
    let socket = try ListeningSocket.unix(at: path)
    defer { close(socket.descriptor) }
    // A connection goes from one event loop to another before it is served, and this one is late.
    let late = MultiThreadedEventLoopGroup.singleton.next()
    let delay = late.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(1)) { _ in
      usleep(.random(in: 0...10_000))
    }
    defer { delay.cancel() }
    let clients = (0..<32).map { _ in
      Task {
        var wrong = 0
        while !Task.isCancelled {
          let value = try await Self.ask(path, as: "\0\(UUID().uuidString)/unit/web.service/db")
          if value != [1] { wrong += 1 }
        }
        return wrong
      }
    }
    for round in 1...10 {
      // As systemd does, this keeps the socket open between two processes.
      let copy = ListeningSocket(descriptor: fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 3), kind: .unix, name: "")
      let (answers, answered) = AsyncStream<Void>.makeStream()
      let door = CredentialsDoor(
        socket: copy, manager: .user(geteuid()), limits: Limits(), logger: RunningDaemon.logger
      ) { _ in
        answered.yield()
        return [1]
      }
      let group = ServiceGroup(services: [door], logger: door.logger)
      let running = Task { try await group.run() }
      for await _ in answers.prefix(100) {}
      if round == 10 {
        for client in clients { client.cancel() }
        for client in clients { #expect(try await client.value == 0) }
      }
      await group.triggerGracefulShutdown()
      try await running.value
    }
  }

  @Test func `a unit to which two applications offer their own items of one name gets neither`() async throws {
    let daemon = try RunningDaemon(binds: false, serves: false)
    let request = try #require(CredentialRequest(peerName: "x/unit/web.service/db", peer: Peer()))
    let answers = CredentialAnswers(
      seal: daemon.seal, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    for (application, value) in [("one", Array("one's".utf8)), ("two", nil)] {
      _ = try daemon.owner().applications.bind(
        application, .init(unit: "web.service", credentials: ["db": .init(item: "password")]))
      try daemon.set("password", in: application, to: "\(application)'s")
      #expect(await answers.value(for: request) == value)
    }
    #expect(try daemon.records().last?.outcome == .denied)
  }

  /// Connects from a socket with an abstract name, and reads to the end.
  private static func ask(_ path: String, as name: String?) async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try read(path, as: name) }) }
    }
  }

  private static func read(_ path: String, as name: String?) throws -> [UInt8] {
    let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    if let name { try #require(withUnixAddress(name) { bind(descriptor, $0, $1) } == 0) }
    try #require(withUnixAddress(path) { connect(descriptor, $0, $1) } == 0)
    shutdown(descriptor, CInt(SHUT_WR))
    // A connection that the door has forgotten is empty, too.
    var limit = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var found: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return found }
      found += buffer[..<count]
    }
  }
}
