import Foundation
import Testing
import VaultFoundation

@testable import VaultDaemon

/// Who shows a certificate over TLS gets the token of the application that it is bound to.
struct CertificateTests {
  private let daemon: RunningDaemon
  private let certificates: Certificates
  private let url: String

  init() async throws {
    let address = try ListeningSocket.tcp("127.0.0.1:0")
    daemon = try RunningDaemon(others: [address])
    url = "https://127.0.0.1:\(try #require(address.port))"
    certificates = try await daemon.useTLS()
    try daemon.set("a", in: "web", to: "value")
    try daemon.bind(certificate: "web.example.com", to: "web")
  }

  private func logIn(_ certificate: String?, _ body: String = "{}") async throws -> (body: String, status: Int) {
    var arguments = ["--cacert", certificates.path("ca.pem"), "-d", body]
    if let certificate {
      arguments += [
        "--cert", certificates.path(certificate + ".pem"), "--key", certificates.path(certificate + ".key"),
      ]
    }
    return try await daemon.curl(url: url + "/v1/auth/cert/login", arguments)
  }

  private func read(_ token: String) async throws -> Int {
    try await daemon.status(
      of: url + "/v1/web/data/a", "--cacert", certificates.path("ca.pem"), "-H", "X-Vault-Token: \(token)")
  }

  @Test func `a certificate that an authority of the owner's signed gets a token by its DNS name`() async throws {
    try await certificates.make("web", names: "DNS:Web.Example.com", signedBy: "ca")
    let answer = try await logIn("web")
    #expect(answer.status == 200)
    #expect(TokenTests.lastsAnHour(answer.body))
    #expect(try await read(TokenTests.token(in: answer.body)) == 200)
    let record = try #require(try daemon.records().first { $0.action == .login })
    #expect(record.subject == "web" && record.detail == "cert" && record.outcome == .allowed)
  }

  @Test func `no other certificate gets one, and neither does the name in the subject alone`() async throws {
    try await certificates.make("stranger", names: "DNS:web.example.com")
    try await certificates.make("other", names: "DNS:other.example.com,email:web.example.com", signedBy: "ca")
    try await certificates.make("web.example.com", signedBy: "ca")
    // TLS itself refuses a certificate that no authority signed.
    #expect(try await logIn("stranger").status == 0)
    #expect(try await logIn("other").status == 400)
    #expect(try await logIn("web.example.com").status == 400)
    #expect(try await logIn(nil).status == 400)
    #expect(try await daemon.curl("/v1/auth/cert/login", "-X", "POST").status == 400)
    #expect(try daemon.records().count { $0.action == .login && $0.outcome == .denied } == 4)
  }

  @Test func `a certificate is known by its URI and by its fingerprint`() async throws {
    try await certificates.make("named", names: "URI:spiffe://example.com/Web", signedBy: "ca")
    try await certificates.make("pinned", signedBy: "ca")
    #expect(try await logIn("pinned").status == 400)
    let printed = try await RunningDaemon.output(
      of: "/usr/bin/openssl", ["x509", "-noout", "-fingerprint", "-sha256", "-in", certificates.path("pinned.pem")])
    let digits = printed.split(separator: "=").last?.filter(\.isHexDigit).lowercased() ?? ""
    try daemon.bind(certificate: "sha256:\(digits)", to: "web")
    try daemon.bind(certificate: "spiffe://example.com/Web", to: "web")
    #expect(try await logIn("pinned").status == 200)
    #expect(try await logIn("named").status == 200)
  }

  @Test func `of two applications with the same certificate the request names one`() async throws {
    try daemon.bind(certificate: "web.example.com", to: "other")
    try await certificates.make("web", names: "DNS:web.example.com", signedBy: "ca")
    #expect(try await logIn("web").status == 400)
    let named = try await logIn("web", #"{"name":"other"}"#)
    #expect(named.status == 200 && named.body.contains(#""application":"other""#))
    #expect(try await logIn("web", #"{"name":"third"}"#).status == 400)
  }

  @Test func `a removed authority no longer counts, and unbinding ends tokens at once`() async throws {
    try await certificates.make("web", names: "DNS:web.example.com", signedBy: "ca")
    let token = try TokenTests.token(in: try await logIn("web").body)
    #expect(try await read(token) == 200)
    try daemon.unbind("web")
    #expect(try await read(token) == 403)
    #expect(try await logIn("web").status == 400)
    try daemon.bind(certificate: "web.example.com", to: "web")
    #expect(try await read(token) == 403)
    let next = try TokenTests.token(in: try await logIn("web").body)
    #expect(try await read(next) == 200)
    try await certificates.make("second")
    try daemon.set("settings/client-ca", in: "vault.service", to: certificates.text("second.pem"))
    #expect(try await read(next) == 403)
    #expect(try await logIn("web").status == 0)
  }

  @Test(arguments: ["GET /metrics", "POST /vault/1/sync/web", "POST /vault/1/commit/web", "POST /vault/1/status/web"])
  func `a caller on the network gets no metrics, and nothing of a published group`(_ request: String) async throws {
    let parts = request.split(separator: " ").map(String.init)
    let answer = try await daemon.curl(
      url: url + parts[1], ["--cacert", certificates.path("ca.pem"), "-X", parts[0]])
    #expect([403, 404].contains(answer.status), "\(answer.body)")
  }
}
