import Foundation
import NIOCore
import ServiceLifecycle
import Synchronization
import Testing
import VaultFoundation

@testable import Authenticators
@testable import GroupFile
@testable import Vault
@testable import VaultDaemon

/// The agent as OpenSSH's own programs use it.
struct SSHAgentTests {
  private let daemon: RunningDaemon
  private let socket: String

  init() throws {
    let path = NSTemporaryDirectory() + "agent-\(UUID().uuidString.prefix(8))"
    socket = path
    daemon = try RunningDaemon(others: [try .unix(at: path, name: ListeningSocket.agent)]) {
      $0.pinentry = path + "-pinentry"
    }
  }

  private func run(_ words: String...) async throws -> String {
    try await RunningDaemon.output(
      of: "/usr/bin/env", ["SSH_AUTH_SOCK=\(socket)", "LC_ALL=C", "sh", "-c", words.joined(separator: " ") + " 2>&1"])
  }

  /// Makes a key with ssh-keygen and stores it as `vault ssh add` does.
  private func makeKey(
    _ name: String, _ kind: String = "ed25519", in group: String, expires: Timestamp? = nil
  ) async throws -> String {
    let path = daemon.folder + "/" + name.filter(\.isLetter)
    _ = try await run("ssh-keygen -q -t \(kind) -N '' -f \(path)")
    let text = try String(contentsOfFile: path + ".pub", encoding: .utf8).split(separator: " ").prefix(2)
      .joined(separator: " ")
    let file = try String(contentsOfFile: path, encoding: .utf8)
    try await daemon.owner().group(group).set(
      name, to: file, Details(attributes: ["ssh-public-key": text], expires: expires.map { .to($0) } ?? .keep))
    return text
  }

  @Test func `ssh-add lists the keys of the caller's groups and no others`() async throws {
    defer { unlink(socket) }
    _ = try await makeKey("elsewhere", in: "default")
    #expect(try await run("ssh-add -l").contains("no identities"))
    let text = try await makeKey("ssh/mine", in: "web")
    let listed = try await run("ssh-add -L")
    #expect(listed == "\(text) ssh/mine\n")
    #expect(try await run("ssh-add -l").hasSuffix(" ssh/mine (ED25519)\n"))
  }

  /// What ssh-keygen says of its own signature with a key of the agent.
  private func signAndVerify(_ key: String) async throws -> String {
    let folder = daemon.folder
    try "me \(key)\n".write(toFile: folder + "/signers", atomically: true, encoding: .utf8)
    try "\(key)\n".write(toFile: folder + "/key.pub", atomically: true, encoding: .utf8)
    try "signed\n".write(toFile: folder + "/text", atomically: true, encoding: .utf8)
    unlink(folder + "/text.sig")
    return try await run(
      "ssh-keygen -Y sign -n file -f \(folder)/key.pub \(folder)/text;",
      "ssh-keygen -Y verify -n file -I me -f \(folder)/signers -s \(folder)/text.sig < \(folder)/text")
  }

