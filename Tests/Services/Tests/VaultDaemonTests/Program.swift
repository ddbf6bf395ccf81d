import Foundation
import Synchronization

/// A program that a test starts. Foundation's `Process` waits for a program's children as well, and once crashed in `run()`
/// while many threads started programs.
final class Program: Sendable {
  /// The number of the process.
  let number: pid_t
  /// The end of the pipe that the program reads as stdin; -1 once it is closed.
  private let input: Mutex<CInt>
  /// The end of the pipe that the program writes as stdout.
  private let output: CInt

  /// Starts the executable at `path`.
  ///
  /// - Parameters:
  ///   - isQuiet: whether its stderr is discarded; otherwise it is that of the tests.
  /// - Throws: ``Unstarted``
  init(
    _ path: String, _ arguments: [String], environment: [String: String] = ProcessInfo.processInfo.environment,
    isQuiet: Bool = false
  ) throws {
    let (stdin, stdout) = try (Self.pipe(), Self.pipe())
    defer {
      close(stdin.reading)
      close(stdout.writing)
    }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, stdin.reading, 0)
    posix_spawn_file_actions_adddup2(&actions, stdout.writing, 1)
    // What other tests have open stays theirs: a program that holds a connection open keeps it from ending.
    _ = Self.closeAll(&actions, 3)
    if isQuiet { posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    let argv = ([path] + arguments).map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer {
      for text in argv + variables { free(text) }
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    var process: pid_t = 0
    let code = posix_spawn(&process, path, &actions, &attributes, argv, variables)
    guard code == 0 else {
      close(stdin.writing)
      close(stdout.reading)
      throw Unstarted(path: path, code: code)
    }
    number = process
    input = Mutex(stdin.writing)
    output = stdout.reading
  }

  deinit {
    closeInput()
    close(output)
  }

  /// What kept a program from being started.
  struct Unstarted: Error {
    let path: String
    let code: CInt
  }

  /// Ends the program's stdin.
  func closeInput() {
    input.withLock {
      if $0 >= 0 { close($0) }
      $0 = -1
    }
  }

  /// Waits until the program ends. Called once, and by one thread.
  func wait() {
    var status: CInt = 0
    while waitpid(number, &status, 0) == -1 && errno == EINTR {}
  }

  /// Reads what the program prints, until it and its children have closed stdout.
  func readOutput() -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(output, &buffer, buffer.count)
      if count > 0 { bytes += buffer[..<count] } else if count == 0 || errno != EINTR { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Has a program close all descriptors from a number on: Glibc's module has no `posix_spawn_file_actions_addclosefrom_np`.
  private static let closeAll = unsafeBitCast(
    dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
    to: (@convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt).self)

  /// A connection that no other program inherits: Glibc's module has no `pipe2`.
  private static func pipe() throws -> (reading: CInt, writing: CInt) {
    var ends: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw Unstarted(path: "socketpair", code: errno) }
    return (ends[0], ends[1])
  }
}
