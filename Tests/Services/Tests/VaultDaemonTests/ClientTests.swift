import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Clients that others wrote. `tools/prepare --with-clients` installs them.
struct ClientTests {
  @Test(.enabled(if: ProcessInfo.processInfo.environment["VAULT_TEST_CLIENTS"] == "1"))
  func `hvac logs in over TLS and finds versions 2 and 1 of KV as it expects them`() async throws {
    let address = try ListeningSocket.tcp("127.0.0.1:0")
    let daemon = try RunningDaemon(others: [address])
    let certificates = try await daemon.useTLS()
    try await certificates.make("client", names: "DNS:web.example.com", signedBy: "ca")
    try daemon.bind(certificate: "web.example.com", to: "web")
    try daemon.set("settings/approle/web", in: "vault.service", to: "0123456789abcdef")
    let owner = try daemon.owner()
    _ = try owner.createGroup("old")
    _ = try owner.grant(.write, in: "old", to: "web")
    // Binding again makes the service a member of the application's new group.
    _ = try owner.applications.bind("web", .init(user: String(getuid())))
    try daemon.set("settings/kv-version/old", in: "vault.service", to: "1")
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../..").standardized
    let clients = root.appending(path: "Tests/Services/Clients").path(percentEncoded: false)
    let python = root.appending(path: ".build/clients/bin/python3").path(percentEncoded: false)
    let output = try await RunningDaemon.output(
      of: "/usr/bin/env",
      [
        "VAULTD_SOCKET=\(daemon.socket)", "VAULTD_ADDRESS=https://127.0.0.1:\(try #require(address.port))",
        "VAULTD_CERTIFICATES=\(daemon.folder)", "PYTHONDONTWRITEBYTECODE=1", python, "-m", "pytest", "-q", "-p",
        "no:cacheprovider", clients,
      ])
    #expect(output.contains(" passed") && !output.contains("failed") && !output.contains("error"), "\(output)")
  }
}
