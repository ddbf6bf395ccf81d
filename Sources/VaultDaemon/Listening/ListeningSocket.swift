#if Daemon
  import Glibc
  import NIOCore
  import NIOExtras
  import NIOPosix
  import ServiceLifecycle
  import Synchronization

  /// A socket on which the daemon accepts connections, made by systemd or by the daemon.
  struct ListeningSocket: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
      /// The kernel says who calls.
      case unix
      /// Only with TLS.
      case tcp
    }

    let descriptor: CInt
    let kind: Kind
    /// Its name in systemd's `FileDescriptorName=`.
    let name: String
    /// The socket's file, if the daemon made it.
    var path: String?

    /// The name of sockets that answer HTTP.
    static let http = "http"
    /// The name of sockets that answer systemd's `LoadCredential=`.
    static let credentials = "credentials"
    /// The name of sockets for SSH.
    static let agent = "ssh-agent"
    private static let backlog: CInt = 1_024

    /// Listens on a Unix socket that everyone may connect to: what a caller may do depends on who they are, not on the
    /// file's mode.
    ///
    /// An unused socket file is replaced, and a missing folder is made, which others can pass through.
    ///
    /// - Throws: ``Problem``.
    static func unix(at path: String, name: String = http) throws(Problem) -> ListeningSocket {
      let descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw .system("socket", errno) }
      do throws(Problem) {
        try removeUnused(path)
        // Whatever the umask is. If the folder cannot be made, neither can the socket.
        let folder = folder(of: path)
        if unsafe mkdir(folder, 0o700) == 0 { unsafe chmod(folder, 0o755) }
        guard unsafe try withAddress(path, { unsafe bind(descriptor, $0, $1) }) == 0 else {
          throw .path(path, errno)
        }
        guard unsafe chmod(path, 0o666) == 0 else { throw .system("chmod", errno) }
        guard listen(descriptor, backlog) == 0 else { throw .system("listen", errno) }
        return ListeningSocket(descriptor: descriptor, kind: .unix, name: name, path: path)
      } catch {
        close(descriptor)
        throw error
      }
    }

    /// Listens on a numeric address and a port, such as `127.0.0.1:8200` or `[::1]:8200`; port 0 means any free one.
    ///
    /// - Throws: ``Problem``.
    static func tcp(_ address: String) throws(Problem) -> ListeningSocket {
      guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) else {
        throw .address(address)
      }
      let host = address[..<colon].filter { $0 != "[" && $0 != "]" }
      var hints = unsafe addrinfo()
      unsafe hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
      unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
      var found: UnsafeMutablePointer<addrinfo>?
      guard unsafe getaddrinfo(host, String(port), &hints, &found) == 0, let info = unsafe found else {
        throw .address(address)
      }
      defer { unsafe freeaddrinfo(info) }
      let descriptor = unsafe socket(info.pointee.ai_family, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { throw .system("socket", errno) }
      var one: CInt = 1
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
      guard unsafe bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0,
        listen(descriptor, backlog) == 0
      else {
        let code = errno
        close(descriptor)
        throw .system("bind", code)
      }
      return ListeningSocket(descriptor: descriptor, kind: .tcp, name: http)
    }

    /// The sockets that systemd opened for this process (sd_listen_fds(3)).
    ///
    /// - Parameters:
    ///   - environment: `LISTEN_PID`, `LISTEN_FDS` and `LISTEN_FDNAMES`.
    ///   - first: the number of the first descriptor.
    /// - Throws: ``Problem`` for a socket whose name does not say what to answer on it.
    static func activated(
      by environment: [String: String], first: CInt
    ) throws(Problem) -> [ListeningSocket] {
      guard environment["LISTEN_PID"] == String(getpid()), let count = environment["LISTEN_FDS"].flatMap({ CInt($0) }),
        (1...1_024).contains(count)
      else { return [] }
      let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
      var sockets: [ListeningSocket] = []
      for position in 0..<count {
        let descriptor = first + position
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        guard let kind = Kind(of: descriptor) else { continue }
        let name = names.dropFirst(Int(position)).first.flatMap { $0.isEmpty ? nil : String($0) } ?? http
        guard name == http || kind == .unix && [credentials, agent].contains(name) else {
          throw .unknownName(name, kind)
        }
        sockets.append(ListeningSocket(descriptor: descriptor, kind: kind, name: name))
      }
      return sockets
    }

    /// Restores the length of the queue: NIO has called listen on the socket again, with a queue of 128.
    func lengthenQueue() { _ = listen(descriptor, Self.backlog) }

    /// Whether it is a Unix socket with this path.
    func isBound(to path: String) -> Bool {
      let name = unsafe Self.unixName { unsafe getsockname(descriptor, $0, $1) }
      return kind == .unix && name.prefix { $0 != 0 }.elementsEqual(path.utf8)
    }

    /// The name in the address of a Unix socket: a path, or a zero byte and an abstract name; empty if there is none.
    ///
    /// - Parameter ask: calls getsockname(2) or getpeername(2).
    static func unixName(
      _ ask: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> CInt
    ) -> [UInt8] {
      var address = sockaddr_un()
      var size = socklen_t(MemoryLayout<sockaddr_un>.size)
      let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
      return unsafe withUnsafeMutableBytes(of: &address) { memory in
        guard let base = memory.baseAddress, unsafe ask(base.assumingMemoryBound(to: sockaddr.self), &size) == 0,
          Int(size) > start, Int(size) <= memory.count
        else { return [] }
        return unsafe Array(memory[start..<Int(size)])
      }
    }

    /// The port of a TCP socket.
    var port: UInt16? {
      var address = sockaddr_in6()
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isKnown = unsafe withUnsafeMutableBytes(of: &address) { bytes in
        guard let start = bytes.baseAddress else { return false }
        return unsafe getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &size) == 0
      }
      // The port has the same offset in the addresses of both families.
      return isKnown && kind == .tcp ? UInt16(bigEndian: address.sin6_port) : nil
    }

    /// The path of the folder that `path` is in.
    static func folder(of path: String) -> String {
      guard let slash = path.lastIndex(of: "/") else { return "." }
      return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Removes the file of a socket that nobody listens on, and nothing else that has this path.
    private static func removeUnused(_ path: String) throws(Problem) {
      var status = stat()
      guard unsafe lstat(path, &status) == 0 else { return }
      guard status.st_mode & S_IFMT == S_IFSOCK else { throw .path(path, EEXIST) }
      let probe = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard probe >= 0 else { throw .system("socket", errno) }
      defer { close(probe) }
      if unsafe try withAddress(path, { unsafe connect(probe, $0, $1) }) == 0 { throw .inUse(path) }
      if errno == ECONNREFUSED { unsafe unlink(path) }
    }

    private static func withAddress(
      _ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt
    ) throws(Problem) -> CInt {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = Array(path.utf8)
      guard !bytes.isEmpty, bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else {
        throw .address(path)
      }
      unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
      return unsafe withUnsafeBytes(of: &address) { raw in
        guard let start = raw.baseAddress else { return -1 }
        return unsafe body(start.assumingMemoryBound(to: sockaddr.self), socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }

    /// The reason why the daemon cannot listen.
    enum Problem: Error, Equatable {
      case address(String)
      case inUse(String)
      case path(String, CInt)
      case system(String, CInt)
      case unknownName(String, Kind)

      var message: String {
        switch self {
        case .address(let text): "'\(text)' is not an address to listen on"
        case .inUse(let path): "another process listens on '\(path)'"
        case .path(let path, let code): "the socket '\(path)' cannot be made: \(unsafe String(cString: strerror(code)))"
        case .system(let call, let code): "\(call): \(unsafe String(cString: strerror(code)))"
        case .unknownName(let name, .unix):
          "systemd passes a socket named '\(name)': in its unit, set FileDescriptorName=http, credentials or ssh-agent"
        case .unknownName(let name, .tcp):
          "systemd passes a network socket named '\(name)': in its unit, set FileDescriptorName=http"
        }
      }
    }
  }

  extension ListeningSocket.Kind {
    /// - Returns: `nil` if the descriptor is not a listening stream socket of these families.
    fileprivate init?(of descriptor: CInt) {
      guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
        Self.option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
      else { return nil }
      switch Self.option(SO_DOMAIN, of: descriptor) {
      case AF_UNIX: self = .unix
      case AF_INET, AF_INET6: self = .tcp
      default: return nil
      }
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
      var value: CInt = 0
      var size = socklen_t(MemoryLayout<CInt>.size)
      return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }
  }

  extension ListeningSocket {
    /// Accepts connections and serves them side by side, until a graceful shutdown: this accepts no more, tells those
    /// that are idle to end, and waits for the others. What has not been accepted waits in the socket's queue for the
    /// next process that listens. A cancellation, or an error of the socket, ends it in the same way.
    ///
    /// - Parameter setUp: returns `nil` for a connection that is not served.
    /// - Throws: ``Problem`` for an error of the socket.
    func accept<Accepted: Sendable>(
      _ setUp: @escaping @Sendable (any Channel) -> EventLoopFuture<Accepted?>,
      serve: @escaping @Sendable (Accepted) async -> Void
    ) async throws {
      let group = MultiThreadedEventLoopGroup.singleton
      let quiescing = ServerQuiescingHelper(group: group)
      let arrivals = Arrivals()
      let (connections, accepted) = AsyncStream<Accepted>.makeStream()
      let server = try await ServerBootstrap(group: group)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandlers(
              arrivals, quiescing.makeServerChannelHandler(channel: channel))
          }
        }
        // A client that has finished sending may still wait for the answer.
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .childChannelInitializer { channel in
          setUp(channel).map { connection in
            // Only after this is the listening channel told that the connection is ready.
            channel.eventLoop.execute { arrivals.settle(channel) }
            // Nothing is forgotten, even if the listening channel was closed meanwhile.
            guard let connection, case .terminated = accepted.yield(connection) else { return }
            Task { await serve(connection) }
          }
        }
        .withBoundSocket(descriptor).get()
      lengthenQueue()
      server.closeFuture.whenComplete { _ in
        accepted.finish()
        quiescing.initiateShutdown(promise: nil)
      }
      await withTaskCancellationHandler {
        await withGracefulShutdownHandler {
          await withDiscardingTaskGroup { tasks in
            for await connection in connections { tasks.addTask { await serve(connection) } }
          }
        } onGracefulShutdown: {
          arrivals.end(server) { quiescing.initiateShutdown(promise: nil) }
        }
      } onCancel: {
        server.close(promise: nil)
      }
      if let code = arrivals.failure { throw Problem.system("accept", code) }
    }
  }

  /// The connections that a listening channel has accepted and not set up yet. It closes them if it is closed itself.
  private final class Arrivals: ChannelInboundHandler, Sendable {
    typealias InboundIn = any Channel

    private struct State {
      var arriving: Set<ObjectIdentifier> = []
      var isEnding = false
      var end: (@Sendable () -> Void)?
      var failure: CInt?
    }

    private let state = Mutex(State())

    /// The error that closed the listening channel.
    var failure: CInt? { state.withLock { $0.failure } }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let channel = unwrapInboundIn(data)
      state.withLock { _ = $0.arriving.insert(ObjectIdentifier(channel)) }
      channel.closeFuture.whenComplete { _ in self.settle(channel) }
      context.fireChannelRead(data)
    }

    /// If there is no descriptor or memory for another connection, NIO would try again at once, and go on so. After other
    /// errors it closes the channel.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      guard let code = (error as? IOError)?.errnoCode, code != ECONNABORTED else { return }
      guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(code) else { return state.withLock { $0.failure = code } }
      let channel = context.channel
      channel.setOption(.autoRead, value: false).whenComplete { _ in
        channel.eventLoop.scheduleTask(in: .milliseconds(100)) {
          if !self.state.withLock({ $0.isEnding }) { channel.setOption(.autoRead, value: true).whenComplete { _ in } }
        }
      }
    }

    func settle(_ channel: any Channel) {
      let end = state.withLock { state in
        state.arriving.remove(ObjectIdentifier(channel))
        return state.arriving.isEmpty ? state.end.take() : nil
      }
      end?()
    }

    /// Accepts no more connections.
    ///
    /// - Parameter end: called when all those that have been accepted are set up.
    func end(_ server: any Channel, _ end: @escaping @Sendable () -> Void) {
      state.withLock { $0.isEnding = true }
      server.setOption(.autoRead, value: false).whenComplete { _ in
        let isSettled = self.state.withLock { state in
          if !state.arriving.isEmpty { state.end = end }
          return state.arriving.isEmpty
        }
        if isSettled { end() }
      }
    }
  }
#endif
