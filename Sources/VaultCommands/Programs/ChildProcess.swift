import CVaultSystem
import Glibc
internal import Vault

/// How a program ended.
enum ProgramEnd: Equatable {
  case exited(Int32)
  case killed(signal: Int32)

  /// The status as in a shell: 128 plus the signal's number for a program that was killed.
  var status: Int32 {
    switch self {
    case .exited(let status): status
    case .killed(let signal): 128 + signal
    }
  }
}

/// A program that runs as a child of this process.
///
/// It gets three descriptors and those without FD_CLOEXEC. Like this process it makes no core dumps. Signals that were
/// ignored before we started stay ignored, except SIGCHLD; SIGPIPE and SIGXFSZ, which only we ignore, get their default
/// action.
struct ChildProcess {
  let number: pid_t

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: a path, or a name that is looked up in the PATH of `variables`.
  ///   - arguments: its arguments, its own name first.
  ///   - variables: its environment.
  ///   - blocked: the signals that are blocked in it, independently of this process.
  /// - Throws: `commandNotFound`, `notExecutable`; `storage` if no descriptor is left. No program was started then.
  init(
    _ program: String, _ arguments: [String], _ variables: [[UInt8]: [UInt8]], input: Int32 = STDIN_FILENO,
    output: Int32 = STDOUT_FILENO, errors: Int32 = STDERR_FILENO, blocked: sigset_t = sigset_t()
  ) throws(Failure) {
    let path = try ProgramStart.find(program, variables)
    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    // These are copies, because one of the three descriptors may have the number that another one is to get.
    let copies = [input, output, errors].map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
    defer { for copy in copies where copy >= 0 { close(copy) } }
    // Without one of them, the program would have our own descriptor, and could write a value past the masker.
    guard copies.allSatisfy({ $0 >= 0 }) else {
      throw Failure(.storage, "no descriptor is left: \(SystemReason.text(errno))")
    }
    for (place, copy) in copies.enumerated() {
      unsafe posix_spawn_file_actions_adddup2(&actions, copy, Int32(place))
    }
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    unsafe posix_spawnattr_setflags(&attributes, Self.flags)
    var mask = blocked
    unsafe posix_spawnattr_setsigmask(&attributes, &mask)
    var defaults = sigset_t()
    unsafe sigemptyset(&defaults)
    for signal in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&defaults, signal) }
    unsafe posix_spawnattr_setsigdefault(&attributes, &defaults)
    // If it is ignored, the system does not report how a program ended, and every one would seem to have succeeded.
    csystem_take_default_action(SIGCHLD)
    var number: pid_t = 0
    var code = unsafe ProgramStart.withCStrings(arguments, variables) { arguments, environment in
      unsafe posix_spawn(&number, path, &actions, &attributes, arguments, environment)
    }
    if code == ENOEXEC {
      let arguments = ProgramStart.shellArguments(path, arguments)
      code = unsafe ProgramStart.withCStrings(arguments, variables) { arguments, environment in
        unsafe posix_spawn(&number, ProgramStart.shell, &actions, &attributes, arguments, environment)
      }
    }
    guard code == 0 else { throw ProgramStart.failure(code) }
    self.number = number
  }

  /// Waits until the program has ended.
  func wait() -> ProgramEnd {
    var status: Int32 = 0
    while unsafe waitpid(number, &status, 0) == -1, errno == EINTR {}
    return ProgramEnd(waitStatus: status)
  }

  /// Sends a signal to the program. It must not have been waited for yet.
  func send(_ signal: Int32) { kill(number, signal) }

  /// POSIX_SPAWN_SETSIGMASK and SETSIGDEF, which Swift does not import.
  private static let flags: Int16 = 0x08 | 0x04
}

extension ChildProcess {
  /// Runs a program to its end with `bytes` on its stdin, and with our environment without the variables that open a store.
  ///
  /// - Throws: `commandNotFound`, `notExecutable`, `storage`; it was not started then.
  static func run(
    _ command: [String], input bytes: UnsafeRawBufferPointer, _ streams: Streams
  ) throws(Failure) -> ProgramEnd {
    let input = try unsafe MemoryFile.input(bytes)
    defer { close(input) }
    return try ChildProcess(
      command[0], command, InheritedEnvironment.variables, input: input, output: streams.output, errors: streams.errors
    ).wait()
  }

  /// Runs a program to its end and returns its output on stdout.
  ///
  /// - Parameters:
  ///   - variables: its environment. By default it is ours without the variables that open a store.
  ///   - input: its stdin.
  ///   - limit: the maximum number of bytes that it may write.
  /// - Throws: `commandNotFound`, `notExecutable`; `overLimit`, and the program has been ended then.
  static func output(
    of program: String, _ arguments: [String], _ variables: [[UInt8]: [UInt8]] = InheritedEnvironment.variables,
    input: Int32, errors: Int32 = STDERR_FILENO, limit: Int
  ) throws(Failure) -> (end: ProgramEnd, bytes: WipedBytes) {
    var ends: [Int32] = [-1, -1]
    guard unsafe pipe(&ends) == 0 else {
      throw Failure(.storage, "cannot make a pipe: \(SystemReason.text(errno))")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child: ChildProcess
    do {
      child = try ChildProcess(program, arguments, variables, input: input, output: ends[1], errors: errors)
    } catch {
      for end in ends { close(end) }
      throw error
    }
    close(ends[1])
    let read: Result<WipedBytes, Failure>
    do {
      read = .success(try DescriptorInput(ends[0], "what the program writes").readAll(limit: limit))
    } catch {
      read = .failure(error)
    }
    // SIGPIPE ends a program that still writes.
    close(ends[0])
    let end = child.wait()
    let bytes = try read.get()
    guard bytes.count <= limit else { throw Failure(.overLimit, "the program wrote more than \(limit) bytes") }
    return (end, bytes)
  }
}

extension ProgramEnd {
  /// - Parameter status: the status from `waitpid`.
  init(waitStatus status: Int32) {
    let signal = status & 0x7F
    self = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
  }
}
