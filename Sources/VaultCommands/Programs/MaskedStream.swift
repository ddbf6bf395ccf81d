import CVaultSystem
internal import Exchange
import Glibc
internal import Vault

/// One output stream of a program that passes through a masker.
///
/// If our output is a terminal, the program gets a terminal too, so that it keeps its colours and writes line by line.
/// Otherwise it gets a pipe. The program's terminal passes bytes on unchanged; ours does the processing.
final class MaskedStream {
  /// The program's end. It is closed here once the program has been started.
  private(set) var programEnd: Int32
  private var source: Int32
  private let target: Int32
  private let isTerminal: Bool
  private var masker: Masker
  /// Masked output that could not be written yet.
  private var waiting: [UInt8] = []
  private var isEnded = false
  /// The reason why nothing more can be written. It is nil if writing works, or if the reader has closed the pipe.
  private(set) var fault: Int32?
  /// The time of the program's last output; nil once the text held back then has been released as far as possible.
  private var lastTaken: Duration?

  /// After this time without output, someone may be waiting for text that is held back.
  static let quiet = 50
  /// The number of pieces in which the remaining output is read. It is limited because other processes may keep
  /// writing.
  private static let lastPieces = 16

  /// - Throws: `storage` if the system has no descriptors left.
  init(to target: Int32, _ patterns: MaskPatterns) throws(Failure) {
    self.target = target
    masker = Masker(patterns)
    isTerminal = isatty(target) == 1
    var settings = termios()
    unsafe cfmakeraw(&settings)
    unsafe cfsetspeed(&settings, speed_t(B38400))
    var (near, far): (Int32, Int32) = (-1, -1)
    var ends: [Int32] = [-1, -1]
    let code = isTerminal ? unsafe openpty(&near, &far, nil, &settings, nil) : unsafe pipe(&ends)
    guard code == 0 else {
      throw Failure(.storage, "cannot redirect the program's output: \(SystemReason.text(errno))")
    }
    (source, programEnd) = isTerminal ? (near, far) : (ends[0], ends[1])
    for end in [source, programEnd] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(source, F_SETFL, O_NONBLOCK)
    takeSize()
  }

  deinit {
    closeSource()
    closeProgramEnd()
  }

  private func closeSource() {
    if source >= 0 { close(source) }
    source = -1
  }

  func closeProgramEnd() {
    if programEnd >= 0 { close(programEnd) }
    programEnd = -1
  }

  /// Gives the program's terminal the size of ours.
  func takeSize() {
    var size = winsize()
    guard isTerminal, unsafe ioctl(target, UInt(TIOCGWINSZ), &size) == 0 else { return }
    _ = unsafe ioctl(source, UInt(TIOCSWINSZ), &size)
  }

  // MARK: Moving

  /// The events to wait for: more output of the program, or room in our own output.
  var request: pollfd {
    if !waiting.isEmpty { return pollfd(fd: target, events: Int16(POLLOUT), revents: 0) }
    return pollfd(fd: isEnded ? -1 : source, events: Int16(POLLIN), revents: 0)
  }

  /// Whether some text is held back that may be released after a pause.
  var isHolding: Bool { masker.isHolding && lastTaken != nil && waiting.isEmpty }

  /// Handles the events that occurred.
  func move() {
    guard waiting.isEmpty else { return write() }
    guard !isEnded else { return }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let taken = unsafe read(source, &chunk, chunk.count)
    if taken > 0 {
      waiting += masker.take(chunk[..<taken])
      lastTaken = SystemClock.monotonic()
    } else if taken == 0 || errno != EAGAIN && errno != EINTR {
      // Reading a terminal without writers fails.
      isEnded = true
      waiting += masker.finish()
    }
  }

  /// Releases as much held-back text as possible after a pause.
  func pauseIfQuiet() {
    guard isHolding, let lastTaken, SystemClock.monotonic() >= lastTaken + .milliseconds(Self.quiet) else {
      return
    }
    waiting += masker.pause()
    self.lastTaken = nil
  }

