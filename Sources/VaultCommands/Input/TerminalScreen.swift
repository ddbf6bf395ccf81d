import Glibc
internal import Vault

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
