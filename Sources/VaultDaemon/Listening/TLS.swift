#if Daemon
  import NIOCore
  import NIOSSL
  import Synchronization
  import VaultFoundation

  /// The certificate and key for TCP, which are items of the group `vault.service`. They are read again when they change.
  final class TLSIdentity: Sendable {
    private struct Known: Sendable {
      let certificate: String
      let key: String
      let context: NIOSSLContext
    }

    static let certificateSetting = "tls-certificate"
    static let keySetting = "tls-key"

    private let known = Mutex<Known?>(nil)

    enum Problem: Error, Equatable {
      case missing
      case unsuitable

      var message: String {
        switch self {
        case .missing: "TCP needs the items settings/tls-certificate and settings/tls-key in the group 'vault.service'"
        case .unsuitable: "settings/tls-certificate and settings/tls-key are no certificate and its key in PEM"
        }
      }
    }

    /// - Parameter settings: the owner's.
    /// - Throws: ``Problem``.
    func context(_ settings: [String: String]) throws(Problem) -> NIOSSLContext {
      guard let certificate = settings[Self.certificateSetting], let key = settings[Self.keySetting] else {
        throw .missing
      }
      let same = known.withLock { $0.flatMap { $0.certificate == certificate && $0.key == key ? $0.context : nil } }
      if let same { return same }
      do {
        let chain = try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map(NIOSSLCertificateSource.certificate)
        let privateKey = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
          certificateChain: chain, privateKey: .privateKey(privateKey))
        configuration.minimumTLSVersion = .tlsv12
        let context = try NIOSSLContext(configuration: configuration)
        known.withLock { $0 = Known(certificate: certificate, key: key, context: context) }
        return context
      } catch {
        throw .unsuitable
      }
    }
  }
#endif
