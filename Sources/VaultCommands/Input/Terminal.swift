import CVaultSystem
import Glibc
internal import Vault

/// The terminal on which passphrases and values are typed, whatever stdin and stdout are.
final class Terminal {
  private let descriptor: Int32

  /// Whether more input was waiting when the last line was read without echo.
  private(set) var hasRest = false

  /// A terminal returns at most this many bytes of a line and silently drops the rest, so a line of this length is
  /// refused.
  static let lineLimit = 4_095

  /// - Returns: nil if there is no terminal, or this process runs in the background and cannot prompt.
  init?(path: String) {
    descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    // Reading in the background would stop the process, so there is no prompt then.
    let foreground = tcgetpgrp(descriptor)
    guard isatty(descriptor) == 1, foreground == -1 || foreground == getpgrp() else { return nil }
  }

  deinit { close(descriptor) }

  /// Asks for one line without echoing it.
  ///
  /// - Throws: `Failure.interrupted` on SIGINT, SIGTERM or SIGHUP; `locked` if the user ends the input instead;
  ///   `overLimit` for a line of `lineLimit` bytes. The echo is restored in each case.
  func ask(_ prompt: String) throws(Failure) -> WipedBytes {
    let silence = try Silence(descriptor)
    defer { silence.end() }
    return try readLine(prompt, silence)
  }

  /// Asks for a value without echoing it. It has one line, or several if it is pasted.
  ///
  /// - Parameter isDumb: whether the terminal has no control sequences, and so cannot mark pasted text.
  /// - Throws: `Failure.interrupted`; `usage` if the user ends the input instead, or if several lines arrived at once
  ///   from a terminal that does not mark pasted text; `overLimit`. In no case is typed text left for the shell.
  func askValue(_ prompt: String, isDumb: Bool) throws(Failure) -> WipedBytes {
    let silence = try Silence(descriptor, isDumb ? .keysWithoutMarks : .keys)
    defer { silence.end() }
    try show(prompt)
    defer { try? show("\n") }
    var value = try TypedValue()
    let chunk = try WipedBytes(capacity: 4_096)
    while true {
      guard try silence.hasInput() else {
        try show(prompt)
        continue
      }
      chunk.truncate(to: 0)
      unsafe chunk.appendBytes { free in max(unsafe read(descriptor, free.baseAddress, free.count), 0) }
      guard chunk.count > 0 else { throw Failure(.usage, "nothing was typed on the terminal") }
      for place in 0..<chunk.count {
        switch value.take(unsafe chunk.withUnsafeBytes { unsafe $0[place] }) {
        case .more: continue
        case .pasted: if value.lineCount > 1 { try show("[\(value.lineCount) lines pasted] ") }
        case .interrupted: throw .interrupted
        case .suspended:
          silence.stop()
          try show(prompt)
        case .ended where value.isEmpty: throw Failure(.usage, "nothing was typed on the terminal")
        case .ended, .entered:
          guard place == chunk.count - 1, !silence.hasMore(within: 150) else {
            // On a slow line the rest may arrive in pieces.
            repeat { silence.dropInput() } while silence.hasMore(within: 300)
            throw Failure(
              .usage, "several lines came at once, and the terminal does not mark pasted text",
              hint: "pipe the value, or type it in an editor: vault edit NAME --create")
          }
          return try value.value()
        }
      }
    }
  }

  /// Asks for a new passphrase twice.
  ///
  /// If the entries differ, one of them has a typing error, and both are asked for again, at most twice.
  ///
  /// - Throws: like `ask`; `usage` if the entries keep differing, or nothing was typed.
  func askTwice(_ prompt: String, again: String) throws(Failure) -> WipedBytes {
    let silence = try Silence(descriptor)
    defer { silence.end() }
    for attempt in 1...3 {
      let first = try readLine(prompt, silence)
      guard first.count > 0 else { throw Failure(.usage, "nothing was typed") }
      if try readLine(again, silence).equals(first) { return first }
      if attempt < 3 { try show("the two differ; please repeat\n") }
    }
    throw Failure(.usage, "the two differ")
  }

  /// Asks for one line with echo, for an answer that is no secret.
  func askAloud(_ prompt: String) throws(Failure) -> WipedBytes {
    try show(prompt)
    return try DescriptorInput(descriptor, "the terminal").readLine(limit: Self.lineLimit)
  }

