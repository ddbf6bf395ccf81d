#if Daemon
  import Foundation
  import VaultFoundation

  /// How the daemon was started: its command line, together with what systemd passes in the environment.
  struct Configuration: Sendable {
    /// The path of the Unix socket; `nil` if systemd passes sockets, or if only TCP is used.
    var socket: String?
    /// The path of the SSH agent's socket; `nil` for none.
    var agent: String?
    /// The groups that the Secret Service on the session bus uses; empty to switch it off.
    var secretService: [String] = []
    /// The program that asks the person at the machine; `nil` to search for one.
    var pinentry: String?
    /// The address for HTTP with TLS, such as `127.0.0.1:8200`.
    var address: String?
    /// The file of the daemon's own credential.
    var credential: String?
    var location: StoreLocation
    var manager = ServiceManager.system
    var limits = Limits()
    /// Whether to only report what is wrong with the configuration.
    var isCheck = false
    /// False to act as on kernels without descriptors of peers.
    var usesPeerDescriptors = true

    init(location: StoreLocation) { self.location = location }

    /// - Throws: ``Problem``; ``VaultError`` if the location of the store cannot be determined.
    init(
      arguments: [String], environment: [String: String], user: UInt32
    ) throws {
      location = try StoreLocation(environment: environment)
      let runtime = environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
      manager = ServiceManager(
        of: user, inControlGroup: try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8))
      usesPeerDescriptors = environment["VAULTD_NO_PEER_DESCRIPTORS"] == nil
      credential = environment["CREDENTIALS_DIRECTORY"].map { $0 + "/vault.credential" }
      var rest = arguments[...]
      var hasAgent = false
      while let option = rest.popFirst() {
        func value() throws(Problem) -> String {
          guard let value = rest.popFirst(), !value.isEmpty else { throw .missingValue(option) }
          return value
        }
        switch option {
        case "--socket": socket = try value()
        case "--listen": address = try value()
        case "--credential": credential = try value()
        case "--secret-service":
          secretService = try value().split(separator: ",").map(String.init)
          guard !secretService.isEmpty, Set(secretService).count == secretService.count,
            secretService.allSatisfy({ (try? AccessGroup.Name($0))?.isReserved == false })
          else { throw Problem.noGroups }
        case "--pinentry": pinentry = try value()
        case "--check": isCheck = true
        case "--ssh-agent": hasAgent = true
        default: throw Problem.unknownOption
        }
      }
      let isActivated = environment["LISTEN_FDS"] != nil
      if socket == nil, address == nil, !isActivated {
        guard user == 0 || runtime != nil else { throw Problem.noPlaceForSocket }
        socket = (user == 0 ? "/run" : runtime ?? "") + "/vault/socket"
      }
      if hasAgent, let place = socket ?? (user == 0 ? "/run/vault/socket" : runtime.map { $0 + "/vault/socket" }) {
        agent = place.lastIndex(of: "/").map { place[...$0] + "ssh-agent" } ?? "ssh-agent"
      }
    }

    enum Problem: Error, Equatable {
      case missingValue(String)
      case unknownOption
      case noPlaceForSocket
      case noGroups

      var message: String {
        switch self {
        case .missingValue(let option): "\(option) needs a value"
        case .unknownOption: "an unknown option"
        case .noPlaceForSocket: "there is no place for the socket: name one with --socket, or set XDG_RUNTIME_DIR"
        case .noGroups: "--secret-service takes group names separated by commas, and none of the store's own groups"
        }
      }
    }

    static let usage = """
      usage: vaultd [--socket PATH] [--listen ADDRESS:PORT] [--credential FILE] [--ssh-agent]
                    [--secret-service GROUP[,GROUP…]] [--pinentry PROGRAM] [--check]

      Gives applications their secrets over HashiCorp's KV interface, and records every answer. It identifies them by
      their processes, tokens or certificates.

        --socket PATH          listen on this Unix socket; by default on those that systemd passes, otherwise on
                               /run/vault/socket or, for a user's own vaultd, $XDG_RUNTIME_DIR/vault/socket
        --listen ADDRESS:PORT  listen on TCP with TLS, and on a Unix socket only if --socket or systemd names one; the
                               certificate and its key are items of the group vault.service
        --credential FILE      vaultd's own credential, which 'vault service enroll' writes (else the file
                               vault.credential in systemd's $CREDENTIALS_DIRECTORY)
        --ssh-agent            also be an SSH agent, on the socket ssh-agent in the same folder
        --secret-service GROUP[,GROUP…]
                               answer org.freedesktop.secrets on the session bus from these groups
        --pinentry PROGRAM     the program that asks you questions; by default pinentry, if there is a display
        --check                report everything that is wrong with the configuration, and exit
        --read-secret-service  write the items of the Secret Service that is running, for 'vault import'; no other
                               option goes with it
        --help, --version

      """
  }
#endif
