#if Daemon
  import CVaultSystem
  import Glibc
  import ServiceLifecycle
  import Synchronization
  import UnixSignals

  /// Hands the sockets over to a new version of the executable (SIGUSR2): requests that have begun are answered by the old
  /// one, and those that come meanwhile wait in the sockets' queues for the new one.
  final class Handover: Service {
    private let kept: [ListeningSocket]
    private let wanted = Atomic(false)
    private let isEnding = Atomic(false)

    /// Keeps descriptors of its own, which stay open when the old version has closed the sockets.
    init(_ sockets: [ListeningSocket]) {
      kept = sockets.compactMap { socket in
        // Above those that the new version gets.
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, CInt(3 + sockets.count))
        guard descriptor >= 0 else { return nil }
        return ListeningSocket(descriptor: descriptor, kind: socket.kind, name: socket.name, path: socket.path)
      }
    }

    /// Whether the process is to go on as a new version: it was asked for this, and not to end meanwhile.
    var isWanted: Bool { wanted.load(ordering: .acquiring) && !isEnding.load(ordering: .acquiring) }

    /// Notes a signal to end that arrives while the sockets are being handed over, which no service would see.
    func noteEnd() {
      Task.detached { [self] in
        for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
          isEnding.store(true, ordering: .releasing)
        }
      }
    }

    /// Returns when the handover is asked for, which must end the other services.
    func run() async throws {
      for await _ in await UnixSignalsSequence(trapping: .sigusr2).cancelOnGracefulShutdown() {
        wanted.store(true, ordering: .releasing)
        return
      }
    }

    /// Becomes the new version, in the same process.
    ///
    /// - Parameter arguments: the command line, with the name of the program.
    /// - Returns: only if that fails: `errno`.
    func start(_ arguments: [String]) -> CInt {
      guard let program = Self.program(arguments.first ?? "") else { return ENOENT }
      for (position, socket) in kept.enumerated() { dup2(socket.descriptor, CInt(3 + position)) }
      unsafe setenv("LISTEN_PID", String(getpid()), 1)
      unsafe setenv("LISTEN_FDS", String(kept.count), 1)
      unsafe setenv("LISTEN_FDNAMES", kept.map(\.name).joined(separator: ":"), 1)
      for signal in [SIGTERM, SIGINT] { csystem_take_default_action(signal) }
      var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
      unsafe words.append(nil)
      unsafe execv(program, &words)
      return errno
    }

    /// Removes the files of the sockets that the daemon made.
    func removeSockets() {
      for path in kept.compactMap(\.path) { unsafe unlink(path) }
    }

    /// The path of the executable: a newer file of the same name may have replaced the one that runs.
    private static func program(_ name: String) -> String? {
      if name.contains("/") { return name }
      var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
      let count = unsafe path.withUnsafeMutableBytes { buffer in
        guard let start = buffer.baseAddress else { return -1 }
        return unsafe readlink("/proc/self/exe", start.assumingMemoryBound(to: CChar.self), buffer.count)
      }
      guard count > 0 else { return nil }
      let link = String(decoding: path[..<count], as: UTF8.self)
      return link.hasSuffix(" (deleted)") ? String(link.dropLast(" (deleted)".count)) : link
    }
  }
#endif
