import CVaultProcess
import Glibc
internal import Vault

/// Signals that this process reads from a descriptor and passes on to its child.
///
/// The child is in the same process group, so signals from the terminal (Ctrl-C) reach it anyway and are not passed on.
struct SignalRelay: ~Copyable {
  let descriptor: Int32
  /// The signals that were blocked before. The program gets this mask.
  private(set) var maskBefore = sigset_t()

  /// The signals that would end this process, except those for faults in its own code. From 34 on, signals have no
  /// names.
  static let ending =
    [
      SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR, SIGSTKFLT,
      SIGXCPU,
    ] + Array(34...64)
  private static let watched = ending + [SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD]
  /// The signals that a terminal sends to a whole process group.
  private static let ofTerminal = [SIGINT, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT]

  /// - Throws: `unexpected` if the system has no descriptor left.
  init() throws(Failure) {
    var mask = sigset_t()
    unsafe sigemptyset(&mask)
    // Signals that were ignored before we started, for example by `nohup`, stay ignored, except SIGCHLD (`ChildProcess`).
    for signal in Self.watched where signal == SIGCHLD || cprocess_is_ignored(signal) == 0 {
      unsafe sigaddset(&mask, signal)
    }
    descriptor = unsafe cprocess_signal_descriptor(&mask)
    guard descriptor >= 0 else {
      throw Failure(.unexpected, "cannot read signals: \(SystemReason.text(errno))")
    }
    unsafe pthread_sigmask(SIG_BLOCK, &mask, &maskBefore)
  }

  deinit {
    close(descriptor)
    var mask = maskBefore
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Reads all pending signals and passes them on to `child` as needed.
  ///
  /// - Returns: whether the window's size may have changed, and the program's end if it has ended.
  func relay(to child: ChildProcess) -> (isResized: Bool, end: ProgramEnd?) {
    var (isResized, end) = (false, ProgramEnd?.none)
    while let signal = next() {
      switch signal.number {
      case SIGCHLD: end = end ?? child.endIfAny()
      case SIGWINCH: isResized = true
      case SIGTSTP:
        pass(signal, to: child)
        kill(getpid(), SIGSTOP)
      default: pass(signal, to: child)
      }
    }
    return (isResized, end)
  }

  private func pass(_ signal: Arrived, to child: ChildProcess) {
    // An editor that stops its whole process group has also stopped itself.
    let isFromTerminal = signal.isFromSystem && Self.ofTerminal.contains(signal.number)
    guard !isFromTerminal, signal.sender != child.number else { return }
    child.send(signal.number)
  }

  private struct Arrived {
    let number: Int32
    let isFromSystem: Bool
    let sender: pid_t
  }

  private func next() -> Arrived? {
    // struct signalfd_siginfo is 128 bytes: ssi_signo, ssi_errno, ssi_code, ssi_pid, …; a code above 0 is the kernel's own.
    var record = [UInt32](repeating: 0, count: 32)
    let taken = unsafe record.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
    guard taken == 128 else { return nil }
    return Arrived(
      number: Int32(record[0]), isFromSystem: Int32(bitPattern: record[2]) > 0, sender: pid_t(bitPattern: record[3]))
  }
}

extension ChildProcess {
  /// How the program ended, or nil while it runs.
  func endIfAny() -> ProgramEnd? {
    var status: Int32 = 0
    return unsafe waitpid(number, &status, WNOHANG) == number ? ProgramEnd(waitStatus: status) : nil
  }
}
