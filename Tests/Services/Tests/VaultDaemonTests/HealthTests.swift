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

  @Test func `the daemon's own user seals and unseals it`() async throws {
    let daemon = try RunningDaemon()
    try daemon.set("a", in: "web", to: "secret")
    #expect(try await daemon.curl("/v1/sys/seal", "-X", "PUT").status == 204)
    #expect(try await daemon.curl("/v1/web/data/a").status == 503)
    #expect(try await daemon.curl("/v1/sys/unseal", "-X", "PUT").status == 200)
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
