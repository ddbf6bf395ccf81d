import Foundation
import Testing
import VaultFoundation

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

  /// A pinentry that writes down what it is to ask, and then says this.
  private func answerQuestions(_ answer: String) throws {
    let script = """
      #!/bin/sh
      echo OK
      while read -r command rest; do
        case $command in
          SETDESC) echo "$rest" >>"$0.asked"; echo OK ;;
          CONFIRM) echo \(answer) ;;
          BYE) exit ;;
          *) echo OK ;;
        esac
      done

      """
    try script.write(toFile: socket + "-pinentry", atomically: true, encoding: .utf8)
    chmod(socket + "-pinentry", 0o700)
  }

  @Test func `a key that asks signs only if a person agrees, and they see who asks`() async throws {
    defer { for end in ["", "-pinentry", "-pinentry.asked"] { unlink(socket + end) } }
    let text = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    // There is nobody to ask.
    #expect(try await !signAndVerify(text).contains("Good"))
    try answerQuestions("ERR 83886179 cancelled")
    #expect(try await !signAndVerify(text).contains("Good"))
    #expect(try daemon.records().last { $0.action == .sign }?.outcome == .denied)
    try answerQuestions("OK")
    let said = try await signAndVerify(text)
    #expect(said.contains("Good"), "\(said)")
    let asked = try String(contentsOfFile: socket + "-pinentry.asked", encoding: .utf8)
    #expect(asked.contains("ssh-keygen") && asked.contains("ssh/mine"))
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

  @Test func `a key of another group signs nothing, and neither does one whose item says something else`() async throws
  {
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

  @Test func `nonsense gets a failure or a closed connection`() async throws {
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
  func `an attribute that is no public key does not hide the keys`(claim: Claim) async throws {
    defer { unlink(socket) }
    let blob = counted(Array(claim.name.utf8)) + claim.fields.flatMap { counted($0) }
    let text = claim.name + " " + Data(blob).base64EncodedString()
    #expect(SSHKey.publicBlob(of: text) == nil)
    let mine = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").set("broken", to: "x", Details(attributes: [SSHKey.attribute: text]))
    #expect(try await run("ssh-add -L") == "\(mine) ssh/mine\n")
    #expect(try await run("ssh-add -l").hasSuffix(" ssh/mine (ED25519)\n"))
  }

  @Test func `an item that only claims a key neither stops the key nor takes its question away`() async throws {
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
    try answerQuestions("ERR 83886179 cancelled")
    #expect(try await !signAndVerify(text).contains("Good"))
    try answerQuestions("OK")
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
  func `a question ends with the connection that waits for it`() async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.number"]
    defer { for end in ends { unlink(socket + end) } }
    let text = try await makeKey("ssh/mine", in: "web")
    try await daemon.owner().group("web").change("ssh/mine", Details(attributes: [SSHKey.confirmAttribute: "yes"]))
    try answerQuestions(Self.silence)
    var client = RawClient(socket)
    client?.send(try request(toSignWith: text))
    let number = try #require(try await pid_t(contents(socket + "-pinentry.number").dropLast()))
    client = nil
    while kill(number, 0) == 0 { try await Task.sleep(for: .milliseconds(20)) }
    try answerQuestions("OK")
    #expect(try await signAndVerify(text).contains("Good"))
    #expect(try daemon.records().filter { $0.action == .sign && $0.outcome == .allowed }.count == 1)
  }

  @Test(.timeLimit(.minutes(5)))
  func `a caller waits for few questions, and nobody is asked what nobody waits for`() async throws {
    let ends = ["", "-pinentry", "-pinentry.asked", "-pinentry.number"]
    defer { for end in ends { unlink(socket + end) } }
    try answerQuestions(Self.silence)
    let asking = Asking(pinentry: socket + "-pinentry")
    let first = Task { await asking.confirm("first", for: "me") }
    _ = try await contents(socket + "-pinentry.number")
    // One of these is too many, and the rest end while the first is still asked.
    let others = (0..<Asking.limit).map { _ in Task { await asking.confirm("other", for: "me") } }
    let refused = await withTaskGroup(of: Bool.self) { group in
      for other in others { group.addTask { await other.value } }
      let answer = await group.next()
      for other in others { other.cancel() }
      return await group.reduce(answer ?? true) { $0 || $1 }
    }
    #expect(!refused)
    let last = Task { await asking.confirm("last", for: "you") }
    await asking.end()
    #expect(await !first.value)
    #expect(await !last.value)
    #expect(await !asking.confirm("late"))
    #expect(try await contents(socket + "-pinentry.asked") == "first\n")
  }

  @Test func `a client that ends its side gets its answer and the end`() async throws {
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
}
