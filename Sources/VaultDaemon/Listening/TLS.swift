#if Daemon
  import NIOCore
  import NIOSSL
  import Synchronization
  import VaultFoundation

  /// The certificate and key for TCP and the authorities of clients' certificates. They are items of the group
  /// `vault.service` and are read again when they change.
  final class TLSIdentity: Sendable {
    /// The texts that the owner has set.
    private struct Texts: Equatable, Sendable {
      let certificate: String
      let key: String
      let authorities: String?
    }

    /// The TLS configuration of a connection.
    struct Security: Sendable {
      let context: NIOSSLContext
      /// The authorities that a client's certificate is verified with, as the owner has set them.
      let authorities: String?
    }

    static let certificateSetting = "tls-certificate"
    static let keySetting = "tls-key"
    static let authoritiesSetting = "client-ca"

    private let known = Mutex<(texts: Texts, security: Security)?>(nil)

    enum Problem: Error, Equatable {
      case missing
      case unsuitable
      case unsuitableAuthorities

      var message: String {
        switch self {
        case .missing: "TCP needs the items settings/tls-certificate and settings/tls-key in the group 'vault.service'"
        case .unsuitable: "settings/tls-certificate and settings/tls-key are not a certificate and its key in PEM"
        case .unsuitableAuthorities: "settings/client-ca has no certificates in PEM"
        }
      }
    }

    /// - Parameter settings: the owner's settings.
    /// - Throws: ``Problem``.
    func security(_ settings: [String: String]) throws(Problem) -> Security {
      guard let certificate = settings[Self.certificateSetting], let key = settings[Self.keySetting] else {
        throw .missing
      }
      let texts = Texts(certificate: certificate, key: key, authorities: settings[Self.authoritiesSetting])
      if let same = known.withLock({ $0?.texts == texts ? $0?.security : nil }) { return same }
      let authorities = try texts.authorities.map { (text) throws(Problem) in try Self.authorities(text) }
      do {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map(NIOSSLCertificateSource.certificate)
        let privateKey = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: chain, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        if let authorities {
          // A client certificate is optional, because tokens and roles do not need one.
          configuration.certificateVerification = .optionalVerification
          configuration.trustRoots = .certificates(authorities)
          configuration.sendCANameList = true
        }
        let security = Security(
          context: try NIOSSLContext(configuration: configuration), authorities: texts.authorities)
        known.withLock { $0 = (texts, security) }
        return security
      } catch {
        throw .unsuitable
      }
    }

    private static func authorities(_ text: String) throws(Problem) -> [NIOSSLCertificate] {
      guard let authorities = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8)), !authorities.isEmpty else {
        throw .unsuitableAuthorities
      }
      return authorities
    }
  }

  /// A certificate whose key the client proved to have in the handshake, signed by one of the owner's authorities.
  struct ClientCertificate: Sendable, Equatable {
    let fingerprint: String
    /// The DNS names, in lower case, and the URIs that it was issued for.
    let names: Set<String>
    let expires: Timestamp

    init(_ certificate: NIOSSLCertificate) throws {
      fingerprint = ServiceBinding.Alternative.fingerprint(of: try certificate.toDERBytes())
      var names: Set<String> = []
      for name in certificate._subjectAlternativeNames() {
        guard let text = String(validating: name.contents, as: UTF8.self) else { continue }
        switch name.nameType {
        // A text with a colon is not a DNS name and must not pass for a URI.
        case .dnsName where !text.contains(":"): names.insert(text.lowercased())
        case .uri where text.contains(":"): names.insert(text)
        default: continue
        }
      }
      self.names = names
      expires = Timestamp(milliseconds: UInt64(clamping: certificate.notValidAfter) * 1_000)
    }
  }

  extension ServiceBinding.Alternative {
    func matches(_ client: ClientCertificate) -> Bool {
      certificate.map { $0 == client.fingerprint || client.names.contains($0) } ?? false
    }
  }
#endif
