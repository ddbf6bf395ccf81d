#if Daemon
  import Glibc
  import Logging
  import NIOCore
  import ServiceLifecycle

  /// Answers systemd's `LoadCredential=ID:SOCKET`. systemd names the unit in the address of its own socket.
  ///
  /// An answer consists of the bytes of the value. systemd 252 takes a closed connection for an empty credential and
  /// starts the unit with it. An answer larger than a credential may be makes the unit fail, so that is how a
  /// credential is refused.
  struct CredentialsDoor: Service {
    let socket: ListeningSocket
    /// The service manager, which apart from root is the only one that gets an answer.
    let manager: ServiceManager
    let limits: Limits
    let logger: Logger
    let answer: @Sendable (CredentialRequest) async -> [UInt8]?

    /// One byte more than systemd accepts for all credentials of a unit.
    private static let refusal = 1 << 20 | 1

    func run() async throws {
      // systemd sends nothing and closes its sending side at once.
      try await socket.accept(
        { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.keepFromPrograms()
            return channel
          }
        }, serve: serve)
    }

    private func serve(_ channel: any Channel) async {
      do {
        let request = try await request(on: channel)
        let value: [UInt8]? = if let request { await answer(request) } else { nil }
        // A client that does not read must not keep its connection. Making the answer may take longer: a connection
        // that is closed meanwhile would be an empty credential.
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(limits.transfer)) { channel.close(promise: nil) }
        defer { deadline.cancel() }
        try await channel.writeAndFlush(ByteBuffer(bytes: value ?? [UInt8](repeating: 0, count: Self.refusal))).get()
      } catch {
        logger.debug("a credential was not taken", metadata: ["error": "\(type(of: error))"])
      }
      channel.close(promise: nil)
    }

    /// - Returns: `nil` for a connection that is not from the service manager.
    private func request(on channel: any Channel) async throws -> CredentialRequest? {
      try await channel.eventLoop.submit {
        try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: NIOBSDSocket.Handle.self) { handle in
          guard let peer = Peer(of: handle, manager: manager), let user = peer.user, manager.isRun(by: user) else {
            return nil
          }
          return CredentialRequest(peerName: Self.peerName(of: handle), peer: peer)
        } ?? nil
      }.get()
    }

    /// The name of the socket at the other end, without the zero byte of an abstract name.
    private static func peerName(of descriptor: CInt) -> String? {
      let bytes = unsafe ListeningSocket.unixName { unsafe getpeername(descriptor, $0, $1) }
      guard bytes.first == 0 else { return nil }
      return String(validating: bytes.dropFirst(), as: UTF8.self)
    }
  }

  /// A credential that the service manager requests for a unit.
  struct CredentialRequest: Sendable, Equatable {
    let unit: String
    /// The credential's id in the unit file.
    let id: String
    /// The service manager.
    let peer: Peer

    /// Reads `RANDOM/unit/UNIT/ID`; `nil` for anything else.
    init?(peerName: String?, peer: Peer) {
      guard let parts = peerName?.split(separator: "/", omittingEmptySubsequences: false), parts.count == 4,
        !parts[0].isEmpty, parts[1] == "unit", !parts[2].isEmpty, !parts[3].isEmpty
      else { return nil }
      (unit, id, self.peer) = (String(parts[2]), String(parts[3]), peer)
    }
  }

  extension ServiceManager {
    /// Whether processes of `user` can be this manager.
    fileprivate func isRun(by user: UInt32) -> Bool {
      switch self {
      case .system: user == 0
      case .user(let owner): user == owner
      }
    }
  }
#endif
