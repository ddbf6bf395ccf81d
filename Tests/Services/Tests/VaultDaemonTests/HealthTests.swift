import Testing

@testable import VaultDaemon

struct HealthTests {
  @Test func `a daemon without a credential answers that it is sealed`() throws {
    let daemon = try RunningDaemon()
    let answer = try daemon.curl("/v1/sys/health")
    #expect(answer.status == 503)
    #expect(answer.body.contains(#""sealed":true"#))
  }
}
