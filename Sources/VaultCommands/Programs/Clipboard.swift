internal import Authenticators
import CVaultSystem
import Glibc
internal import Vault

/// The desktop's clipboard, or otherwise the terminal's.
struct Clipboard {
  /// The receivers of a value, in the order in which they are tried.
  enum Kind: String, CaseIterable {
    case wayland, xclip, xsel
    /// tmux, which passes the value on to the outer terminal.
    case tmux
    /// GNU screen, whose sequence contains the terminal's.
    case screen
    /// The terminal, with the sequence OSC 52.
    case terminal

    /// Whether its content can be read back.
    var isReadable: Bool { [.wayland, .xclip, .xsel].contains(self) }

    fileprivate var tool: String { needed.program ?? "the terminal" }

    fileprivate var needed: (variable: String, program: String?) {
      switch self {
      case .wayland: ("WAYLAND_DISPLAY", "wl-copy")
      case .xclip: ("DISPLAY", "xclip")
      case .xsel: ("DISPLAY", "xsel")
      case .tmux: ("TMUX", "tmux")
      case .screen: ("STY", nil)
      case .terminal: ("TERM", nil)
      }
    }
  }

  let kind: Kind
  /// Whether the value was marked as a password, so that clipboard histories should not keep it.
  let isMarked: Bool

  /// Terminals silently drop longer sequences.
  private static let terminalLimit = 74_000

