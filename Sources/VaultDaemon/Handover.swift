#if Daemon
  import CVaultProcess
  import CVaultSystem
  import Glibc
  import Ground
  import ServiceLifecycle
  import Synchronization
  import UnixSignals

  /// Hands the sockets over to a new version of the executable (SIGUSR2). The old one answers the requests that have
  /// begun; later ones wait in the sockets' queues for the new one.
  final class Handover: Service {
    /// The signals that the daemon follows. They are trapped before the first socket is opened, because a signal that nobody
    /// waits for would end the process.
    struct Signals {
      let reload: UnixSignalsSequence
      /// SIGUSR2 and the signals that end the daemon.
      fileprivate let last: UnixSignalsSequence

      /// - Parameter ends: the signals that end the daemon.
      init(ends: [UnixSignal]) async {
        last = await UnixSignalsSequence(trapping: [.sigusr2] + ends)
        reload = await UnixSignalsSequence(trapping: .sighup)
      }

      /// Until the signals are trapped, they are ignored, also by a new version that is about to start: a handover that is
      /// requested in these milliseconds must be requested again.
      static func ignore() { for signal in [SIGUSR2, SIGHUP] { cprocess_ignore(signal) } }
    }

    /// Tells the new version which sockets' files the daemon made, one on each line. Those of systemd are systemd's to
    /// remove.
    static let pathsVariable = "VAULTD_SOCKETS"

    let signals: Signals
    let notices: SystemdNotices
    private let kept: [ListeningSocket]
    private let requests = Atomic(0)
    private let isEnding = Atomic(false)
    private let (first, arrival) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))

    /// Duplicates the descriptors, so that the sockets stay open when the old version closes them.
    init(_ sockets: [ListeningSocket], _ signals: Signals, _ notices: SystemdNotices) {
      (self.signals, self.notices) = (signals, notices)
      kept = sockets.compactMap { socket in
        // Higher than the numbers that the new version uses.
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, CInt(3 + sockets.count))
        guard descriptor >= 0 else { return nil }
        return ListeningSocket(descriptor: descriptor, kind: socket.kind, name: socket.name, path: socket.path)
      }
    }

    /// Whether the process should continue as a new version: that was requested, and no signal to end has come since.
    var isWanted: Bool { requests.load(ordering: .acquiring) > 0 && !isEnding.load(ordering: .acquiring) }

    /// Notes each signal from now on: one that arrives before the services run, or during a handover, counts as well.
    func follow() {
      Task.detached { [self] in
        for await signal in signals.last {
          if signal == .sigusr2 {
            requests.add(1, ordering: .releasing)
          } else {
            isEnding.store(true, ordering: .releasing)
          }
          arrival.yield()
        }
      }
    }

    /// Returns when a handover or the end is requested, which ends the other services.
    func run() async throws {
      for await _ in first.cancelOnGracefulShutdown() { break }
      notices.tell(isWanted ? "STATUS=handing over to a new version" : "STOPPING=1")
    }

    /// Becomes the new version, in the same process.
    ///
    /// - Parameter arguments: the command line, with the name of the program.
    /// - Returns: `errno`, if that failed; 0, if a signal to end has come; otherwise it does not return.
    func start(_ arguments: [String]) async -> CInt {
      guard let program = Self.program(arguments.first ?? "") else { return ENOENT }
      // The next one comes when the new version has started.
      notices.tell(SystemdNotices.alive)
      for signal in [SIGTERM, SIGINT] { csystem_take_default_action(signal) }
      await noteReceived()
      guard isWanted else { return 0 }
      // From here on, nothing may wait: these numbers can be those of the descriptors by which this process waits.
      for (position, socket) in kept.enumerated() { dup2(socket.descriptor, CInt(3 + position)) }
      unsafe setenv("LISTEN_PID", String(getpid()), 1)
      unsafe setenv("LISTEN_FDS", String(kept.count), 1)
      unsafe setenv("LISTEN_FDNAMES", kept.map(\.name).joined(separator: ":"), 1)
      unsafe setenv(Self.pathsVariable, kept.compactMap(\.path).joined(separator: "\n"), 1)
      var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
      unsafe words.append(nil)
      // Libraries leave some descriptors open on exec, which each new version would only gather.
      cprocess_close_on_exec(CInt(3 + kept.count))
      Signals.ignore()
      unsafe execv(program, &words)
      return errno
    }

    /// Waits until each signal that was received is noted. They are noted in their order, so one more shows that.
    private func noteReceived() async {
      let before = requests.load(ordering: .acquiring)
      kill(getpid(), SIGUSR2)
      while requests.load(ordering: .acquiring) == before { try? await Task.sleep(for: .milliseconds(1)) }
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
