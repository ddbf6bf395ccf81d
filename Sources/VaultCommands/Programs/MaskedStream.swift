import CSystem
internal import Exchange
import Glibc
internal import Vault

/// One output of a program on its way through a masker.
///
/// Where ours is a terminal, the program gets a terminal, too, so that it keeps its colours and writes line by line; else a
/// pipe. Its terminal changes nothing on the way: ours does what terminals do.
final class MaskedStream {
  /// What the program writes to; closed when it has been started.
  private(set) var programEnd: Int32
  private var source: Int32
  private let target: Int32
  private let isTerminal: Bool
  private var masker: Masker
  /// What has been masked and could not be written yet.
  private var waiting: [UInt8] = []
  private var isEnded = false
  /// Why nothing more can be written; nil as long as it can, and where whoever read us has gone.
  private(set) var fault: Int32?
  /// When the program last wrote; nil once what was held back then has been given out as far as it may be.
  private var lastTaken: ContinuousClock.Instant?

  /// After this time without output, somebody may be waiting for what is held back.
  static let quiet = 50
  /// What a program left behind is read in so many pieces, because others may go on writing for ever.
  private static let lastPieces = 16

  /// - Throws: `storage`, if the system gives no descriptors.
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
      throw Failure(.storage, "the program's output cannot be led here: \(SystemReason.text(errno))")
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

  /// What to wait for: for more of the program, or for whoever reads us.
  var request: pollfd {
    if !waiting.isEmpty { return pollfd(fd: target, events: Int16(POLLOUT), revents: 0) }
    return pollfd(fd: isEnded ? -1 : source, events: Int16(POLLIN), revents: 0)
  }

  /// Whether something is held back that a pause may give out.
  var isHolding: Bool { masker.isHolding && lastTaken != nil && waiting.isEmpty }

  /// Does what became possible.
  func move() {
    guard waiting.isEmpty else { return write() }
    guard !isEnded else { return }
    var chunk = [UInt8](repeating: 0, count: 65_536)
    let taken = unsafe read(source, &chunk, chunk.count)
    if taken > 0 {
      waiting += masker.take(chunk[..<taken])
      lastTaken = .now
    } else if taken == 0 || errno != EAGAIN && errno != EINTR {
      // A terminal without writers answers with an error.
      isEnded = true
      waiting += masker.finish()
    }
  }

  /// Gives out what may be given out of what is held back, if nothing came for a while.
  func pauseIfQuiet() {
    guard isHolding, let lastTaken, lastTaken.duration(to: .now) >= .milliseconds(Self.quiet) else { return }
    waiting += masker.pause()
    self.lastTaken = nil
  }

  /// Takes what the program has left behind, and writes out everything.
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
    // As much as fits into any pipe that can be written at all.
    let taken = unsafe Glibc.write(target, waiting, min(waiting.count, 4_096))
    if taken >= 0 {
      waiting.removeFirst(taken)
    } else if errno == EAGAIN {
      Descriptor.wait(for: Int16(POLLOUT), on: target)
    } else if errno != EINTR {
      // The program learns it as it would have without us, when it writes. That a reader has gone is no fault of ours.
      if errno != EPIPE { fault = errno }
      waiting = []
      isEnded = true
      _ = masker.finish()
      closeSource()
    }
  }
}
