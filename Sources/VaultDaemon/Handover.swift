#if Daemon
  import CVaultSystem
  import Glibc
  import Ground
  import ServiceLifecycle
  import Synchronization
  import UnixSignals

  /// Hands the sockets over to a new version of the executable (SIGUSR2). The old one answers the requests that have
  /// begun; later ones wait in the sockets' queues for the new one.
  final class Handover: Service {
    /// The signals that the daemon follows besides those that end it. They are trapped before the first socket is opened,
    /// because a signal that nobody waits for would end the process.
    struct Signals {
      let handover: UnixSignalsSequence
      let reload: UnixSignalsSequence

      init() async {
        handover = await UnixSignalsSequence(trapping: .sigusr2)
        reload = await UnixSignalsSequence(trapping: .sighup)
      }

      /// Until the signals are trapped, they are ignored, also by a new version that is about to start: a handover that is
      /// requested in these milliseconds must be requested again.
      static func ignore() { for signal in [SIGUSR2, SIGHUP] { csystem_ignore(signal) } }
    }

    /// Tells the new version which sockets' files the daemon made, one on each line. Those of systemd are systemd's to
    /// remove.
    static let pathsVariable = "VAULTD_SOCKETS"

    let signals: Signals
    private let kept: [ListeningSocket]
    private let wanted = Atomic(false)
    private let isEnding = Atomic(false)

    /// Duplicates the descriptors, so that the sockets stay open when the old version closes them.
    init(_ sockets: [ListeningSocket], _ signals: Signals) {
      self.signals = signals
      kept = sockets.compactMap { socket in
        // Higher than the numbers that the new version uses.
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, CInt(3 + sockets.count))
        guard descriptor >= 0 else { return nil }
        return ListeningSocket(descriptor: descriptor, kind: socket.kind, name: socket.name, path: socket.path)
      }
    }

    /// Whether the process should continue as a new version: that was requested, and no signal to end has come since.
    var isWanted: Bool { wanted.load(ordering: .acquiring) && !isEnding.load(ordering: .acquiring) }

    /// Notes a signal to end that arrives during the handover, when no service would see it.
    func noteEnd() {
      Task.detached { [self] in
        for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
          isEnding.store(true, ordering: .releasing)
        }
      }
    }

    /// Returns when a handover is requested, which ends the other services.
    func run() async throws {
      for await _ in signals.handover.cancelOnGracefulShutdown() {
        wanted.store(true, ordering: .releasing)
        return
      }
    }

    /// Becomes the new version, in the same process.
    ///
    /// - Parameter arguments: the command line, with the name of the program.
    /// - Returns: `errno`, if that failed; otherwise it does not return.
    func start(_ arguments: [String]) -> CInt {
      guard let program = Self.program(arguments.first ?? "") else { return ENOENT }
      for (position, socket) in kept.enumerated() { dup2(socket.descriptor, CInt(3 + position)) }
      unsafe setenv("LISTEN_PID", String(getpid()), 1)
      unsafe setenv("LISTEN_FDS", String(kept.count), 1)
      unsafe setenv("LISTEN_FDNAMES", kept.map(\.name).joined(separator: ":"), 1)
      unsafe setenv(Self.pathsVariable, kept.compactMap(\.path).joined(separator: "\n"), 1)
      for signal in [SIGTERM, SIGINT] { csystem_take_default_action(signal) }
      Signals.ignore()
      var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
      unsafe words.append(nil)
      unsafe execv(program, &words)
      return errno
    }

    /// Removes the socket files that the daemon made.
    func removeSockets() {
      for path in kept.compactMap(\.path) { unsafe unlink(path) }
    }

    /// The path of the executable, where a newer file may have replaced the running one.
    private static func program(_ name: String) -> String? {
      if name.contains("/") { return name }
      guard let target = try? CanonicalPath.target(of: "/proc/self/exe") else { return nil }
      let link = String(decoding: target, as: UTF8.self)
      return link.hasSuffix(" (deleted)") ? String(link.dropLast(" (deleted)".count)) : link
    }
  }
#endif
