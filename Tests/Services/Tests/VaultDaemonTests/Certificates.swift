import Foundation

/// Certificates that openssl makes in a folder: an authority (`ca`), and others that it or nobody signs.
struct Certificates {
  let folder: String

  /// - Parameter subject: has the name as its common name, if it is left out.
  /// - Returns: after `NAME.pem` and `NAME.key` were made; without an authority the certificate signs itself.
  func make(
    _ name: String, subject: String? = nil, names: String = "", signedBy authority: String? = nil
  ) async throws {
    var arguments = [
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
      subject ?? "/CN=\(name)", "-keyout", path(name + ".key"), "-out", path(name + ".pem"),
    ]
    if !names.isEmpty { arguments += ["-addext", "subjectAltName=\(names)"] }
    if let authority {
      arguments += [
        "-CA", path(authority + ".pem"), "-CAkey", path(authority + ".key"), "-addext",
        "basicConstraints=critical,CA:FALSE",
      ]
    }
    _ = try await RunningDaemon.output(of: "/usr/bin/openssl", arguments)
  }

  func path(_ file: String) -> String { folder + "/" + file }

  func text(_ file: String) throws -> String { try String(contentsOfFile: path(file), encoding: .utf8) }
}

extension RunningDaemon {
  /// Lets TCP answer with TLS, and trusts the authority `ca` for clients.
  func useTLS() async throws -> Certificates {
    let certificates = Certificates(folder: folder)
    try await certificates.make("ca")
    try await certificates.make("tls", names: "IP:127.0.0.1", signedBy: "ca")
    for (name, file) in [("tls-certificate", "tls.pem"), ("tls-key", "tls.key"), ("client-ca", "ca.pem")] {
      try set("settings/\(name)", in: "vault.service", to: certificates.text(file))
    }
    return certificates
  }
}
