import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Clients that others wrote. `tools/prepare --with-clients` installs them.
struct ClientTests {
  @Test(.enabled(if: ProcessInfo.processInfo.environment["VAULT_TEST_CLIENTS"] == "1"))
  func `hvac finds versions 2 and 1 of KV as it expects them`() async throws {
    let daemon = try RunningDaemon()
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
        "VAULTD_SOCKET=\(daemon.socket)", "PYTHONDONTWRITEBYTECODE=1", python, "-m", "pytest", "-q", "-p",
        "no:cacheprovider", clients,
      ])
    #expect(output.contains(" passed") && !output.contains("failed") && !output.contains("error"), "\(output)")
  }
}
