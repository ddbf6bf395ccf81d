import Foundation
import Synchronization
import Testing
import VaultFoundation

@testable import VaultDaemon

/// What the daemon tells about itself and about changes.
struct WatchTests {
  @Test func `a listener receives the names that change in its groups, and no others`() async throws {
    let daemon = try RunningDaemon()
    let socket = daemon.socket
    let client = try #require(RawClient(socket))
    client.send(Array("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
    // The first line comes when the watch has begun.
    var text = await onThread { Self.receive(client, until: "groups") }
    try daemon.set("elsewhere", in: "default", to: "1")
    try daemon.set("db//kv", in: "web", to: "of the mount")
    try daemon.set("db/password", in: "web", to: "secret")
    text += await onThread { Self.receive(client, until: "\"version\"") }
    #expect(text.contains(#"data: {"group":"web","name":"db/password","version":1}"#))
    #expect(!text.contains("elsewhere") && !text.contains("//kv"))
    #expect(!text.contains("secret"))
  }

  @Test(.timeLimit(.minutes(5))) func `a listener that has left does not count as a connection any more`() async throws
  {
    let daemon = try RunningDaemon { $0.limits.connectionsPerUser = 4 }
    let socket = daemon.socket
    /// Waits until a listener is accepted.
    @Sendable func listen() -> RawClient {
      while true {
        guard let client = RawClient(socket) else { continue }
        client.send(Array("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
        if Self.receive(client, until: "groups").contains("groups") { return client }
      }
    }
    // The daemon writes to each listener every 15 seconds, and then notices anyway. A busy machine gets more attempts.
    let isPrompt = await onThread {
      (0..<5).contains { _ in
        let start = ContinuousClock.now
        for _ in 0..<2 { withExtendedLifetime((listen(), listen(), listen())) {} }
        return start.duration(to: .now) < .seconds(10)
      }
    }
    #expect(isPrompt)
  }

  @Test func `a listener receives each change once, whoever came and left before or meanwhile`() async throws {
    let daemon = try RunningDaemon(serves: false)
    try daemon.owner().grant(.read, in: "default", to: Applications.service)
    try daemon.seal.reopen()
    let changes = try #require(daemon.seal.current).changes
    let groups = ["default", "web"]
    for _ in 0..<20 {
      let listening = try await withThrowingTaskGroup(of: Void.self) { tasks in
        for _ in 0..<20 { tasks.addTask { _ = try? await changes.listen(to: groups) } }
        return try await changes.listen(to: groups)
      }
      try daemon.set("first", in: "web", to: "1")
      try daemon.set("last", in: "web", to: "2")
      var names: [String] = []
      for await event in listening.events {
        guard case .change(_, let name, _) = event else { continue }
        names.append(name)
        if name == "last" { break }
      }
      #expect(names == ["first", "last"])
    }
  }

  @Test func `whoever listens once the daemon is sealed gets the end at once`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let changes = try #require(daemon.seal.current).changes
    daemon.seal.seal()
    for await _ in try await changes.listen(to: ["web"]).events { Issue.record("an event") }
  }

  @Test(.timeLimit(.minutes(5)))
  func `a stream ends when the daemon loses one of its groups, and the next one tells changes again`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let owner = try daemon.owner()
    try owner.grant(.read, in: "default", to: Applications.service)
    try daemon.seal.reopen()
    let changes = try #require(daemon.seal.current).changes
    let (lost, other) = (try await changes.listen(to: ["default", "web"]), try await changes.listen(to: ["web"]))
    try owner.revoke(Applications.service, from: "default")
    for await _ in lost.events {}
    try owner.grant(.read, in: "default", to: Applications.service)
    let next = try await changes.listen(to: ["default", "web"])
    for (listening, group) in [(next, "default"), (next, "web"), (other, "web")] {
      try daemon.set("item", in: group, to: "value")
      let changed = await listening.events.first {
        if case .change(group, "item", _) = $0 { true } else { false }
      }
      #expect(changed != nil)
    }
  }

  @Test func `whoever would listen to a group that cannot be watched gets an error and no stream`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let changes = try #require(daemon.seal.current).changes
    await #expect(throws: VaultError.self) { try await changes.listen(to: ["default", "web"]) }
    _ = try await changes.listen(to: ["web"])
  }

  private static func receive(_ client: RawClient, until end: String) -> String {
    var text = ""
    while !text.contains(end), let bytes = client.receive(), !bytes.isEmpty {
      text += String(decoding: bytes, as: UTF8.self)
    }
    return text
  }

  @Test func `metrics count without names`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("db/password", in: "web", to: "secret")
    try await daemon.curl("/v1/web/data/db/password")
    try await daemon.curl("/v1/web/data/none")
    let text = try await daemon.curl("/metrics").body
    #expect(text.contains("vaultd_requests_total{status=\"200\"} 1"))
    #expect(text.contains("vaultd_requests_total{status=\"404\"} 1"))
    #expect(text.contains("vaultd_request_duration_seconds_count 2"))
    #expect(text.contains("vaultd_sealed 0"))
    #expect(text.contains("vaultd_groups 1"))
    for name in ["web", "password", "secret"] { #expect(!text.contains(name)) }
    daemon.seal.seal()
    #expect(try await daemon.curl("/metrics").body.contains("vaultd_sealed 1"))
  }

  @Test func `all who ask for metrics at the same time share one scan of the groups`() async throws {
    let daemon = try RunningDaemon(serves: false)
    let reads = Atomic(0)
    let seal = Seal { () throws(VaultError) in
      let store = try SecretStore.open(
        at: daemon.configuration.location, credential: daemon.folder + "/credential")
      store.observe { if $0.group.description == "web" { reads.add(1, ordering: .relaxed) } }
      return store
    }
    try seal.unseal()
    let metrics = DaemonMetrics(Connections(Limits()))
    try await withThrowingTaskGroup(of: String.self) { tasks in
      for _ in 0..<500 { tasks.addTask { try await metrics.text(seal, []) } }
      for try await text in tasks { #expect(text.contains("vaultd_groups 1")) }
    }
    let count = reads.load(ordering: .relaxed)
    #expect(count == 1)
  }

  @Test func `a check reports that the record cannot be written`() throws {
    let daemon = try RunningDaemon(serves: false)
    let record = try daemon.owner().group("vault.audit")
    try record.remove("head")
    let problems = ConfigurationCheck(daemon.configuration).problems()
    #expect(problems.count == 1 && problems[0].contains("the record cannot be written"))
  }

  @Test func `a check reports everything that is wrong`() throws {
    let daemon = try RunningDaemon(serves: false)
    var configuration = daemon.configuration
    #expect(ConfigurationCheck(configuration).problems() == [])
    try daemon.bind("other", user: "no-such-user-here")
    try daemon.set("settings/kv-version/web", in: "vault.service", to: "3")
    try daemon.set("settings/unknown", in: "vault.service", to: "x")
    configuration.address = "localhost"
    configuration.socket = "/nonexistent/vault/socket"
    let problems = ConfigurationCheck(configuration).problems().joined(separator: "\n")
    for word in ["no-such-user-here", "kv-version/web", "settings/unknown", "'localhost'", "'/nonexistent'", "tls-key"]
    {
      #expect(problems.contains(word))
    }
    configuration.credential = nil
    #expect(ConfigurationCheck(configuration).problems().contains { $0.contains("no credential") })
  }
}
