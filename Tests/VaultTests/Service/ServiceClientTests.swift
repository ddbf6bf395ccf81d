import Foundation
import Glibc
import TestSupport
import Testing

@testable import Vault

/// A socket that answers as `vaultd` does, without its checks: every caller is the application `web`.
private final class SocketService: Sendable {
  let path: String
  private let listener: CInt
  /// What is written instead of an answer, if anything.
  private let instead: [UInt8]?
  /// After how many answers every connection ends without one.
  private let answerLimit: Int
  private let answered = Locked(0)
  /// How many calls must have arrived before one is answered.
  private let gathered: Int
  private let arrived = Locked(0)
  let connectionCount = Locked(0)
  /// The header of the last request.
  let lastHead = Locked("")

  init(
    _ store: StoreFixture, writing instead: [UInt8]? = nil, endingAfter answerLimit: Int = .max,
    gathering gathered: Int = 0, at path: String? = nil
  ) throws {
    self.path = path ?? store.folder + "/socket"
    self.instead = instead
    self.answerLimit = answerLimit
    self.gathered = gathered
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = unsafe withSocketAddress(self.path) { unsafe bind(listener, $0, $1) }
    try #require(bound == 0 && listen(listener, 16) == 0)
    let opened = try store.open()
    Thread.detachNewThread { [self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        connectionCount.withLock { $0 += 1 }
        Thread.detachNewThread { [self] in serve(connection, opened) }
      }
    }
  }

  private func serve(_ connection: CInt, _ store: SecretStore) {
    while answered.withLock({ $0 < answerLimit }), answerOne(on: connection, store) { answered.withLock { $0 += 1 } }
    // Takes what was asked, so that the connection ends in an orderly way.
    var bytes = [UInt8](repeating: 0, count: 4_096)
    if answered.withLock({ $0 == answerLimit }) { _ = unsafe recv(connection, &bytes, bytes.count, 0) }
    close(connection)
  }

  func end() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func made(_ call: ServiceCall, _ value: borrowing Secret, in store: SecretStore) -> ServiceAnswer {
    do throws(VaultError) {
      let group = try store.group(call.group)
      guard call.operation == .list else {
        return try group.answer(to: call, call.operation == .set ? value.opened : nil)
      }
      return ServiceAnswer(items: try group.listing(prefix: call.name, removed: call.listsRemoved).items)
    } catch {
      return ServiceAnswer(failure: error)
    }
  }

  private func answerOne(on connection: CInt, _ store: SecretStore) -> Bool {
    var head: [UInt8] = []
    var byte: UInt8 = 0
    while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
      guard unsafe recv(connection, &byte, 1, 0) == 1 else { return false }
      head.append(byte)
    }
    let text = String(decoding: head, as: UTF8.self)
    lastHead.withLock { $0 = text }
    let length = text.split(separator: "Content-Length: ").last.flatMap { Int($0.prefix { $0.isNumber }) } ?? 0
    var body = [UInt8](repeating: 0, count: length)
    guard unsafe length == 0 || recv(connection, &body, length, Int32(MSG_WAITALL)) == length else { return false }
    if let instead {
      _ = unsafe send(connection, instead, instead.count, Int32(MSG_NOSIGNAL))
      return false
    }
    let count = body.prefix(4).reduce(0) { $0 << 8 | Int($1) }
    guard let call = try? ServiceCall(decoding: Array(body[4..<4 + count])),
      let value = try? Secret(Array(body[(4 + count)...]))
    else { return false }
    arrived.withLock { if call.operation != .hello { $0 += 1 } }
    let end = Date(timeIntervalSinceNow: 20)
    while call.operation != .hello, arrived.withLock({ $0 < gathered }) {
      guard Date() < end else { return false }
      usleep(1_000)
    }
    let answer =
      call.operation == .hello
      ? ServiceAnswer(
        caller: ServiceAnswer.Caller(
          application: "web", ownerKey: store.ownerKeyBytes, groups: call.omitsGroups ? [] : ["default"]))
      : made(call, value, in: store)
    let fields = answer.encoded()
    var message = unsafe withUnsafeBytes(of: UInt32(fields.count).bigEndian) { unsafe Array($0) } + fields
    message += unsafe answer.secret?.withUnsafeBytes { unsafe Array($0) } ?? []
    message = Array("HTTP/1.1 200 OK\r\ncontent-length: \(message.count)\r\n\r\n".utf8) + message
    // In two parts, as a slow network would deliver them.
    let cut = Int.random(in: 0...message.count)
    for part in [message[..<cut], message[cut...]] where !part.isEmpty {
      guard unsafe part.withUnsafeBytes({ unsafe send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }) > 0
      else {
        return false
      }
    }
    return true
  }
}

