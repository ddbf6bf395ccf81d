import Foundation
import HTTPTypes
import Synchronization
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// Who may do what, and what is written down about it.
struct CallerTests {
  @Test func `a caller without a binding gets nothing, and is recorded`() async throws {
    let daemon = try RunningDaemon(binds: false)
    try daemon.set("password", in: "default", to: "secret")
    let answer = try await daemon.curl("/v1/default/data/password")
    #expect(answer.status == 403)
    #expect(!answer.body.contains("secret"))
    let record = try #require(try daemon.records().last)
    #expect(record.outcome == .denied)
    #expect(record.caller.who == .nobody)
    #expect(record.item == "password")
    #expect(record.caller.uid == getuid())
  }

  @Test func `a group that the owner did not grant is denied like one that does not exist`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("password", in: "default", to: "secret")
    let denied = try await daemon.curl("/v1/default/data/password")
    let absent = try await daemon.curl("/v1/nowhere/data/password")
    #expect(denied.status == 403)
    #expect(denied.body == absent.body)
    #expect(try daemon.records().suffix(2).map(\.outcome) == [.denied, .denied])
  }

  @Test func `the store's own groups are not mounts`() async throws {
    let daemon = try RunningDaemon()
    for group in ["vault.service", "vault.audit", "vault.owner"] {
      #expect(try await daemon.curl("/v1/\(group)/data/audit-key").status == 403)
      #expect(try await daemon.curl("/v1/\(group)/metadata?list=true").status == 403)
    }
  }

  @Test func `a group with a name that the interface reserves is not a mount, and the answer says so`() async throws {
    let daemon = try RunningDaemon()
    let owner = try daemon.owner()
    for group in ["sys", "auth", "identity", "cubbyhole", "events"] {
      _ = try owner.createGroup(group)
      _ = try owner.grant(.write, in: group, to: "web")
      _ = try owner.grant(.write, in: group, to: Applications.service)
      let answer = try await daemon.curl("/v1/\(group)/data/a")
      #expect(answer.status == 404 && answer.body.contains("'\(group)' is not a mount"))
      #expect(try await daemon.curl("/v1/sys/internal/ui/mounts/\(group)/data/a").status == 404)
    }
    let mounts = try await daemon.curl("/v1/sys/mounts").body
    #expect(mounts.contains("\"web/\"") && !mounts.contains("\"identity/\""))
  }

  @Test func `an answered read is in the record`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("db/password", in: "web", to: "secret")
    let answer = try await daemon.curl("/v1/web/data/db/password")
    #expect(answer.status == 200)
    #expect(answer.body.contains(#""data":{"value":"secret"}"#))
    let record = try #require(try daemon.records().last)
    #expect(record.action == .read)
    #expect(record.caller.who == .application("web"))
    #expect(record.group == "web")
    #expect(record.item == "db/password")
    #expect(record.outcome == .allowed)
  }

  @Test func `an executable alone matches nobody, and neither does a unit if the process is not certain`()
    throws
  {
    var peer = Peer()
    (peer.user, peer.unit, peer.executable, peer.process) = (33, "web.service", "/bin/web", 7)
    let alternatives: [ServiceBinding.Alternative] = [
      try .init(unit: "web.service"), try .init(exe: "/bin/web"), try .init(unit: "web.service", exe: "/bin/web"),
    ]
    #expect(alternatives.allSatisfy { !$0.matches(peer) })
    #expect(try ServiceBinding.Alternative(unit: "web.service", user: "33").matches(peer))
    #expect(try !ServiceBinding.Alternative(unit: "other.service", user: "33").matches(peer))
    peer.isProcessCertain = true
    #expect(alternatives.map { $0.matches(peer) } == [true, false, true])
  }

  @Test(arguments: [
    (VaultError.conflict(expected: 1, present: 2), HTTPResponse.Status.badRequest, AuditRecord.Outcome(.conflict)),
    (.busy(group: "web"), .serviceUnavailable, .init(.busy)),
    (.unordered(group: "web", .outcomeUnknown(nil)), .serviceUnavailable, .init(.busy)),
    (.damaged(group: "web", level: .manifest, detail: ""), .internalServerError, .init(.damaged)),
    (.notFound(.item), .notFound, .init(.notFound)),
    (.locked(.credential(.missing)), .serviceUnavailable, .init(.locked)),
  ])
  func `the record says why a request failed, where the status does not`(
    _ error: VaultError, _ status: HTTPResponse.Status, _ recorded: AuditRecord.Outcome
  ) {
    let refusal = Refusal(error)
    #expect(refusal.status == status && refusal.outcome == recorded)
  }

  @Test(arguments: [true, false])
  func `a user that does not exist is looked up once in a while if that takes long`(_ takesLong: Bool) throws {
    let daemon = try RunningDaemon(binds: false, serves: false)
    try daemon.bind("web", user: "missing")
    let looks = Atomic(0)
    let callers = Callers(slowness: takesLong ? .zero : .seconds(3_600)) { _ in
      looks.add(1, ordering: .relaxed)
      return nil
    }
    var peer = Peer()
    peer.user = getuid()
    let owner = try daemon.owner()
    for _ in 0..<10 { #expect(try callers.application(of: peer, in: owner) == nil) }
    // A slow machine may take more than the five seconds after which it is asked again.
    let count = looks.load(ordering: .relaxed)
    #expect(takesLong ? count < 10 : count == 10)
  }

  @Test func `a change that waits is not made for an application that has lost its rights meanwhile`() throws {
    let daemon = try RunningDaemon(serves: false)
    let owner = try daemon.owner()
    let access = Access(store: try #require(daemon.seal.current?.store))
    let group = try access.group("web", for: "web", .write)
    try group.set("a", to: "before")
    try owner.grant(.read, in: "web", to: "web")
    #expect(throws: VaultError.denied(.readOnly)) { try group.set("a", to: "after") }
    #expect(throws: VaultError.denied(.readOnly)) { try group.answering(ChangeID()).remove("a") }
    let call = ServiceCall(.set, "web", "a")
    #expect(NativeCall.answer(to: call, try Secret("after"), in: group).failure == .denied(.readOnly))
    try owner.revoke("web", from: "web")
    #expect(throws: VaultError.denied(.notAMember)) { try group.transaction { $0.set("a", to: "after") } }
    #expect(try daemon.text("a", in: "web") == "before")
  }

  @Test func `only units of the right manager are units`() {
    let system = ServiceManager.system
    #expect(system.unit(inControlGroup: "0::/system.slice/web.service\n") == "web.service")
    #expect(system.unit(inControlGroup: "0::/system.slice/web.service/worker\n") == "web.service")
    #expect(system.unit(inControlGroup: "0::/a.slice/a-b.slice/web@1.service\n") == "web@1.service")
    let inUser = "0::/user.slice/user-33.slice/user@33.service/app.slice/web.service\n"
    #expect(system.unit(inControlGroup: inUser) == "user@33.service")
    #expect(ServiceManager.user(33).unit(inControlGroup: inUser) == "web.service")
    #expect(ServiceManager.user(34).unit(inControlGroup: inUser) == nil)
    #expect(ServiceManager.user(33).unit(inControlGroup: "0::/system.slice/web.service\n") == nil)
    #expect(system.unit(inControlGroup: "0::/user.slice/user-33.slice/session-1.scope\n") == nil)
    #expect(system.unit(inControlGroup: "0::/../system.slice/web.service\n") == nil)
    #expect(system.unit(inControlGroup: "0::/system.slice/web.service (deleted)\n") == nil)
    #expect(system.unit(inControlGroup: "0::/system.slice/web.service/worker (deleted)\n") == nil)
    #expect(system.unit(inControlGroup: "1:name=x:/system.slice/web.service\n") == nil)
    #expect(system.unit(inControlGroup: "0::/\n") == nil)
  }

  @Test func `a live peer is identified by its process`() throws {
    var sockets: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &sockets) == 0)
    defer { for socket in sockets { close(socket) } }
    let peer = try #require(Peer(of: sockets[0]))
    #expect(peer.process == getpid())
    #expect(peer.user == getuid())
    #expect(peer.executable != nil)
    let withoutDescriptor = try #require(Peer(of: sockets[0], usesDescriptor: false))
    #expect(!withoutDescriptor.isProcessCertain)
    #expect(withoutDescriptor.user == getuid())
  }

  /// Connects to a socket in a process that ends, while its child keeps the connection open.
  private static let abandon = """
    import os, socket, sys
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    if os.fork() == 0:
        connection.recv(1)
    os._exit(0)
    """

  @Test func `the folder of a socket is made, and others can pass through it`() throws {
    let folder = NSTemporaryDirectory() + "socket-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    close(try ListeningSocket.unix(at: folder + "/socket").descriptor)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder)
    #expect(attributes[.posixPermissions] as? Int == 0o755)
    #expect(throws: ListeningSocket.Problem.path(folder + "/a/b/socket", ENOENT)) {
      try ListeningSocket.unix(at: folder + "/a/b/socket")
    }
  }

  @Test(arguments: [true, false])
  func `only the socket of a daemon that is gone is removed to make a new one`(isLink: Bool) throws {
    let folder = NSTemporaryDirectory() + "socket-\(UUID().uuidString.prefix(8))"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (path, target) = (folder + "/socket", folder + "/target")
    close(try ListeningSocket.unix(at: path).descriptor)
    // A program that another test starts has a copy of the socket until it runs.
    for attempt in 1... {
      do { close(try ListeningSocket.unix(at: path).descriptor) } catch ListeningSocket.Problem.inUse(_) {
        try #require(attempt < 6_000)
        usleep(10_000)
        continue
      }
      break
    }
    try FileManager.default.removeItem(atPath: path)
    try Data("credential".utf8).write(to: URL(fileURLWithPath: isLink ? target : path))
    if isLink { try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target) }
    #expect(throws: ListeningSocket.Problem.path(path, EEXIST)) { try ListeningSocket.unix(at: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("credential".utf8))
  }

  @Test func `a peer whose process is gone is identified only by its user, even if its number was reused`() async throws
  {
    let path = NSTemporaryDirectory() + "peer-\(UUID().uuidString.prefix(8))"
    let listening = try ListeningSocket.unix(at: path)
    defer {
      close(listening.descriptor)
      unlink(path)
    }
    let program = try Program("/usr/bin/python3", ["-c", Self.abandon, path])
    let connection = await onThread { () -> Int32 in
      let connection = accept(listening.descriptor, nil, nil)
      _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
      program.wait()
      return connection
    }
    defer { close(connection) }
    let gone = try #require(Peer(of: connection))
    #expect(gone.user == getuid())
    #expect(gone.process == nil && gone.unit == nil && gone.executable == nil)
    // Only root can choose the number of the next process; others may have it first.
    for _ in 0..<20 where getuid() == 0 {
      let last = URL(filePath: "/proc/sys/kernel/ns_last_pid")
      guard (try? Data(String(program.number - 1).utf8).write(to: last)) != nil else { break }
      let other = try Program("/bin/sleep", ["60"])
      defer {
        kill(other.number, SIGKILL)
        other.wait()
      }
      guard other.number == program.number else { continue }
      let peer = try #require(Peer(of: connection))
      #expect(peer.process == nil && peer.executable == nil)
      #expect(try #require(Peer(of: connection, usesDescriptor: false)).isProcessCertain == false)
      break
    }
  }

  @Test func `without descriptors of peers, a binding by user still works`() async throws {
    let daemon = try RunningDaemon { $0.usesPeerDescriptors = false }
    try daemon.set("a", in: "web", to: "secret")
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
  }

  @Test func `a caller that matches two applications is neither`() async throws {
    let daemon = try RunningDaemon()
    try daemon.bind("other", user: String(getuid()))
    #expect(try await daemon.curl("/v1/web/data/a").status == 403)
    try daemon.unbind("other")
    #expect(try await daemon.curl("/v1/web/data/a").status == 404)
  }

  @Test func `without a durable record there is no answer`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
    let audit = daemon.folder + "/home/groups/vault.audit"
    try FileManager.default.moveItem(atPath: audit, toPath: audit + ".away")
    let answer = try await daemon.curl("/v1/web/data/a")
    #expect(answer.status == 503)
    #expect(!answer.body.contains("secret"))
    #expect(try await daemon.curl("/v1/auth/unix/login", "-X", "POST").status == 503)
    try FileManager.default.moveItem(atPath: audit + ".away", toPath: audit)
    #expect(try await daemon.curl("/v1/web/data/a").status == 200)
    #expect(try daemon.items(of: "vault.tokens").isEmpty)
  }

  @Test(.timeLimit(.minutes(5))) func `awaited reads are answered at the same time`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    // When all tests begin, a daemon's first answer may take longer than the library waits. curl waits without a limit.
    try await daemon.curl("/v1/sys/init")
    let store = try await SecretStore.open(
      at: StoreLocation(environment: ["VAULT_HOME": daemon.folder + "/none", "VAULT_SOCKET": daemon.socket]))
    let group = try store.group("web")
    let record = try daemon.owner().group("vault.audit")
    func connectionCount() throws -> Int {
      // Such a file has no size, so it is read until its end.
      let file = try #require(FileHandle(forReadingAtPath: "/proc/net/unix"))
      return try String(decoding: file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        .count { $0.hasSuffix(" " + daemon.socket) } - 1
    }
    var most = 0
    // On a busy machine the calls may give up before all of them have a connection.
    for _ in 0..<5 where most < 8 {
      let (begun, holding) = AsyncStream<Void>.makeStream()
      let end = DispatchSemaphore(value: 0)
      // Nothing can be recorded until this ends, so no call is answered.
      async let held: Void = record.transaction { _ in
        holding.finish()
        end.wait()
      }
      for await _ in begun {}
      let reads = (0..<8).map { _ in Task { try? await group.get("a", as: String.self) } }
      let deadline = ContinuousClock.now + .seconds(8)
      while most < 8, .now < deadline {
        most = max(most, try connectionCount())
        try await Task.sleep(for: .milliseconds(5))
      }
      end.signal()
      try await held
      for read in reads { _ = await read.value }
    }
    #expect(most == 8)
  }

  @Test func `a change whose record cannot be written is not made`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "before")
    let audit = daemon.folder + "/home/groups/vault.audit"
    try FileManager.default.moveItem(atPath: audit, toPath: audit + ".away")
    #expect(try await daemon.curl("/v1/web/data/a", "-d", #"{"data":{"value":"after"}}"#).status == 503)
    #expect(try await daemon.curl("/v1/web/metadata/a", "-X", "DELETE").status == 503)
    try FileManager.default.moveItem(atPath: audit + ".away", toPath: audit)
    #expect(try daemon.text("a", in: "web") == "before")
  }

  @Test func `a change is recorded before it is made, and once more if it fails`() async throws {
    let daemon = try RunningDaemon()
    let body = #"{"data":{"value":"1"},"options":{"cas":0}}"#
    #expect(try await daemon.curl("/v1/web/data/a", "-d", body).status == 200)
    #expect(try await daemon.curl("/v1/web/data/a", "-d", body).status == 400)
    #expect(try await daemon.curl("/v1/default/data/a", "-d", body).status == 403)
    let outcomes = try daemon.records().filter { $0.action == .write }.map(\.outcome)
    #expect(outcomes == [.allowed, .allowed, .init(.usage), .denied])
  }
}
