import Glibc
internal import Vault

/// A terminal whose whole screen is ours for a time; what it showed before comes back.
struct TerminalScreen: ~Copyable {
  private let terminal: Int32
  private let silence: Silence

  /// - Parameters:
  ///   - terminal: its descriptor, which stays open as long.
  ///   - isOnly: whether the terminal has no second screen to draw on.
  init(_ terminal: Int32, isOnly: Bool) throws(Failure) {
    self.terminal = terminal
    silence = try Silence(terminal, .screen(isOnly: isOnly))
  }

  func end() { silence.end() }

  /// Stops the program until it is continued.
  func stop() { silence.stop() }

  /// 80 × 24 where the terminal does not say.
  var size: (columns: Int, rows: Int) {
    var size = winsize()
    guard unsafe ioctl(terminal, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return (80, 24)
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }

  enum Event { case input, changed, timeout }

  /// Waits for keys, for a change of the screen's size, or for its being ours again.
  ///
  /// - Parameter milliseconds: -1 for as long as it takes.
  /// - Throws: `Failure.interrupted`.
  func next(within milliseconds: Int32) throws(Failure) -> Event { try silence.next(within: milliseconds) }

  /// - Returns: nothing where the terminal is gone.
  func read() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 1_024)
    let count = unsafe Glibc.read(terminal, &bytes, bytes.count)
    return Array(bytes.prefix(max(count, 0)))
  }

  func draw(_ lines: [PickScreen.Line], cursor: (column: Int, row: Int)) throws(Failure) {
    var text = "\u{1B}[H"
    for (row, line) in lines.enumerated() {
      // Reverse video is no colour, and terminals without it leave it out.
      text += (row == 0 ? "" : "\r\n") + (line.isChosen ? "\u{1B}[7m\(line.text)\u{1B}[m" : line.text) + "\u{1B}[K"
    }
    text += "\u{1B}[J\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H"
    try Descriptor.write(text, to: terminal)
  }
}