struct ServiceClientTests {
  private func open(_ service: SocketService, _ store: StoreFixture) throws -> SecretStore {
    try SecretStore.open(
      at: StoreLocation(environment: ["VAULT_HOME": store.folder + "/nothing", "VAULT_SOCKET": service.path]))
  }

  @Test func `a store is read and changed through the socket as through its files`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture)
    defer { service.end() }
    let store = try open(service, fixture)
    #expect(try store.application == "web" && store.groupNames() == ["default"] && store.defaultGroupName == "web")
    let group = try store.group("default")
    #expect(try group.set("db/password", to: "s3cr3t", Details(label: .to("DB"), attributes: ["env": "prod"])) == 1)
    #expect(try group.set("db/password", to: "n3w", ifVersion: 1) == 2)
    #expect(throws: VaultError.conflict(expected: 1, present: 2)) {
      try group.set("db/password", to: "x", ifVersion: 1)
    }
    #expect(try fixture.value("db/password") == "n3w")
    let opened = try group.open("db/password")
    #expect(opened.item.label == "DB" && opened.item.attributes == ["env": "prod"] && opened.item.version == 2)
    let text = opened.secret.exportInsecurelyAsString()
    #expect(text == "n3w")
    let old = try group.get("db/password", version: 1).exportInsecurelyAsString()
    #expect(old == "s3cr3t")
    #expect(try group.change("db/password", Details(label: .remove)) == 3)
    #expect(try group.item("db/password").label == nil)
    #expect(try group.history("db/password").map(\.version) == [3, 2, 1])
    try group.set("empty", to: [UInt8]())
    let none = try group.get("empty").count
    #expect(none == 0)
    #expect(try group.items().map(\.name.description) == ["db/password", "empty"])
    #expect(try group.items(prefix: "db/").count == 1)
    try group.remove("db/password")
    #expect(throws: VaultError.notFound(.item)) { _ = try group.item("db/password") }
    #expect(try group.listing(removed: true).items.map(\.name.description) == ["db/password"])
    #expect(try group.restore("db/password") == 5)
    try group.destroy("db/password")
    #expect(try group.history("db/password").map(\.isRemoved) == [true])
  }

  @Test func `a child process that is forked asks on a connection of its own`() async {
    await #expect(processExitsWith: .success) {
      let fixture = try StoreFixture()
      let service = try SocketService(fixture)
      defer { service.end() }
      let store = try SecretStore.open(
        at: StoreLocation(environment: ["VAULT_HOME": fixture.folder + "/nothing", "VAULT_SOCKET": service.path]))
      let group = try store.group("default")
      try group.set("item", to: "value")
      let status = HiddenCalls.status { (try? group.get("item").exportInsecurelyAsString()) == "value" ? 0 : 1 }
      precondition(status == 0)
      precondition(service.connectionCount.withLock { $0 } == 2)
      let value = try group.get("item").exportInsecurelyAsString()
      precondition(value == "value" && service.connectionCount.withLock { $0 } == 2)
    }
  }

  @Test func `calls of several threads are answered at the same time, and eight connections stay`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, gathering: 12)
    defer { service.end() }
    let group = try open(service, fixture).group("default")
    #expect(onThreads(12) { try group.set("item \($0)", to: "a") }.isEmpty)
    #expect(service.connectionCount.withLock { $0 } == 12)
    #expect(onThreads(8) { _ = try group.get("item \($0)") }.isEmpty)
    #expect(service.connectionCount.withLock { $0 } == 12)
  }

  @Test func `a value of the largest size can be set and read`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture)
    defer { service.end() }
    let group = try open(service, fixture).group("default")
    let value = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    try group.set("big", to: value)
    let read = try group.get("big").withBytes { bytes in (0..<bytes.count).allSatisfy { bytes[$0] == value[$0] } }
    #expect(read)
  }

  @Test func `operations that need a credential or the owner say so`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture)
    defer { service.end() }
    let store = try open(service, fixture)
    #expect(throws: VaultError.denied(.throughService)) { try store.group("default").transaction { _ in } }
    #expect(throws: VaultError.denied(.throughService)) { _ = try store.group("default").info() }
    #expect(throws: VaultError.denied(.throughService)) { _ = try store.group("default").watch() }
    #expect(throws: VaultError.denied(.ownerOnly)) { try store.createGroup("new") }
    #expect(throws: VaultError.denied(.ownerOnly)) { _ = try store.applications.list() }
  }

  @Test func `if an answer ends too early, only the error for a change says that it may have been made`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, writing: Array("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n".utf8))
    defer { service.end() }
    #expect(throws: VaultError.service(.busy, "vaultd did not answer in time, or ended")) {
      _ = try open(service, fixture)
    }
    let silent = try StoreFixture()
    let other = try SocketService(silent, endingAfter: 1)
    defer { other.end() }
    let group = try open(other, silent).group("default")
    #expect(throws: VaultError.service(.busy, "vaultd did not answer in time, or ended; the change may have been made"))
    {
      try group.set("a", to: "b")
    }
  }

  @Test func `a socket whose queue is full is not taken for one on which nobody listens`() throws {
    let path = NSTemporaryDirectory() + "vault-\(UUID().uuidString.prefix(13))"
    defer { _ = unsafe unlink(path) }
    func make(_ call: (CInt, UnsafePointer<sockaddr>?, socklen_t) -> CInt) -> (descriptor: CInt, isDone: Bool) {
      let made = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      return (made, unsafe withSocketAddress(path) { unsafe call(made, $0, $1) } == 0)
    }
    var sockets = unsafe [make(bind)]
    defer { for one in sockets { close(one.descriptor) } }
    try #require(sockets[0].isDone && listen(sockets[0].descriptor, 0) == 0)
    repeat { unsafe sockets.append(make(connect)) } while sockets.last?.isDone == true && sockets.count < 100
    #expect(throws: VaultError.service(.busy, "vaultd did not answer in time, or ended")) {
      _ = try ServiceConnection(path, patience: 1)
    }
  }

  @Test func `a question that gets no answer does not speak of a change`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, endingAfter: 0)
    defer { service.end() }
    let location = try StoreLocation(environment: [
      "VAULT_HOME": fixture.location.home, "VAULT_STATE": fixture.folder + "/state", "VAULT_SOCKET": service.path,
    ])
    let owner = try SecretStore.open(at: location, unlocking: .keyFile(fixture.keyFile))
    let noAnswer = VaultError.service(.busy, "vaultd did not answer in time, or ended")
    #expect(throws: noAnswer) { try owner.logEpoch(of: "default") }
    #expect(throws: noAnswer) { try owner.requireLog(of: "default", at: RemoteFixture.plain()) }
  }

  // MARK: A vaultd that is stopped

  /// A socket whose connections nobody takes, as of a stopped `vaultd`, and one of these connections.
  private func stoppedService(_ fixture: StoreFixture) throws -> (listener: CInt, connection: ServiceConnection) {
    let path = fixture.folder + "/socket"
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let bound = unsafe withSocketAddress(path) { unsafe bind(listener, $0, $1) }
    try #require(bound == 0 && listen(listener, 16) == 0)
    return (listener, try ServiceConnection(path, patience: 86_400, silence: 1))
  }

  @Test func `an answer that may take long is not waited for if vaultd is stopped`() throws {
    let fixture = try StoreFixture()
    let (listener, connection) = try stoppedService(fixture)
    defer { close(listener) }
    #expect(throws: ServiceConnection.brokenChange) { try connection.answer(to: "/vault/1/base/team", []) }
  }

  @Test func `an answer that takes long is waited for as long as vaultd answers others`() throws {
    let fixture = try StoreFixture()
    let (listener, connection) = try stoppedService(fixture)
    defer { close(listener) }
    Thread.detachNewThread {
      let first = accept(listener, nil, nil)
      // It asks on another connection, and that answer ends the silence of the first.
      let second = accept(listener, nil, nil)
      // Not before it has asked, or its question would fail.
      var question = [UInt8](repeating: 0, count: 4_096)
      _ = unsafe recv(second, &question, question.count, 0)
      let empty = Array("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".utf8)
      _ = unsafe send(second, empty, empty.count, Int32(MSG_NOSIGNAL))
      let answer = Array("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n".utf8)
      _ = unsafe send(first, answer, answer.count, Int32(MSG_NOSIGNAL))
      for one in [first, second] { close(one) }
    }
    #expect(throws: VaultError.locked(.service("it is sealed, or cannot write its record"))) {
      try connection.answer(to: "/vault/1/base/team", [])
    }
  }

  @Test func `a file is not sent to a vaultd that answers nothing, so its outcome is known`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, endingAfter: 0)
    defer { service.end() }
    let location = try StoreLocation(environment: [
      "VAULT_HOME": fixture.location.home, "VAULT_STATE": fixture.folder + "/state", "VAULT_SOCKET": service.path,
    ])
    let publisher = ServicePublisher(group: "default", location: location)
    let state = PublishedState(try fixture.open().group("default").verifiedState())
    #expect(throws: VaultError.unordered(.unreachable("vaultd does not answer"))) {
      try publisher.publish(fileAt: "/nowhere", holding: state, after: state)
    }
  }

  @Test func `an answer takes no more memory than a value or a list can need`() throws {
    let fixture = try StoreFixture()
    let service = try SocketService(
      fixture, writing: Array("HTTP/1.1 200 OK\r\ncontent-length: 200000000\r\n\r\n".utf8))
    defer { service.end() }
    #expect(throws: VaultError.service(.overLimit, "vaultd sent an answer that is too large")) {
      _ = try open(service, fixture)
    }
  }

  @Test func `a named socket that nobody listens on is an error, and a standard one is skipped`() throws {
    let fixture = try StoreFixture()
    let nowhere = fixture.folder + "/none"
    #expect(throws: VaultError.locked(.service("nobody listens on its socket"))) {
      try SecretStore.open(at: StoreLocation(environment: ["VAULT_HOME": nowhere, "VAULT_SOCKET": nowhere]))
    }
    #expect(throws: VaultError.noStore(path: nowhere)) {
      try SecretStore.open(
        at: StoreLocation(environment: ["VAULT_HOME": nowhere, "XDG_RUNTIME_DIR": fixture.folder]))
    }
  }

  @Test func `a store's files are opened if possible, even if somebody listens on a standard socket`() throws {
    let fixture = try StoreFixture()
    let runtime = fixture.folder + "/run"
    try FileManager.default.createDirectory(atPath: runtime + "/vault", withIntermediateDirectories: true)
    let service = try SocketService(fixture)
    defer { service.end() }
    try FileManager.default.moveItem(atPath: service.path, toPath: runtime + "/vault/socket")
    let environment = [
      "VAULT_HOME": fixture.folder + "/home", "VAULT_STATE": fixture.folder + "/state", "XDG_RUNTIME_DIR": runtime,
    ]
    #expect(try SecretStore.open(at: StoreLocation(environment: environment)).application == nil)
    let other = environment.merging(["VAULT_HOME": fixture.folder + "/nothing"]) { $1 }
    #expect(try SecretStore.open(at: StoreLocation(environment: other)).application == "web")
  }

  // MARK: A vaultd of another store

  @Test func `a request says which store it means if VAULT_HOME names one, and a copy is another store`() throws {
    let (fixture, copy) = (try StoreFixture(), TemporaryFolder())
    let service = try SocketService(fixture)
    defer { service.end() }
    let home = fixture.location.home
    try FileManager.default.copyItem(atPath: home, toPath: copy.path + "/store")
    try FileManager.default.createSymbolicLink(atPath: copy.path + "/link", withDestinationPath: home)
    func mark(_ environment: [String: String]) throws -> Substring? {
      let location = try StoreLocation(environment: environment.merging(["VAULT_SOCKET": service.path]) { $1 })
      _ = try SecretStore.open(at: location)
      return service.lastHead.withLock { $0.split(separator: "\r\n").first { $0.hasPrefix("X-Vault-Store: ") } }
    }
    let named = try #require(try mark(["VAULT_HOME": home]))
    #expect(try mark(["VAULT_HOME": copy.path + "/link"]) == named)
    let other = try #require(try mark(["VAULT_HOME": copy.path + "/store"]))
    #expect(other != named)
    #expect(try mark(["VAULT_HOME": copy.path + "/nothing"]) == nil)
    #expect(try mark(["HOME": "/", "XDG_DATA_HOME": copy.path]) == nil)
  }

  private func refusal(_ served: String) -> [UInt8] {
    Array("HTTP/1.1 421 Misdirected Request\r\ncontent-length: \(served.utf8.count)\r\n\r\n\(served)".utf8)
  }

  @Test(arguments: ["/var/lib/vault", ""])
  func `a vaultd that serves another store is an error with the paths, whatever it is asked`(_ served: String) throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, writing: refusal(served))
    defer { service.end() }
    let home = fixture.location.home
    let location = try StoreLocation(environment: [
      "VAULT_HOME": home, "VAULT_STATE": fixture.folder + "/state", "VAULT_SOCKET": service.path,
    ])
    let refused = VaultError.locked(.otherStore(home, served: served.isEmpty ? nil : served))
    #expect(throws: refused) { _ = try SecretStore.open(at: location) }
    #expect(throws: refused) { _ = try SecretStore.sealService(at: location) }
    #expect(throws: refused) { _ = try SecretStore.askServiceToJoin(at: location) }
    let owner = try SecretStore.open(at: location, unlocking: .keyFile(fixture.keyFile))
    #expect(throws: refused) { _ = try owner.logEpoch(of: "default") }
    #expect(throws: refused) { try owner.requireLog(of: "default", at: RemoteFixture.plain()) }
    let publisher = ServicePublisher(group: "default", location: location)
    #expect(throws: refused) { try publisher.catchUp() }
    let state = PublishedState(try owner.group("default").verifiedState())
    #expect(throws: refused) { try publisher.publish(fileAt: "/nowhere", holding: state, after: state) }
  }

  @Test func `a vaultd of another store on a standard socket is skipped`() throws {
    let (fixture, runtime) = (try StoreFixture(), TemporaryFolder())
    try FileManager.default.createDirectory(atPath: runtime.path + "/vault", withIntermediateDirectories: true)
    let services = [
      try SocketService(fixture, writing: refusal("/elsewhere"), at: runtime.path + "/vault/socket"),
      try SocketService(fixture, writing: refusal(""), at: runtime.path + "/vault/secrets"),
    ]
    defer { for service in services { service.end() } }
    let environment = ["VAULT_HOME": fixture.location.home, "XDG_RUNTIME_DIR": runtime.path]
    let location = try StoreLocation(environment: environment)
    // Nobody here serves this store, but this user could have closed the first.
    #expect(throws: VaultError.locked(.otherStore(fixture.location.home, served: "/elsewhere"))) {
      try SecretStore.sealService(at: location)
    }
    #expect(throws: VaultError.locked(.otherStore(fixture.location.home, served: "/elsewhere"))) {
      _ = try SecretStore.open(at: location)
    }
    services[0].end()
    #expect(unsafe unlink(runtime.path + "/vault/socket") == 0)
    #expect(try !SecretStore.sealService(at: location))
  }

  @Test(
    arguments: [
      "", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
      "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n\u{7F}\u{7F}\u{7F}\u{7F}abcd", "SSH-2.0-x\r\n\r\n",
      "HTTP/1.1 503 Sealed\r\ncontent-length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabcd",
      String(repeating: "x", count: 9_000),
    ])
  func `an answer that is not understood is an error`(answer: String) throws {
    let fixture = try StoreFixture()
    let service = try SocketService(fixture, writing: Array(answer.utf8))
    defer { service.end() }
    #expect(throws: VaultError.self) { _ = try open(service, fixture) }
  }

  private func join(answered answer: ServiceAnswer) throws -> [JoinedGroup] {
    let fixture = try StoreFixture()
    let fields = answer.encoded()
    var body = ByteWriter()
    body.writeCounted32(fields)
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.bytes.count)\r\n\r\n".utf8)
    let service = try SocketService(fixture, writing: head + body.bytes)
    defer { service.end() }
    return try SecretStore.askServiceToJoin(
      at: StoreLocation(environment: ["VAULT_HOME": fixture.folder, "VAULT_SOCKET": service.path]))
  }

  @Test func `a vaultd that joins a credential answers with its groups, or says why it cannot`() throws {
    var answer = ServiceAnswer()
    #expect(try join(answered: answer).isEmpty)
    answer.joined = [JoinedGroup(name: "web", epoch: 7), JoinedGroup(name: "team.shared", epoch: 1)]
    #expect(try join(answered: answer) == answer.joined)
    answer.joined = [JoinedGroup(name: "../web", epoch: 1)]
    #expect(throws: VaultError.unexpected("vaultd sent an answer that is not understood")) {
      try join(answered: answer)
    }
    #expect(throws: VaultError.service(.denied, "vaultd: permission denied")) {
      try join(answered: ServiceAnswer(failure: .service(.denied, "permission denied")))
    }
    #expect(throws: VaultError.service(.notFound, "vaultd: no such group")) {
      try join(answered: ServiceAnswer(failure: .notFound(.group)))
    }
  }

  @Test func `without a vaultd that listens, joining ends as busy`() throws {
    let location = try StoreLocation(environment: ["VAULT_HOME": "/nonexistent", "VAULT_SOCKET": "/nonexistent/socket"])
    #expect(throws: VaultError.service(.busy, "no vaultd listens on its socket")) {
      try SecretStore.askServiceToJoin(at: location)
    }
  }
}

/// Calls `body` with the address of the Unix socket at `path`, and the number of its bytes.
private func withSocketAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
  return unsafe withUnsafePointer(to: &address) {
    unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
    }
  }
}