  /// Puts a value into the clipboard, through a descriptor and never through arguments or variables.
  ///
  /// - Parameter terminal: the path of the terminal.
  /// - Throws: `usage` if there is no clipboard or the value is not text; `overLimit` for a terminal; `unexpected` if
  ///   every tool fails. Nothing was copied then.
  init(holding value: UnsafeRawBufferPointer, terminal: String) throws(Failure) {
    guard unsafe value.isUTF8, unsafe !value.contains(0) else {
      throw Failure(.usage, "the value is not text and cannot be copied to a clipboard", hint: "name --output FILE")
    }
    let variables = InheritedEnvironment.variables
    var failure = Failure(
      .usage, "there is no clipboard here", hint: "install wl-clipboard, xclip or xsel, or use a terminal")
    for kind in Kind.allCases where Clipboard.isHere(kind, variables) {
      do throws(Failure) {
        isMarked = try unsafe Clipboard.put(value, kind, terminal)
        self.kind = kind
        return
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func isHere(_ kind: Kind, _ variables: [[UInt8]: [UInt8]]) -> Bool {
    let (variable, program) = kind.needed
    guard let value = variables[Array(variable.utf8)], !value.isEmpty, !value.elementsEqual("dumb".utf8) else {
      return false
    }
    guard let program else { return true }
    return (try? ProgramStart.find(program, variables)) != nil
  }

  private static func put(
    _ value: UnsafeRawBufferPointer, _ kind: Kind, _ terminal: String
  ) throws(Failure) -> Bool {
    switch kind {
    case .wayland:
      // Older versions lack this mark. The type is named because otherwise the tool lets another program guess it.
      let type = ["--type", "text/plain"]
      if unsafe try run(["wl-copy", "--sensitive"] + type, value) { return true }
      guard unsafe try run(["wl-copy"] + type, value) else { throw failed }
    case .xclip: guard unsafe try run(["xclip", "-selection", "clipboard", "-in"], value) else { throw failed }
    case .xsel: guard unsafe try run(["xsel", "--clipboard", "--input"], value) else { throw failed }
    case .tmux:
      // It keeps the value as a buffer for `paste-buffer`, which is deleted here.
      let isTaken = unsafe try run(["tmux", "load-buffer", "-w", "-b", "vault-clip", "-"], value)
      _ = try unsafe run(["tmux", "delete-buffer", "-b", "vault-clip"], none)
      guard isTaken else { throw failed }
    case .screen, .terminal:
      guard value.count <= terminalLimit else {
        throw Failure(.overLimit, "a terminal's clipboard takes at most \(terminalLimit) bytes")
      }
      let descriptor = unsafe open(terminal, O_WRONLY | O_CLOEXEC | O_NOCTTY)
      guard descriptor >= 0, isatty(descriptor) == 1 else {
        throw Failure(.usage, "there is no clipboard here", hint: "install wl-clipboard, xclip or xsel")
      }
      defer { close(descriptor) }
      try unsafe tell(descriptor, kind, value)
    }
    return false
  }

  /// Clears the clipboard, unless it has other content by now. A clipboard that cannot be read is cleared in any case.
  ///
  /// - Parameter terminal: its descriptor.
  static func clear(
    _ kind: Kind, ifHolding isSame: (WipedBytes) -> Bool, terminal: Int32
  ) throws(Failure) {
    func holds(_ arguments: [String]) throws(Failure) -> Bool {
      let nothing = nothing()
      defer { close(nothing) }
      let (end, bytes) = try ChildProcess.output(
        of: arguments[0], arguments, input: nothing, errors: nothing, limit: ValueInput.limit + 2)
      return end == .exited(0) && isSame(bytes)
    }
    switch kind {
    case .wayland: if try holds(["wl-paste", "--no-newline"]) { _ = unsafe try run(["wl-copy", "--clear"], none) }
    case .xclip:
      guard try holds(["xclip", "-selection", "clipboard", "-out"]) else { return }
      _ = unsafe try run(["xclip", "-selection", "clipboard", "-in"], none)
    case .xsel:
      guard try holds(["xsel", "--clipboard", "--output"]) else { return }
      _ = unsafe try run(["xsel", "--clipboard", "--clear"], none)
    case .tmux, .screen, .terminal:
      // Not every terminal clears its clipboard for an empty value, but every one replaces it.
      try unsafe [UInt8](" ".utf8).span.withUnsafeBytes { (space) throws(Failure) in
        if kind == .tmux { _ = unsafe try put(space, kind, "") } else { unsafe try tell(terminal, kind, space) }
      }
    }
  }

  // MARK: Steps

  /// - Returns: whether the tool took it.
  private static func run(_ arguments: [String], _ input: UnsafeRawBufferPointer) throws(Failure) -> Bool {
    // The tool and its children get the value only on stdin. They keep running, with none of our streams.
    let file = try unsafe MemoryFile.input(input)
    defer { close(file) }
    let nothing = nothing()
    defer { close(nothing) }
    let child = try ChildProcess(
      arguments[0], arguments, InheritedEnvironment.variables, input: file, output: nothing, errors: nothing)
    return child.wait() == .exited(0)
  }

  private static var none: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: nil, count: 0) }

  private static func nothing() -> Int32 { unsafe open("/dev/null", O_RDWR | O_CLOEXEC) }

  private static func tell(_ terminal: Int32, _ kind: Kind, _ value: UnsafeRawBufferPointer) throws(Failure) {
    var sequence = Array("\u{1B}]52;c;".utf8)
    unsafe Base64.append(encoding: value, to: &sequence)
    sequence.append(0x07)
    if kind == .screen {
      // The oldest versions of screen pass on strings of at most 256 bytes.
      let pieces = stride(from: 0, to: sequence.count, by: 250).map { sequence[$0..<min($0 + 250, sequence.count)] }
      sequence = pieces.flatMap { Array("\u{1B}P".utf8) + $0 + Array("\u{1B}\\".utf8) }
    }
    try unsafe sequence.span.withUnsafeBytes { (bytes) throws(Failure) in
      try unsafe Descriptor.write(bytes, to: terminal)
    }
    unsafe sequence.withUnsafeMutableBytes { bytes in
      if let start = bytes.baseAddress { unsafe explicit_bzero(start, bytes.count) }
    }
  }

  private static let failed = Failure(.unexpected, "the clipboard did not accept the value")
}

// MARK: - Clearing it in time

extension Clipboard {
  /// Starts a background process that clears the clipboard.
  ///
  /// It does not know the value, but gets a salted digest on stdin to compare with.
  ///
  /// - Parameters:
  ///   - value: the value that was copied.
  ///   - terminal: the path of the terminal.
  /// - Throws: `unexpected`, `storage`. The clipboard will not be cleared then.
  func clearLater(_ value: UnsafeRawBufferPointer, after seconds: Int64, terminal: String) throws(Failure) {
    let salt = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    let known = unsafe salt + Array(Fingerprint.of(value, salt: salt).utf8)
    let input = try unsafe known.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe MemoryFile.input(bytes) }
    defer { close(input) }
    // It keeps the terminal only if it has to clear the terminal's clipboard.
    let output = kind.isReadable ? Clipboard.nothing() : unsafe open(terminal, O_WRONLY | O_CLOEXEC | O_NOCTTY)
    let errors = Clipboard.nothing()
    defer { for descriptor in [output, errors] { close(descriptor) } }
    // No signal ends it before it is ready for signals.
    _ = try ChildProcess(
      "/proc/self/exe", ["vault", CommandTable.clearing, kind.rawValue, String(seconds)],
      InheritedEnvironment.variables,
      input: input, output: output, errors: errors, blocked: Clipboard.endingSignals)
  }

