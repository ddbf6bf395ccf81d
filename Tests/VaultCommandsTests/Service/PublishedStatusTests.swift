import Foundation
import GroupFile
import Synchronization
import Testing
import Vault

@testable import VaultCommands

/// What `vault status` says of a copy of a published group.
@Suite(.timeLimit(.minutes(5))) struct PublishedStatusTests {
  /// A log that takes everything.
  private struct Willing: CommitPublishing {
    func publish(_ commit: GroupCommit, isRepeated: Bool) throws(VaultError) {}
    func publish(
      fileAt path: String, holding state: PublishedState, after previous: PublishedState
    ) throws(VaultError) {}
    func catchUp() throws(VaultError) {}
  }

  /// What listens on the socket of `vaultd`, and answers everything alike.
  private final class Service: Sendable {
    private let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    private let message = Mutex<[UInt8]>([])

    init(at path: String) throws {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
      let bound = unsafe withUnsafePointer(to: &address) {
        unsafe $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(bound == 0 && listen(listener, 16) == 0)
      say(ServiceAnswer(number: 7))
      Thread.detachNewThread { [self] in
        while true {
          let connection = accept(listener, nil, nil)
          guard connection >= 0 else { return }
          var bytes = [UInt8](repeating: 0, count: 4_096)
          _ = unsafe recv(connection, &bytes, bytes.count, 0)
          let message = message.withLock { $0 }
          _ = unsafe send(connection, message, message.count, Int32(MSG_NOSIGNAL))
          close(connection)
        }
      }
    }

    func end() { shutdown(listener, Int32(SHUT_RDWR)) }

    func say(_ answer: ServiceAnswer) {
      let fields = answer.encoded()
      let count = unsafe withUnsafeBytes(of: UInt32(fields.count).bigEndian) { unsafe Array($0) }
      answerAll(count + fields, as: "200 OK")
    }

    /// Refuses everything from now on, because it is meant for another store than the one at `path`.
    func refuse(serving path: String) { answerAll(Array(path.utf8), as: "421 Misdirected Request") }

    private func answerAll(_ body: [UInt8], as status: String) {
      let head = Array("HTTP/1.1 \(status)\r\ncontent-length: \(body.count)\r\n\r\n".utf8)
      message.withLock { $0 = head + body }
    }
  }

  private let store: TestStore
  private let opened: SecretStore

  init() throws {
    store = try TestStore()
    store.environment["VAULT_SOCKET"] = store.folder.file("socket")
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    let location = try StoreLocation(environment: store.environment)
    opened = try SecretStore.open(at: location, unlocking: .keyFile(store.keyFile))
    opened.publish { _ in Willing() }
    try opened.createGroup("team")
    try opened.addRemote(Remote("office", at: "etcd://127.0.0.1:1"))
    try opened.publishGroup("team", at: "office")
  }

  private func team() throws -> [String: Any] {
    let status = try readJSON(store.run("status", "--json").output)
    let groups = try #require(status["groups"] as? [[String: Any]])
    return try #require(groups.first { $0["name"] as? String == "team" })
  }

  @Test func `a copy that vaultd keeps up to date is verified, and its age is shown`() throws {
    let service = try Service(at: store.folder.file("socket"))
    let status = store.run("status")
    #expect(status.status == 0, "\(status.errors)")
    #expect(status.output.contains(/team\t0\t\d+\t\d+\tverified, signed \d+ s ago\n/))
    #expect(try team()["age"] is Int && team()["problem"] is NSNull)
    service.end()
  }

  @Test func `a copy that no vaultd keeps up to date is a problem`() throws {
    let status = store.run("status")
    #expect(status.status == 15)
    let words = "'team' is published, and only vaultd makes its changes: nobody listens on its socket"
    #expect(status.output.contains(words) && status.errors.contains(words))
    #expect(try team()["verified"] as? Bool == true)
    #expect(try (team()["problem"] as? [String: Any])?["status"] as? Int == 15)
  }

  @Test func `what keeps vaultd from bringing a copy up to date is a problem`() throws {
    let service = try Service(at: store.folder.file("socket"))
    service.say(ServiceAnswer(failure: .unordered(.unreachable("no server answers"))))
    let status = store.run("status")
    #expect(status.status == 15)
    #expect(status.output.contains("'team' is published, and its cluster cannot be reached: no server answers"))
    service.end()
  }

  @Test func `a vaultd that serves another store makes no changes, and vault lock leaves it open`() throws {
    let named = try Service(at: store.folder.file("socket"))
    try FileManager.default.createDirectory(
      atPath: store.folder.file("run/vault"), withIntermediateDirectories: true)
    let usual = try Service(at: store.folder.file("run/vault/socket"))
    for service in [named, usual] { service.refuse(serving: "/var/lib/vault") }
    let why = "vaultd serves another store than '\(store.folder.file("store"))': the one at '/var/lib/vault'"
    let status = store.run("status")
    #expect(status.status == 11 && status.output.contains(why))
    let set = store.run("set", "-g", "team", "a", input: "x")
    #expect(set.status == 11 && set.errors.contains("vault: error: locked: \(why)\nvault: hint: "))
    let lock = store.run("lock")
    #expect(lock.status == 11 && lock.errors.contains("vault: error: locked: \(why)\n"))
    store.environment["VAULT_SOCKET"] = nil
    store.environment["XDG_RUNTIME_DIR"] = store.folder.file("run")
    let usualLock = store.run("lock")
    #expect(usualLock.status == 0 && usualLock.errors == "vault: warning: \(why), and stays open\n")
    for service in [named, usual] { service.end() }
  }

  @Test func `a copy whose next state is overdue is a problem before it is too old to be read`() throws {
    let service = try Service(at: store.folder.file("socket"))
    try opened.addRemote(
      Remote("office", at: "etcd://127.0.0.1:1", maxAge: 3_600, heartbeat: 1), replacing: true)
    var status = store.run("status")
    while status.status == 0 { status = store.run("status") }
    #expect(status.status == 15)
    #expect(
      status.output.contains(/'team' is published, and its newest proved state is \d+ seconds old, but the next/))
    #expect(status.errors.contains("vault sync team"))
    #expect(store.run("list", "-g", "team").status == 0)
    service.end()
  }
}
