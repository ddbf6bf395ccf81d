#if Daemon
  import Glibc
  import Logging
  import ServiceLifecycle

  /// Notifies systemd of the daemon's state (sd_notify(3)): ready, reloading, stopping, alive.
  ///
  /// Without `NOTIFY_SOCKET` it sends nothing.
  struct SystemdNotices: Service {
    private let path: String?
    /// How often systemd expects a sign of life; `nil` for never.
    private let interval: Duration?
    static let alive = "WATCHDOG=1"

    /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`.
    init(_ environment: [String: String]) {
      path = environment["NOTIFY_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
      let isMeant = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
      let microseconds = isMeant ? environment["WATCHDOG_USEC"].flatMap { Int64($0) } : nil
      interval = microseconds.flatMap { $0 > 0 ? .microseconds($0) : nil }
    }

    /// Gives signs of life until it is shut down, which must be after the last request was answered: systemd kills a daemon
    /// that gives none, also while it hands over.
    func run() async throws {
      tell("READY=1\nSTATUS=answering")
      guard let interval else { return (try? await gracefulShutdown()) ?? () }
      try? await cancelWhenGracefulShutdown {
        while true {
          tell(Self.alive)
          // Twice within the time that systemd allows.
          try await Task.sleep(for: interval / 2)
        }
      }
    }

    /// Notifies systemd that a reload begins, reloads, and notifies it that the daemon is ready.
    func reloading(_ body: () async -> Void) async {
      var now = timespec()
      unsafe clock_gettime(CLOCK_MONOTONIC, &now)
      tell("RELOADING=1\nMONOTONIC_USEC=\(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000)")
      await body()
      tell("READY=1")
    }

    /// Sends one datagram. If that fails, the daemon continues.
    func tell(_ text: String) {
      guard let path else { return }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      var name = Array(path.utf8)
      guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
      // An abstract name begins with a zero byte, which the environment cannot hold.
      if name.first == UInt8(ascii: "@") { name[0] = 0 }
      unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
      let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return }
      defer { close(descriptor) }
      let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
      _ = unsafe withUnsafeBytes(of: &address) { raw in
        unsafe raw.baseAddress.map { base in
          unsafe sendto(
            descriptor, text, text.utf8.count, CInt(MSG_NOSIGNAL), base.assumingMemoryBound(to: sockaddr.self),
            socklen_t(start + name.count))
        }
      }
    }
  }
#endif