  /// Reads the remaining output and writes everything.
  func finish() {
    for _ in 0..<Self.lastPieces where !isEnded {
      while !waiting.isEmpty { write() }
      guard hasMore else { break }
      move()
    }
    waiting += masker.finish()
    while !waiting.isEmpty { write() }
  }

  private var hasMore: Bool {
    var request = self.request
    return unsafe poll(&request, 1, 0) > 0
  }

  private func write() {
    // This much fits into any pipe that accepts a write.
    let taken = unsafe Glibc.write(target, waiting, min(waiting.count, 4_096))
    if taken >= 0 {
      waiting.removeFirst(taken)
    } else if errno == EAGAIN {
      Descriptor.wait(for: Int16(POLLOUT), on: target)
    } else if errno != EINTR {
      // The program gets the error when it writes, as it would without us. A reader that has gone is not our error.
      if errno != EPIPE { fault = errno }
      waiting = []
      isEnded = true
      _ = masker.finish()
      closeSource()
    }
  }
}

/// Runs a program to its end and replaces values in its output.
enum MaskedProgram {
  /// - Parameter values: the values to replace in stdout and in stderr. The two are filtered separately if they go to
  ///   different places.
  /// - Returns: how the program ended. All of its output has been written by then, but not later output of its own
  ///   children.
  /// - Throws: `commandNotFound`, `notExecutable` or `storage` if no program was started; also `storage` if the program
  ///   ran and some of its output could not be written.
  static func run(
    _ program: String, _ arguments: [String], _ variables: [[UInt8]: [UInt8]], hiding values: [[UInt8]],
    _ streams: Streams
  ) throws(Failure) -> ProgramEnd {
    let patterns = MaskPatterns(values: values)
    let output = try MaskedStream(to: streams.output, patterns)
    // If both go to the same place, a single stream keeps the order of the output.
    let isOne = isSameFile(streams.output, streams.errors)
    let errors = isOne ? output : try MaskedStream(to: streams.errors, patterns)
    let outputs = isOne ? [output] : [output, errors]
    let relay = try SignalRelay()
    let child = try ChildProcess(
      program, arguments, variables, input: streams.input, output: output.programEnd,
      errors: errors.programEnd, blocked: relay.maskBefore)
    for output in outputs { output.closeProgramEnd() }
    while true {
      var requests = [pollfd(fd: relay.descriptor, events: Int16(POLLIN), revents: 0)] + outputs.map(\.request)
      let wait = outputs.contains(where: \.isHolding) ? Int32(MaskedStream.quiet) : -1
      _ = unsafe poll(&requests, nfds_t(requests.count), wait)
      for (output, request) in zip(outputs, requests.dropFirst()) {
        if request.revents != 0 { output.move() }
        output.pauseIfQuiet()
      }
      guard requests[0].revents != 0 else { continue }
      let (isResized, end) = relay.relay(to: child)
      if isResized {
        for output in outputs { output.takeSize() }
        child.send(SIGWINCH)
      }
      if let end {
        for output in outputs { output.finish() }
        if let fault = outputs.lazy.compactMap(\.fault).first {
          throw Failure(.storage, "the program's output cannot be written: \(SystemReason.text(fault))")
        }
        return end
      }
    }
  }

  private static func isSameFile(_ one: Int32, _ other: Int32) -> Bool {
    var (first, second) = (stat(), stat())
    guard unsafe fstat(one, &first) == 0, unsafe fstat(other, &second) == 0 else { return false }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino
  }
}

extension ProgramEnd {
  /// Ends this process in the same way as the program, so that our parent sees no difference.
  func endProcess() -> Never {
    if case .killed(let signal) = self {
      csystem_take_default_action(signal)
      kill(getpid(), signal)
    }
    exit(status)
  }
}
