import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Testing
import VaultFoundation

@testable import Vault
@testable import VaultDaemon

/// A `vaultd` that is asked for another store than it serves.
struct OtherStoreTests {
  /// A rehearsal: a copy of the store with all its keys.
  private func copy(of daemon: RunningDaemon) throws -> [String: String] {
    let home = daemon.folder + "/copy"
    try FileManager.default.copyItem(atPath: daemon.configuration.location.home, toPath: home)
    return ["VAULT_HOME": home, "VAULT_STATE": daemon.folder + "/copy-state", "VAULT_SOCKET": daemon.socket]
  }

  private func owner(_ environment: [String: String], of daemon: RunningDaemon) async throws -> SecretStore {
    try await inThread {
      try SecretStore.open(
        at: StoreLocation(environment: environment), unlocking: .keyFile(daemon.folder + "/key"))
    }
  }

  @Test func `a copy of the store, or a new one, gets nothing from vaultd and changes nothing there`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    try await daemon.curl("/v1/sys/init")
    let environment = try copy(of: daemon)
    let served = daemon.configuration.location.home
    let refused = VaultError.locked(.otherStore(daemon.folder + "/copy", served: served))
    let location = try StoreLocation(environment: environment)
    let owner = try await owner(environment, of: daemon)
    try await inThread {
      #expect(throws: refused) { _ = try SecretStore.open(at: location) }
      #expect(throws: refused) { _ = try SecretStore.sealService(at: location) }
      #expect(throws: refused) { _ = try SecretStore.askServiceToJoin(at: location) }
      let publisher = ServicePublisher(group: "web", location: location)
      #expect(throws: refused) { try publisher.catchUp() }
      try owner.addRemote(Remote("office", at: "etcd://127.0.0.1:1", user: "root", password: Secret("pass")))
      #expect(throws: refused) { try owner.publishGroup("web", at: "office") }
      #expect(throws: refused) { try owner.provision("office", as: "root", password: Secret("pass")) }
      #expect(try owner.publishedGroups().isEmpty)
      let new = try StoreLocation(
        environment: environment.merging(["VAULT_HOME": daemon.folder + "/new"]) { $1 })
      try SecretStore.create(at: new, with: .keyFile(daemon.folder + "/new-key"))
      #expect(throws: VaultError.locked(.otherStore(daemon.folder + "/new", served: served))) {
        _ = try SecretStore.sealService(at: new)
      }
    }
    #expect(!daemon.seal.isSealed)
    #expect(try daemon.records().allSatisfy { $0.caller.who != .application("web") && $0.outcome != .denied })
  }

  @Test(arguments: ["home", "link", "none", "unnamed"])
  func `a caller who means vaultd's store, or none, is answered`(_ place: String) async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    try await daemon.curl("/v1/sys/init")
    try FileManager.default.createSymbolicLink(
      atPath: daemon.folder + "/link", withDestinationPath: daemon.configuration.location.home)
    var environment = ["VAULT_SOCKET": daemon.socket, "VAULT_STATE": daemon.folder + "/other-state"]
    if place == "unnamed" {
      // Its user has a store, and did not say that it is meant.
      environment["XDG_DATA_HOME"] = daemon.folder + "/data"
      let own = ["VAULT_HOME": daemon.folder + "/data/vault", "VAULT_STATE": daemon.folder + "/other-state"]
      try await inThread {
        try SecretStore.create(
          at: StoreLocation(environment: own), with: .keyFile(daemon.folder + "/other-key"))
      }
    } else {
      environment["VAULT_HOME"] = daemon.folder + "/" + place
    }
    let location = try StoreLocation(environment: environment)
    try await inThread {
      let store = try SecretStore.open(at: location)
      let value = try store.group("web").get("a").exportInsecurelyAsString()
      #expect(value == "secret")
      #expect(try SecretStore.sealService(at: location))
    }
    #expect(daemon.seal.isSealed)
  }

  @Test func `where the store is, only those hear who may seal vaultd, and the network is not asked`() async throws {
    let daemon = try RunningDaemon(serves: false)
    var head = HTTPRequest(method: .get, scheme: "http", authority: "vaultd", path: "/v1/sys/health")
    head.headerFields[try #require(HTTPField.Name("X-Vault-Store"))] = "0:0"
    func ask(_ peer: Peer) async -> (status: Int, length: Int?) {
      let answer = await daemon.interface().answer(
        Request(head: head, body: .init(buffer: ByteBuffer())), over: Connection(peer: peer))
      return (answer.status.code, answer.body.contentLength)
    }
    let users = [(geteuid(), daemon.configuration.location.home.utf8.count), (geteuid() + 12_345, 0)]
    for (user, length) in users {
      var peer = Peer()
      peer.user = user
      #expect(await ask(peer) == (421, length))
    }
    #expect(await ask(Peer(address: "192.0.2.1")).status == 200)
  }
}

/// Runs `body` on a thread of its own, because the daemon needs those of the tests.
private func inThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await onThread { Result { try body() } }.get()
}