  /// The action of the command that ``clearLater(_:after:terminal:)`` starts: it waits and then clears. A signal that
  /// would end it makes it clear at once.
  static func clear(_ kind: String, after seconds: Int64, in session: Session) throws(Failure) {
    guard let kind = Kind(rawValue: kind) else { throw .usage("there is no such clipboard") }
    let known = try DescriptorInput(session.streams.input, "stdin").readAll(limit: 80)
    guard known.count == 80 else { throw Failure(.usage, "stdin holds no digest") }
    var mask = endingSignals
    unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    // The terminal may be closed, before this or later; the desktop's clipboard is still cleared in time.
    setsid()
    var hangup = signals([SIGHUP])
    var noTime = timespec()
    _ = unsafe sigtimedwait(&hangup, nil, &noTime)
    // This clock includes the time in which the machine sleeps.
    let due = now() + min(max(seconds, 0), 3_600)
    var second = timespec(tv_sec: 1, tv_nsec: 0)
    while now() < due, unsafe sigtimedwait(&mask, nil, &second) < 0 {}
    try clear(
      kind,
      ifHolding: { held in
        unsafe known.withUnsafeBytes { known in
          unsafe held.withUnsafeBytes { held in
            unsafe Fingerprint.of(held, salt: Array(known.prefix(16))).utf8.elementsEqual(known.dropFirst(16))
          }
        }
      }, terminal: session.streams.output)
  }

  private static var endingSignals: sigset_t { signals([SIGINT, SIGTERM, SIGHUP, SIGQUIT]) }

  private static func signals(_ numbers: [Int32]) -> sigset_t {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    for number in numbers { unsafe sigaddset(&set, number) }
    return set
  }

  private static func now() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_BOOTTIME, &time)
    return Int64(time.tv_sec)
  }

  /// - Returns: the length of time in milliseconds.
  @discardableResult
  static func require(length: String) throws(Failure) -> Int64 {
    guard let milliseconds = TimeLength.milliseconds(length), (1_000...3_600_000).contains(milliseconds) else {
      throw .usage("a value stays in the clipboard for 1s to 1h", hint: "--clip=45s")
    }
    return milliseconds
  }

  /// Copies a value and arranges for it to be cleared.
  ///
  /// - Parameter length: such as `45s`, at most an hour.
  /// - Returns: the message about it, and further messages.
  /// - Throws: `usage`; the errors of ``init(holding:terminal:)``.
  static func copy(
    _ value: UnsafeRawBufferPointer, for length: String, terminal: String
  ) throws(Failure) -> (told: String, more: [String]) {
    let milliseconds = try require(length: length)
    let clipboard = try unsafe Clipboard(holding: value, terminal: terminal)
    // A terminal does not answer, so it is unknown whether it took the value.
    let done = clipboard.kind.isReadable ? "copied" : "sent to the terminal's clipboard"
    do throws(Failure) {
      try unsafe clipboard.clearLater(value, after: milliseconds / 1_000, terminal: terminal)
    } catch {
      return ("\(done); nothing will clear the clipboard", [error.message])
    }
    var more: [String] = []
    if !clipboard.kind.isReadable {
      more.append("a terminal's clipboard cannot be read, so it will be cleared whatever it holds")
    }
    if !clipboard.isMarked {
      more.append("a clipboard history may keep it: \(clipboard.kind.tool) cannot mark it as a password")
    }
    return ("\(done); the clipboard is cleared in \(length)", more)
  }
}
