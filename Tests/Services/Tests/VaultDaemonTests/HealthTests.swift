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
}
