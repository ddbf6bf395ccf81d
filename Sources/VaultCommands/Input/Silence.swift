import CVaultProcess
import Glibc
internal import Vault

/// The period in which a terminal does not echo typed text.
///
/// Meanwhile signals that end or stop the program are read from a descriptor, so that the terminal's echo is always
/// restored. A signal handler would need global state for that.
struct Silence: ~Copyable {
  /// What the program reads meanwhile: lines edited by the terminal, or single keys and pasted text between the
  /// terminal's marks.
  enum Reading: Equatable {
    case lines, keys, keysWithoutMarks
    /// Single keys, while the program draws on the whole screen. It uses the terminal's second screen, or clears the
    /// only one.
    case screen(isOnly: Bool)
  }

  private let terminal: Int32
  private let reading: Reading
  private let signals: Int32
  private let turn: Int32
  private var before = termios()
  private var mask = sigset_t()
  private var maskBefore = sigset_t()

  /// All signals that end or stop a program without reporting a fault in it. `abort` still ends it.
  private static let watched = SignalRelay.ending + [SIGTSTP, SIGABRT]

  init(_ terminal: Int32, _ reading: Reading = .lines) throws(Failure) {
    self.terminal = terminal
    self.reading = reading
    unsafe pthread_sigmask(SIG_BLOCK, nil, &maskBefore)
    unsafe sigemptyset(&mask)
    // As under `nohup`, a signal that was ignored before stays ignored. In a descriptor it would arrive all the same.
    for signal in Self.watched where cprocess_is_ignored(signal) == 0 { unsafe sigaddset(&mask, signal) }
    if case .screen = reading { unsafe sigaddset(&mask, SIGWINCH) }
    signals = unsafe cprocess_signal_descriptor(&mask)
    turn = Silence.turn(on: terminal)
    // First of all: the settings to restore are those that no other program has changed.
    waitForTurn()
    guard signals >= 0, unsafe tcgetattr(terminal, &before) == 0 else {
      throw Failure(.unexpected, "the terminal cannot be used: \(SystemReason.text(errno))")
    }
    begin()
  }

  deinit {
    close(signals)
    close(turn)
  }

  /// - Returns: the descriptor to lock; -1 for a terminal that cannot be locked.
  private static func turn(on terminal: Int32) -> Int32 {
    // The device behind /dev/tty, which is one file for all terminals: ioctl_tty(2), TIOCGDEV.
    var device: UInt32 = 0
    guard unsafe ioctl(terminal, 0x8004_5432, &device) == 0, device >> 8 & 0xFFF == 136 else { return -1 }
    let number = device & 0xFF | device >> 12 & 0xFFF00
    return unsafe open("/dev/pts/\(number)", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
  }

  /// Waits until no other `vault` asks on the same terminal, as both commands of a pipe may do at once.
  private func waitForTurn() { while turn >= 0, flock(turn, LOCK_EX) != 0, errno == EINTR {} }

  /// Waits until a line, or a key, can be read.
  ///
  /// - Returns: false if the program was stopped and continued meanwhile, so that the prompt must be shown again.
  /// - Throws: `Failure.interrupted`.
  func hasInput() throws(Failure) -> Bool { try next(within: -1) == .input }

  /// Waits for input, or for an event that requires redrawing: another screen size, or a stopped program that
  /// continues.
  ///
  /// - Parameter milliseconds: the maximum time, or -1 for no limit.
  /// - Throws: `Failure.interrupted`.
  func next(within milliseconds: Int32) throws(Failure) -> TerminalScreen.Event {
    var requests = [
      pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
      pollfd(fd: terminal, events: Int16(POLLIN), revents: 0),
    ]
    while true {
      guard unsafe poll(&requests, 2, milliseconds) != 0 else { return .timeout }
      if requests[0].revents != 0 {
        switch nextSignal() {
        case SIGWINCH: break
        case SIGTSTP: stop()
        default: throw .interrupted
        }
        return .changed
      }
      if requests[1].revents != 0 { return .input }
    }
  }

  /// Whether more input is available at once or shortly afterwards.
  func hasMore(within milliseconds: Int32) -> Bool {
    var request = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&request, 1, milliseconds) == 1 && request.revents & Int16(POLLIN) != 0
  }

  /// Drops unread input.
  func dropInput() { tcflush(terminal, TCIFLUSH) }

  /// Restores the echo. If single keys were read, drops unread input: it was meant for us, and a shell would run it.
  func end() {
    if reading != .lines { dropInput() }
    restore()
  }

  private func begin() {
    var mask = mask
    unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
    switch reading {
    case .lines: silent.c_lflag |= tcflag_t(ICANON | ISIG)
    case .keys, .keysWithoutMarks, .screen:
      silent.c_lflag &= ~tcflag_t(ICANON | ISIG | IEXTEN)
      silent.c_iflag &= ~tcflag_t(ICRNL | INLCR | IGNCR | ISTRIP | IXON)
    }
    switch reading {
    case .keys: try? Descriptor.write("\u{1B}[?2004h", to: terminal)
    case .screen: try? Descriptor.write("\u{1B}[?1049h\u{1B}[H\u{1B}[J", to: terminal)
    case .lines, .keysWithoutMarks: break
    }
    // Input that was typed ahead is kept, so that a script can answer before the prompt.
    unsafe tcsetattr(terminal, TCSANOW, &silent)
  }

  private func restore() {
    switch reading {
    case .keys: try? Descriptor.write("\u{1B}[?2004l", to: terminal)
    case .screen(let isOnly):
      try? Descriptor.write(isOnly ? "\u{1B}[H\u{1B}[J" : "\u{1B}[H\u{1B}[J\u{1B}[?1049l", to: terminal)
    case .lines, .keysWithoutMarks: break
    }
    var (before, mask) = (before, maskBefore)
    unsafe tcsetattr(terminal, TCSANOW, &before)
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    _ = flock(turn, LOCK_UN)
  }

  /// Stops the program until it is continued in the foreground. Others may ask meanwhile, and finish before it goes on.
  func stop() {
    restore()
    repeat { kill(getpid(), SIGSTOP) } while isInBackground
    waitForTurn()
    begin()
  }

  private var isInBackground: Bool {
    let foreground = tcgetpgrp(terminal)
    return foreground > 0 && foreground != getpgrp()
  }

  private func nextSignal() -> Int32 {
    // struct signalfd_siginfo is 128 bytes and begins with the number, ssi_signo.
    var record = [UInt32](repeating: 0, count: 32)
    let taken = unsafe record.withUnsafeMutableBytes { unsafe read(signals, $0.baseAddress, $0.count) }
    return taken == 128 ? Int32(record[0]) : SIGTERM
  }
}
