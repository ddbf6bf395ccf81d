import Glibc

/// The built `vault`, run as a process of its own.
final class Executable {
  struct Result {
    /// The exit status, or the signal that ended the process plus 128, as a shell would tell it.
    let status: Int32
    let outputBytes: [UInt8]
    let errors: String

    var output: String { String(decoding: outputBytes, as: UTF8.self) }
  }

  /// The executable lies where this test lies.
  static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    let test = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return test.prefix(through: test.lastIndex(of: "/") ?? test.startIndex) + "vault"
  }()

  /// POSIX_SPAWN_SETSID, SETSIGMASK and SETSIGDEF: a session of its own, and signals as a shell would leave them.
  private static let flags: Int16 = 0x80 | 0x08 | 0x04

  private(set) var process: pid_t = 0
  private let input: Int32
  private let output = Pipe.nameless()
  private let errors = Pipe.nameless()

  /// Starts a command.
  ///
  /// - Parameters:
  ///   - terminal: becomes the process's controlling terminal and its stdin; without one it has none.
  ///   - extra: descriptors that the process gets under the numbers 3, 4, …
  init(
    _ arguments: [String], program: String = Executable.path, input: [UInt8] = [], environment: [String: String],
    terminal: PseudoTerminal? = nil, extra: [Int32] = []
  ) {
    self.input = Pipe.holding(input)
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    if let terminal {
      // The first terminal that the leader of a new session opens is its controlling one.
      unsafe posix_spawn_file_actions_addopen(&actions, 0, terminal.path, O_RDWR, 0)
    } else {
      unsafe posix_spawn_file_actions_adddup2(&actions, self.input, 0)
    }
    unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
    unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2)
    for (offset, descriptor) in extra.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + offset))
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    unsafe posix_spawnattr_setflags(&attributes, Self.flags)
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe posix_spawnattr_setsigmask(&attributes, &signals)
    unsafe sigfillset(&signals)
    unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
    let argv = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
    let envp = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    let code = unsafe posix_spawn(&process, program, &actions, &attributes, argv, envp)
    precondition(code == 0, "\(program) cannot be started: \(code)")
    for position in unsafe argv.indices { unsafe free(argv[position]) }
    for position in unsafe envp.indices { unsafe free(envp[position]) }
    unsafe posix_spawn_file_actions_destroy(&actions)
    unsafe posix_spawnattr_destroy(&attributes)
  }

  /// Waits for the end of the process.
  func wait() -> Result {
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) == -1 && errno == EINTR {}
    let signal = status & 0x7F
    close(input)
    return Result(
      status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, outputBytes: Pipe.contents(of: output),
      errors: String(decoding: Pipe.contents(of: errors), as: UTF8.self))
  }

  /// The soft limit that the system tells of the running process.
  func limit(_ title: String) -> String? {
    let descriptor = unsafe open("/proc/\(process)/limits", O_RDONLY)
    defer { close(descriptor) }
    let lines = String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: "\n")
    let line = lines.first { $0.hasPrefix(title) }
    return line?.dropFirst(title.count).split(separator: " ").first.map(String.init)
  }

  func send(_ signal: Int32) { kill(process, signal) }
}