  @Test(arguments: ["ed25519", "rsa -b 2048", "rsa -b 3072", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521"])
  func `ssh-keygen signs with a key that stays in the daemon, and the signature is in the record`(kind: String)
    async throws
  {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", kind, in: "web")
    // Numbers that begin with a zero byte are one in 256.
    for _ in 0..<4 {
      let said = try await signAndVerify(text)
      #expect(said.contains("Good \"file\" signature for me"), "\(said)")
    }
    let record = try #require(try daemon.records().last { $0.action == .sign })
    #expect(record.outcome == .allowed && record.group == "web" && record.item == "ssh/mine")
  }

  private func answerQuestions(_ answer: String) async throws {
    try await RunningDaemon.writePinentry(saying: answer, to: socket + "-pinentry")
  }

  @Test func `a key with confirmation signs only if a person agrees, and they see which program asks`() async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.open"]
    defer { for end in ends { unlink(socket + end) } }
    // A library has left a descriptor open on exec.
    let path = daemon.folder + "/left open"
    let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
    defer { close(descriptor) }
    let name = "ssh/mine" + String(repeating: " ", count: 200) + "?"
    let text = try await makeKey(name, in: "web")
    try await daemon.owner().group("web").change(name, Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    // There is nobody to ask.
    #expect(try await !signAndVerify(text).contains("Good"))
    try await answerQuestions("ERR 83886179 cancelled")
    #expect(try await !signAndVerify(text).contains("Good"))
    #expect(try daemon.records().last { $0.action == .sign }?.outcome == .denied)
    try await answerQuestions("OK")
    let said = try await signAndVerify(text)
    #expect(said.contains("Good"), "\(said)")
    let asked = try String(contentsOfFile: socket + "-pinentry.asked", encoding: .utf8)
    #expect(asked.contains("ssh-keygen") && asked.contains("ssh/mine") && asked.contains("…"))
    let opened = try String(contentsOfFile: socket + "-pinentry.open", encoding: .utf8)
    #expect(opened.contains("/dev/null") && !opened.contains(path), "\(opened)")
  }

  @Test func `an expired key is neither listed nor used`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/old", in: "web", expires: Timestamp(milliseconds: 1_000))
    #expect(try await run("ssh-add -l").contains("no identities"))
    #expect(try await !signAndVerify(text).contains("Good"))
  }

  private func counted(_ bytes: [UInt8]) -> [UInt8] {
    [0, 0, UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)] + bytes
  }

  private func request(toSignWith key: String, flag: UInt8 = 0) throws -> [UInt8] {
    let blob = try #require(Data(base64Encoded: String(key.split(separator: " ")[1])))
    return counted([13] + counted(Array(blob)) + counted([1, 2, 3]) + [0, 0, 0, flag])
  }

