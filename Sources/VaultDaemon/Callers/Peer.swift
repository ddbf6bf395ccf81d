#if Daemon
  import CVaultProcess
  import CVaultSystem
  import Glibc
  import Ground

  /// What the kernel says about the process that opened a connection.
  ///
  /// It is read once, when the connection is accepted. The user is the one at the time of connecting, the label the one
  /// that the socket was made under. Unit and executable are read from /proc by process number, which may already
  /// belong to another process. They are certain only if a descriptor of the peer's process shows afterwards that it is
  /// still alive, because then its number was not reused.
  struct Peer: Sendable, Equatable {
    /// The uid; `nil` over TCP.
    var user: UInt32?
    /// Whether it is root or the daemon's own user, who could also end the daemon.
    var isDaemonsUser: Bool { user == 0 || user == geteuid() }
    var process: Int32?
    /// The unit, of the manager that the daemon belongs to.
    var unit: String?
    /// The path of the executable.
    var executable: String?
    /// The AppArmor or SELinux label.
    var label: String?
    /// Whether `process`, `unit` and `executable` are known to be the peer's. Otherwise only `user` identifies them.
    var isProcessCertain = false
    /// The address, for a connection over TCP.
    var address: String?

    init(address: String? = nil) { self.address = address }

    /// - Parameters:
    ///   - socket: a connected Unix socket.
    ///   - usesDescriptor: false to act as on a kernel without descriptors of peers.
    ///   - manager: the service manager whose units count.
    ///   - testOnlyAfterReading: called after /proc is read and before it is checked that the process is alive.
    /// - Returns: `nil` if the socket has no peer.
    init?(
      of socket: CInt, usesDescriptor: Bool = true, manager: ServiceManager = .system,
      testOnlyAfterReading: (pid_t) -> Void = { _ in }
    ) {
      var (process, user, group): (Int32, UInt32, UInt32) = (0, 0, 0)
      guard unsafe csystem_peer(socket, &process, &user, &group) == 0 else { return nil }
      self.user = user
      label = Self.label(of: socket)
      let descriptor = usesDescriptor ? cprocess_peer_process(socket) : -1
      let hasDescriptors = usesDescriptor && (descriptor >= 0 || errno != ENOPROTOOPT)
      defer { if descriptor >= 0 { close(descriptor) } }
      // If the kernel supports descriptors and returns none, the process is gone. The number 0 means a process outside
      // our namespace.
      guard process > 0, descriptor >= 0 || !hasDescriptors else { return }
      let facts = ProcessFacts(of: process, manager)
      testOnlyAfterReading(process)
      guard !hasDescriptors || Self.isAlive(descriptor) else { return }
      self.process = process
      (unit, executable) = (facts.unit, facts.executable)
      isProcessCertain = hasDescriptors
    }

    /// A process that another process vouches for, identified only by its number, which may have been reused.
    init(process: Int32?, user: UInt32?) {
      (self.process, self.user) = (process, user)
      guard let process, process > 0 else { return }
      let facts = ProcessFacts(of: process, .system)
      (unit, executable) = (facts.unit, facts.executable)
    }

    /// A descriptor of a process becomes readable when the process ends.
    private static func isAlive(_ descriptor: CInt) -> Bool {
      var question = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return unsafe poll(&question, 1, 0) == 0
    }

    private static func label(of socket: CInt) -> String? {
      var bytes = [CChar](repeating: 0, count: 1_025)
      let count = unsafe cprocess_peer_label(socket, &bytes, bytes.count - 1)
      guard count > 0 else { return nil }
      let text = bytes[..<Int(count)].prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
      return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
  }

  /// The service manager whose units the daemon distinguishes.
  enum ServiceManager: Sendable, Equatable {
    case system
    /// The manager of this user. The user chooses the names of its units, and is trusted here because the daemon is
    /// theirs.
    case user(UInt32)

    /// The manager that a process belongs to.
    ///
    /// - Parameter controlGroup: the text of the process's own `/proc/self/cgroup`.
    init(of user: UInt32, inControlGroup controlGroup: String?) {
      // A service of the system manager can run as any user.
      let isSystems = controlGroup.flatMap { ServiceManager.system.unit(inControlGroup: $0) }
        .map { $0 != "user@\(user).service" }
      self = user == 0 || isSystems == true ? .system : .user(user)
    }

    /// The unit that a process with this text in `/proc/PID/cgroup` belongs to; `nil` if it belongs to none of the
    /// manager's services.
    ///
    /// A user's own manager can give its units any name, but all of them are below `user@UID.service`, a unit of the
    /// system manager, which comes first in the path.
    func unit(inControlGroup text: String) -> String? {
      guard let line = text.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }),
        !line.hasSuffix(" (deleted)")
      else { return nil }
      var parts = line.dropFirst(4).split(separator: "/")[...]
      guard !parts.contains("..") else { return nil }
      if case .user(let user) = self {
        let expected = ["user.slice", "user-\(user).slice", "user@\(user).service"]
        guard parts.prefix(3).map(String.init) == expected else { return nil }
        parts = parts.dropFirst(3)
      }
      guard var unit = parts.first(where: { !$0.hasSuffix(".slice") }), unit.hasSuffix(".service") else { return nil }
      // systemd puts an underscore before names that have a meaning in the cgroup file system.
      if unit.hasPrefix("_") { unit = unit.dropFirst() }
      return String(unit)
    }
  }

  /// What /proc says about a process number at this moment.
  private struct ProcessFacts {
    let unit: String?
    let executable: String?

    init(of process: Int32, _ manager: ServiceManager) {
      unit = Self.content(of: "/proc/\(process)/cgroup").flatMap { manager.unit(inControlGroup: $0) }
      // The path of a replaced file ends with " (deleted)", so no binding matches it.
      executable = (try? CanonicalPath.target(of: "/proc/\(process)/exe")).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func content(of path: String) -> String? {
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      var bytes = [UInt8](repeating: 0, count: 16 * 1_024)
      let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
      // A longer text would be cut off, and the rest could name another unit.
      return count > 0 && count < bytes.count ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }
  }
#endif
