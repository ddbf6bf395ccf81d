import Foundation
import Glibc

/// The built `vault`, run in a separate process.
final class Executable {
  struct Result {
    /// The exit status, or 128 plus the signal that ended the process, as in a shell.
    let status: Int32
    let outputBytes: [UInt8]
    let errors: String

    var output: String { String(decoding: outputBytes, as: UTF8.self) }
  }

  /// The executable is next to this test. Tests run by root also use it as other users. If those cannot reach it, for example in a
  /// clone below a folder of mode 0700, this is a copy that they can reach.
  static let path: String = {
    var buffer = [CChar](repeating: 0, count: 4_096)
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count)
    let test = String(decoding: buffer[..<max(count, 0)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let built = String(test.prefix(through: test.lastIndex(of: "/") ?? test.startIndex)) + "vault"
    return geteuid() != 0 || everybodyMayRun(built) ? built : publicCopy(of: built)
  }()

  private static func everybodyMayRun(_ path: String) -> Bool {
    var path = path
    while true {
      var status = stat()
      guard unsafe stat(path, &status) == 0, status.st_mode & S_IXOTH != 0 else { return false }
      guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return true }
      path = String(path[..<slash])
    }
  }

  /// The folder of the copy, which is removed when the process ends.
  private nonisolated(unsafe) static var copyFolder: String?

  private static func publicCopy(of built: String) -> String {
    var template = Array("/tmp/vault-test-XXXXXX".utf8CString)
    let folder = unsafe template.withUnsafeMutableBufferPointer { unsafe String(cString: mkdtemp($0.baseAddress!)) }
    unsafe copyFolder = folder
    atexit { if let folder = unsafe Executable.copyFolder { try? FileManager.default.removeItem(atPath: folder) } }
    let copy = folder + "/vault"
    try! FileManager.default.copyItem(atPath: built, toPath: copy)
    // vault looks for the programs it starts in its own folder.
    try! FileManager.default.copyItem(atPath: built + "-exchange", toPath: copy + "-exchange")
    for path in [folder, copy, copy + "-exchange"] { precondition(unsafe chmod(path, 0o755) == 0) }
    return copy
  }

  /// POSIX_SPAWN_SETSID, SETSIGMASK and SETSIGDEF: a new session, with signals set as by a shell.
  private static let flags: Int16 = 0x80 | 0x08 | 0x04

  private(set) var process: pid_t = 0
  private let input: Int32
  private let output = Pipe.nameless()
  private let errors = Pipe.nameless()

  /// Starts a command.
  ///
  /// - Parameters:
  /// - terminal: the process's controlling terminal and stdin; without it, the process has no terminal.
  ///   - extra: descriptors that the process gets under the numbers 3, 4, …
  init(
    _ arguments: [String], program: String = Executable.path, input: [UInt8] = [], environment: [String: String],
    terminal: PseudoTerminal? = nil, extra: [Int32] = []
  ) {
    self.input = Pipe.holding(input)
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    if let terminal {
      // The first terminal that a session leader opens becomes its controlling terminal.
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

  /// Waits until the process ends.
  func wait() -> Result {
    var status: Int32 = 0
    while unsafe waitpid(process, &status, 0) == -1 && errno == EINTR {}
    let signal = status & 0x7F
    close(input)
    return Result(
      status: signal == 0 ? (status >> 8) & 0xFF : 128 + signal, outputBytes: Pipe.contents(of: output),
      errors: String(decoding: Pipe.contents(of: errors), as: UTF8.self))
  }

  /// The process's output on stdout so far.
  var outputSoFar: String { String(decoding: Pipe.contentsSoFar(of: output), as: UTF8.self) }

  /// The arguments of the program that the process is running now.
  var commandLine: [String] {
    let descriptor = unsafe open("/proc/\(process)/cmdline", O_RDONLY)
    defer { close(descriptor) }
    return String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: "\0").map(String.init)
  }

  var hasEnded: Bool {
    var information = unsafe siginfo_t()
    return unsafe waitid(P_PID, id_t(process), &information, WEXITED | WNOHANG | WNOWAIT) == 0
      && information.si_signo == SIGCHLD
  }

  /// The first program that the process has started and that still runs.
  var child: pid_t? {
    let descriptor = unsafe open("/proc/\(process)/task/\(process)/children", O_RDONLY)
    defer { close(descriptor) }
    return String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: " ").first.flatMap { pid_t($0) }
  }

  /// The state of a process as one letter; nil if there is none.
  static func state(of process: pid_t) -> Character? {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    let text = String(decoding: Pipe.readAll(descriptor), as: UTF8.self)
    return text.split(separator: ")").last?.first { $0 != " " }
  }

  /// The soft limit of the running process according to the kernel.
  func limit(_ title: String) -> String? { Self.limit(title, of: process) }

  static func limit(_ title: String, of process: pid_t) -> String? {
    let descriptor = unsafe open("/proc/\(process)/limits", O_RDONLY)
    defer { close(descriptor) }
    let lines = String(decoding: Pipe.readAll(descriptor), as: UTF8.self).split(separator: "\n")
    let line = lines.first { $0.hasPrefix(title) }
    return line?.dropFirst(title.count).split(separator: " ").first.map(String.init)
  }

  /// Whether a signal has stopped the process.
  var isStopped: Bool {
    let descriptor = unsafe open("/proc/\(process)/stat", O_RDONLY)
    defer { close(descriptor) }
    return String(decoding: Pipe.readAll(descriptor), as: UTF8.self).contains(") T ")
  }

  func send(_ signal: Int32) { kill(process, signal) }
}