  @Test func `a signature lists a group only if it has changed, and every change counts`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", in: "web")
    let (path, message) = (socket, try request(toSignWith: text))
    let reads = Mutex(0)
    try #require(daemon.seal.current).store.observe { call in
      if call.kind == .read, "\(call.group)" == "web" { reads.withLock { $0 += 1 } }
    }
    /// Whether the agent signs, and how many reads of the group that takes.
    func sign() async -> (Bool, Int) {
      reads.withLock { $0 = 0 }
      let answer = await onThread { () -> [UInt8] in
        guard let client = RawClient(path) else { return [] }
        client.send(message)
        return client.receive() ?? []
      }
      return (answer.count > 5, reads.withLock { $0 })
    }
    // The list, and the key twice: to compare it, and to sign.
    #expect(await sign() == (true, 3))
    #expect(await sign() == (true, 2))
    let group = try daemon.owner().group("web")
    try await group.set("other", to: "x")
    #expect(await sign() == (true, 3))
    // There is nobody to ask.
    try await group.change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    #expect(await sign() == (false, 2))
    #expect(await sign() == (false, 1))
    try await group.remove("ssh/mine")
    #expect(await sign() == (false, 1))
  }

  @Test func `RSA signs nothing with SHA-1`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", "rsa -b 2048", in: "web")
    let path = socket
    let requests = try [UInt8]([0, 2, 4]).map { try request(toSignWith: text, flag: $0) }
    let answers = await onThread { () -> [[UInt8]] in
      requests.map { request in
        guard let client = RawClient(path) else { return [] }
        client.send(request)
        return client.receive() ?? []
      }
    }
    #expect(answers[0] == [0, 0, 0, 1, 5])
    #expect(answers[1].count > 256 && answers[2].count > 256)
  }

  @Test func `neither a key of another group nor a key that its item does not contain signs anything`() async throws {
    defer { unlink(socket) }
    let other = try await makeKey("elsewhere", in: "default")
    let mine = try await makeKey("ssh/mine", in: "web")
    let folder = daemon.folder
    try await daemon.owner().group("web").change("ssh/mine", Details(attributes: ["ssh-public-key": other]))
    for text in [other, mine] {
      try "\(text)\n".write(toFile: folder + "/key.pub", atomically: true, encoding: .utf8)
      try "signed\n".write(toFile: folder + "/text", atomically: true, encoding: .utf8)
      _ = try await run("ssh-keygen -Y sign -n file -f \(folder)/key.pub \(folder)/text")
      #expect(!FileManager.default.fileExists(atPath: folder + "/text.sig"))
    }
  }

  @Test func `malformed messages get a failure or a closed connection`() async throws {
    defer { unlink(socket) }
    let path = socket
    let answers = await onThread { () -> [[UInt8]] in
      let messages: [[UInt8]] = [
        [0, 0, 0, 0], [0xFF, 0xFF, 0xFF, 0xFF], [0, 0, 0, 1, 99], [0, 0, 0, 5, 13, 0xFF, 0xFF, 0xFF, 0xFF],
      ]
      return messages.map { bytes in
        guard let client = RawClient(path) else { return [1] }
        client.send(bytes)
        return client.receive() ?? []
      }
    }
    #expect(answers == [[], [], [0, 0, 0, 1, 5], [0, 0, 0, 1, 5]])
    #expect(try await run("ssh-add -l").contains("no identities"))
  }

  struct Claim: Sendable {
    let name: String
    let fields: [[UInt8]]

    init(_ name: String, _ fields: [UInt8]...) { (self.name, self.fields) = (name, fields) }
  }

  private static func ones(_ count: Int) -> [UInt8] { [UInt8](repeating: 1, count: count) }

  /// The fields after the name that no key of this algorithm has.
  private static let claims: [Claim] = [
    Claim("ssh-ed25519", ones(3)), Claim("ssh-ed25519", ones(32), []), Claim("ssh-ed25519"),
    Claim("ssh-rsa", [], []), Claim("ssh-rsa", [3], ones(255)), Claim("ssh-rsa", [3], ones(1_025)),
    Claim("ssh-rsa", [3], [0x81] + ones(255)), Claim("ssh-rsa", ones(9), ones(256)),
    Claim("ssh-rsa", [3], [0, 0] + ones(256)),
    Claim("ecdsa-sha2-nistp256", Array("nistp384".utf8), [4] + ones(64)),
    Claim("ecdsa-sha2-nistp256", Array("nistp256".utf8), [2] + ones(64)),
    Claim("ecdsa-sha2-nistp256", Array("nistp256".utf8), [4]),
  ]

  @Test(arguments: claims)
  func `an attribute that is not a public key does not hide the other keys`(claim: Claim) async throws {
    defer { unlink(socket) }
    let blob = counted(Array(claim.name.utf8)) + claim.fields.flatMap { counted($0) }
    let text = claim.name + " " + Data(blob).base64EncodedString()
    #expect(SSHKey.publicBlob(of: text) == nil)
    let mine = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").set("broken", to: "x", Details(attributes: [SSHKey.attribute: text]))
    #expect(try await run("ssh-add -L") == "\(mine) ssh/mine\n")
    #expect(try await run("ssh-add -l").hasSuffix(" ssh/mine (ED25519)\n"))
  }

  /// That of the point of P-256 whose other coordinate is 5.
  private static let height: [UInt8] = [
    0x45, 0x92, 0x43, 0xB9, 0xAA, 0x58, 0x18, 0x06, 0xFE, 0x91, 0x3B, 0xCE, 0x99, 0x81, 0x7A, 0xDE,
    0x11, 0xCA, 0x50, 0x3C, 0x64, 0xD9, 0xA3, 0xC5, 0x33, 0x41, 0x5C, 0x08, 0x32, 0x48, 0xFB, 0xCC,
  ]

  /// Points that OpenSSH takes for no key, with which it refuses the whole list: one that is not on its curve, one with a
  /// coordinate that is too small, and one with a coordinate beyond the field.
  private static let points: [[UInt8]] = [
    [4] + ones(64), [4] + [UInt8](repeating: 0, count: 31) + [5] + height, [4] + [UInt8](repeating: 0xFF, count: 64),
  ]

  @Test(arguments: points)
  func `a point that is no public key is left out of the list`(point: [UInt8]) async throws {
    defer { unlink(socket) }
    let name = "ecdsa-sha2-nistp256"
    let blob = [Array(name.utf8), Array("nistp256".utf8), point].flatMap { counted($0) }
    let mine = try await makeKey("ssh/mine", "ecdsa -b 256", in: "web")
    let text = name + " " + Data(blob).base64EncodedString()
    try await daemon.owner().group("web").set("broken", to: "x", Details(attributes: [SSHKey.attribute: text]))
    #expect(try await run("ssh-add -L") == "\(mine) ssh/mine\n")
  }

  @Test(arguments: ["ed25519", "rsa -b 2048", "ecdsa -b 256", "ecdsa -b 384", "ecdsa -b 521"])
  func `a key of ssh-keygen is one that OpenSSH takes`(kind: String) async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", kind, in: "web")
    #expect(SSHKey.isTaken(try #require(SSHKey.publicBlob(of: text))))
  }

  @Test func `keys that OpenSSH would not take in one list are left out of it`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", in: "web")
    let blob = try #require(Data(base64Encoded: String(text.split(separator: " ")[1])))
    let group = try daemon.owner().group("web")
    // 400 names of almost 1,000 bytes are more than 256 KiB.
    try await group.transaction { edit in
      for number in 0..<400 {
        var other = Array(blob)
        (other[other.count - 1], other[other.count - 2]) = (UInt8(number & 255), UInt8(number >> 8))
        let key = "ssh-ed25519 " + Data(other).base64EncodedString()
        let name = "zz/\(number)/" + String(repeating: "n", count: 980)
        try edit.set(name, to: "x", Details(attributes: [SSHKey.attribute: key]))
      }
    }
    let listed = try await run("ssh-add -L")
    #expect(listed.hasPrefix("\(text) ssh/mine\n") && listed.split(separator: "\n").count > 200)
  }

  @Test func `ssh-add is refused, and neither adds nor removes a key`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", in: "web")
    let folder = daemon.folder
    _ = try await run("ssh-keygen -q -t ed25519 -N '' -f \(folder)/other")
    for command in ["ssh-add \(folder)/other", "ssh-add -t 60 -c \(folder)/other", "ssh-add -d \(folder)/sshmine.pub"] {
      let said = try await run(command)
      #expect(said.contains("agent refused operation"), "\(said)")
    }
    #expect(try await run("ssh-add -D").contains("Failed to remove all identities"))
    #expect(try await run("ssh-add -L") == "\(text) ssh/mine\n")
  }

  @Test func `an item that only claims a key neither blocks the key nor removes its confirmation`() async throws {
    defer { for end in ["", "-pinentry", "-pinentry.asked"] { unlink(socket + end) } }
    let text = try await makeKey("ssh/mine", in: "web")
    let group = try daemon.owner().group("web")
    try await group.set("a/junk", to: "x", Details(attributes: [SSHKey.attribute: text]))
    _ = try await makeKey("b/other", in: "web")
    try await group.change("b/other", Details(attributes: [SSHKey.attribute: text]))
    #expect(try await signAndVerify(text).contains("Good"))
    let record = try #require(try daemon.records().last { $0.action == .sign })
    #expect(record.outcome == .allowed && record.item == "ssh/mine")
    // A copy without the question comes first.
    try await group.change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    let file = try String(contentsOfFile: daemon.folder + "/sshmine", encoding: .utf8)
    try await group.set("a/copy", to: file, Details(attributes: [SSHKey.attribute: text]))
    try await answerQuestions("ERR 83886179 cancelled")
    #expect(try await !signAndVerify(text).contains("Good"))
    try await answerQuestions("OK")
    #expect(try await signAndVerify(text).contains("Good"))
    #expect(try daemon.records().last { $0.action == .sign }?.item == "a/copy")
  }

  /// Waits until the file has text, and returns that.
  private func contents(_ path: String) async throws -> String {
    while true {
      if let text = try? String(contentsOfFile: path, encoding: .utf8), text.hasSuffix("\n") { return text }
      try await Task.sleep(for: .milliseconds(20))
    }
  }

  /// A pinentry whose person says nothing; the command is that of its shell.
  private static let silence = "$$ >>$0.number; exec sleep 3600"

  @Test(.timeLimit(.minutes(5)))
  func `a prompt ends when its connection is closed`() async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.number"]
    defer { for end in ends { unlink(socket + end) } }
    let text = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    try await answerQuestions(Self.silence)
    var client = RawClient(socket)
    client?.send(try request(toSignWith: text))
    let number = try #require(try await pid_t(contents(socket + "-pinentry.number").dropLast()))
    client = nil
    while kill(number, 0) == 0 { try await Task.sleep(for: .milliseconds(20)) }
    try await answerQuestions("OK")
    #expect(try await signAndVerify(text).contains("Good"))
    #expect(try daemon.records().filter { $0.action == .sign && $0.outcome == .allowed }.count == 1)
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["seal", "unbind", "expiry", "none"])
  func `whoever agrees after the daemon was sealed, the application unbound or the key expired agrees to nothing`(
    _ change: String
  ) async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.number", "-pinentry.agreed"]
    defer { for end in ends { unlink(socket + end) } }
    let text = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    try await answerQuestions("$$ >>$0.number; until [ -e $0.agreed ]; do sleep 0.02; done; echo OK")
    let client = try #require(RawClient(socket))
    client.send(try request(toSignWith: text))
    _ = try await contents(socket + "-pinentry.number")
    switch change {
    case "seal": daemon.seal.seal()
    case "unbind": try daemon.unbind("web")
    case "expiry":
      try await daemon.owner().group("web").change("ssh/mine", Details(expires: .to(Timestamp(milliseconds: 1_000))))
    default: break
    }
    try "".write(toFile: socket + "-pinentry.agreed", atomically: true, encoding: .utf8)
    let answer = await onThread { client.receive() }
    #expect((answer == [0, 0, 0, 1, 5]) == (change != "none"))
    let outcomes = try daemon.records().filter { $0.action == .sign }.map(\.outcome)
    #expect(outcomes == [change == "none" ? .allowed : .denied])
  }

  @Test func `a group with a damaged row does not keep the keys of the others from signing`() async throws {
    defer { unlink(socket) }
    let text = try await makeKey("ssh/mine", in: "web")
    let owner = try daemon.owner()
    try owner.createGroup("team")
    for application in ["web", Applications.service] { try owner.grant(.read, in: "team", to: application) }
    try await owner.group("team").set("item", to: "value")
    try daemon.seal.reopen()
    let place = try ContainerPlace(folder: daemon.folder + "/home/groups/team")
    let connection = try GroupFile.Connection(at: place, access: .writing)
    try connection.begin(.immediate)
    try connection.statement("UPDATE item SET attributes = zeroblob(64)").run()
    try connection.commit()
    connection.close()
    await #expect(throws: VaultError.self) { try await owner.group("team").items() }
    #expect(try await run("ssh-add -L") == "\(text) ssh/mine\n")
    let said = try await signAndVerify(text)
    #expect(said.contains("Good"), "\(said)")
  }

  @Test(.timeLimit(.minutes(5)))
  func `a caller has a limited number of prompts, and abandoned prompts are not shown`() async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.number"]
    defer { for end in ends { unlink(socket + end) } }
    try await answerQuestions(Self.silence)
    let asking = Asking(pinentry: socket + "-pinentry")
    let first = Task { await asking.confirm("first", for: "me", program: "") }
    _ = try await contents(socket + "-pinentry.number")
    // One of these is too many, and the rest end while the first is still asked.
    let others = (0..<Asking.limit).map { _ in Task { await asking.confirm("other", for: "me", program: "") } }
    let refused = await withTaskGroup(of: Bool.self) { group in
      for other in others { group.addTask { await other.value } }
      let answer = await group.next()
      for other in others { other.cancel() }
      return await group.reduce(answer ?? true) { $0 || $1 }
    }
    #expect(!refused)
    let last = Task { await asking.confirm("last", for: "you", program: "") }
    await asking.end()
    #expect(await !first.value)
    #expect(await !last.value)
    #expect(await !asking.confirm("late"))
    #expect(try await contents(socket + "-pinentry.asked") == "first\n")
  }

  @Test func `a client that has finished sending gets its answer, then the connection is closed`() async throws {
    defer { unlink(socket) }
    let path = socket
    let answer = await onThread { () -> [UInt8] in
      guard let client = RawClient(path) else { return [] }
      client.send([0, 0, 0, 1, 11])
      client.endSending()
      return Array(client.receiveAll().utf8)
    }
    #expect(answer == [0, 0, 0, 5, 12, 0, 0, 0, 0])
  }

  @Test(.timeLimit(.minutes(5)))
  func `an agent that ends sends the answers that have begun, however long they take`() async throws {
    let path = socket + "-door"
    defer { for end in ["", "-door"] { unlink(socket + end) } }
    var limits = Limits()
    limits.transfer = .milliseconds(10)
    let (begun, going) = (AsyncStream<Void>.makeStream(), AsyncStream<Void>.makeStream())
    let door = AgentDoor(
      socket: try .unix(at: path, name: ListeningSocket.agent), manager: .system, usesPeerDescriptors: true,
      limits: limits, connections: Connections(limits), bodies: BodyBudget(limit: limits.bodies)
    ) { (_, _) in
      begun.continuation.yield()
      for await _ in going.stream { break }
      return ByteBuffer(integer: UInt8(6))
    }
    let group = ServiceGroup(services: [door], logger: RunningDaemon.logger)
    let hasEnded = Atomic(false)
    let running = Task {
      try await group.run()
      hasEnded.store(true, ordering: .relaxed)
    }
    let client = try #require(RawClient(path))
    client.send([0, 0, 0, 1, 11])
    for await _ in begun.stream { break }
    await group.triggerGracefulShutdown()
    while RawClient(path) != nil { try await Task.sleep(for: .milliseconds(20)) }
    try await Task.sleep(for: .milliseconds(200))
    let isEarly = hasEnded.load(ordering: .relaxed)
    #expect(!isEarly)
    going.continuation.yield()
    #expect(await onThread { client.receive() } == [0, 0, 0, 1, 6])
    try await running.value
  }

  @Test(.timeLimit(.minutes(5)))
  func `what callers have sent and not finished is limited for all together, and freed with the connection`()
    async throws
  {
    let path = socket + "-door"
    defer { for end in ["", "-door"] { unlink(socket + end) } }
    let bodies = BodyBudget(limit: 300_000)
    let door = AgentDoor(
      socket: try .unix(at: path, name: ListeningSocket.agent), manager: .system, usesPeerDescriptors: true,
      limits: Limits(), connections: Connections(Limits()), bodies: bodies
    ) { (_, _) in ByteBuffer(integer: UInt8(6)) }
    let running = Task { try await ServiceGroup(services: [door], logger: RunningDaemon.logger).run() }
    var first = try Optional(#require(RawClient(path)))
    first?.send([0, 3, 0, 0] + [UInt8](repeating: 0, count: 120_000))
    while bodies.held < 120_004 { try await Task.sleep(for: .milliseconds(20)) }
    let second = try #require(RawClient(path))
    await onThread { _ = second.send([0, 3, 0, 0] + [UInt8](repeating: 0, count: 120_000)) }
    #expect(await onThread { second.receive() } ?? [] == [])
    first = nil
    while bodies.held > 0 { try await Task.sleep(for: .milliseconds(20)) }
    let third = try #require(RawClient(path))
    third.send([0, 0, 0, 1, 11])
    #expect(await onThread { third.receive() } == [0, 0, 0, 1, 6])
    while bodies.held > 0 { try await Task.sleep(for: .milliseconds(20)) }
    running.cancel()
    _ = await running.result
  }

  @Test(.timeLimit(.minutes(5))) func `a connected client does not keep an agent that is cancelled`() async throws {
    let path = socket + "-door"
    defer { for end in ["", "-door"] { unlink(socket + end) } }
    let door = AgentDoor(
      socket: try .unix(at: path, name: ListeningSocket.agent), manager: .system, usesPeerDescriptors: true,
      limits: Limits(), connections: Connections(Limits()), bodies: BodyBudget(limit: 1 << 20)
    ) { (_, _) in ByteBuffer(integer: UInt8(6)) }
    let running = Task { try await ServiceGroup(services: [door], logger: RunningDaemon.logger).run() }
    let client = try #require(RawClient(path))
    client.send([0, 0, 0, 1, 11])
    #expect(await onThread { client.receive() } == [0, 0, 0, 1, 6])
    running.cancel()
    _ = await running.result
    #expect(await onThread { client.receive() } == [])
  }
}