  /// Asks a question that is answered by `yes` or `no`. Another answer is asked for again, at most twice; none is a no.
  ///
  /// - Parameter echoes: whether the answer is shown. It may be a passphrase, where one was asked for before.
  func confirm(_ question: String, echoes: Bool = true) throws(Failure) -> Bool {
    for attempt in 1...3 {
      let prompt = attempt == 1 ? question : "please type yes or no: "
      let line = try echoes ? askAloud(prompt) : ask(prompt)
      let answer = unsafe line.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self).lowercased() }
      if answer == "yes" { return true }
      if ["", "no", "n"].contains(answer) { return false }
    }
    return false
  }

  /// Drops input that was typed and not read.
  func dropInput() { tcflush(descriptor, TCIFLUSH) }

  private func readLine(_ prompt: String, _ silence: borrowing Silence) throws(Failure) -> WipedBytes {
    try show(prompt)
    let line = try WipedBytes(capacity: Self.lineLimit + 1)
    do throws(Failure) {
      while try !silence.hasInput() { try show(prompt) }
    } catch {
      // The message about it starts on a new line.
      try? show("\n")
      throw error
    }
    var end: Int32 = 0
    unsafe line.appendBytes { free in
      let taken = unsafe read(descriptor, free.baseAddress, free.count)
      end = taken > 0 ? 0 : 1
      return max(taken, 0)
    }
    // Several pasted lines usually arrive at once; the short wait is for terminals that send them in pieces.
    hasRest = silence.hasMore(within: 10)
    try show("\n")
    guard end == 0 else { throw Failure(.locked, "nothing was typed on the terminal") }
    guard line.count < Self.lineLimit else {
      throw Failure(.overLimit, "a terminal takes lines of at most 4094 bytes", hint: "pipe the value instead")
    }
    line.removeTrailingNewline()
    return line
  }

  /// The whole screen. The caller must end it.
  func screen(isOnly: Bool) throws(Failure) -> TerminalScreen { try TerminalScreen(descriptor, isOnly: isOnly) }

  private func show(_ text: String) throws(Failure) {
    try Descriptor.write(text, to: descriptor)
  }
}

/// A terminal whose whole screen we use for a time. Its previous content is restored afterwards.
struct TerminalScreen: ~Copyable {
  private let terminal: Int32
  private let silence: Silence

  /// - Parameters:
  ///   - terminal: its descriptor, which must stay open.
  ///   - isOnly: whether the terminal has no second screen to draw on.
  init(_ terminal: Int32, isOnly: Bool) throws(Failure) {
    self.terminal = terminal
    silence = try Silence(terminal, .screen(isOnly: isOnly))
  }

  func end() { silence.end() }

  /// Stops the program until it is continued.
  func stop() { silence.stop() }

  /// 80 × 24 if the terminal does not report its size.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  enum Event { case input, changed, timeout }

  /// Waits for keys, for a change of the screen's size, or until we may draw again.
  ///
  /// - Parameter milliseconds: the maximum time, or -1 for no limit.
  /// - Throws: `Failure.interrupted`.
  func next(within milliseconds: Int32) throws(Failure) -> Event { try silence.next(within: milliseconds) }

  /// - Returns: an empty array if the terminal is gone.
  func read() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1_024)
    let count = unsafe Glibc.read(terminal, &bytes, bytes.count)
    return Array(bytes.prefix(max(count, 0)))
  }

  func draw(_ lines: [PickScreen.Line], cursor: (column: Int, row: Int)) throws(Failure) {
    var text = "\u{1B}[H"
    for (row, line) in lines.enumerated() {
      // Reverse video is not a colour, and terminals without it ignore it.
      text += (row == 0 ? "" : "\r\n") + (line.isChosen ? "\u{1B}[7m\(line.text)\u{1B}[m" : line.text) + "\u{1B}[K"
    }
    text += "\u{1B}[J\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H"
    try Descriptor.write(text, to: terminal)
  }
}

extension Session {
  /// The recovery code from a descriptor; a terminal is asked for it.
  func recoveryCode(descriptor: Int32) throws -> Secret {
    guard isatty(descriptor) == 1 else { return try KeySource.recoveryCode(descriptor: descriptor) }
    return try askSecret(
      "recovery code: ", else: VaultError.locked(.nobodyToAsk("there is no terminal to ask for the recovery code")))
  }

  /// Asks for one line on the terminal, without showing it.
  ///
  /// - Parameter error: thrown if there is no terminal.
  func askSecret(_ prompt: String, else error: @autoclosure () -> any Error) throws -> Secret {
    guard let terminal else { throw error() }
    return try terminal.ask(prompt).secret()
  }

  /// Asks for the password of an etcd user.
  ///
  /// - Parameter option: the option that can be given instead.
  func askPassword(of user: String, or option: String) throws -> Secret {
    try askSecret(
      "password of the etcd user \(UTF8Text.onOneLine(user)): ",
      else: Failure(.locked, "there is no terminal to ask for the password", hint: "without a terminal: \(option)"))
  }
}
