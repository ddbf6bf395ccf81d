internal import Exchange
internal import Vault

/// A QR code in a terminal, with two modules per character.
struct QRDrawing {
  private let code: QRCode

  /// - Throws: `overLimit` for more bytes than a code can hold.
  init(_ value: UnsafeRawBufferPointer) throws(Failure) {
    guard let code = unsafe QRCode(Array(value)) else {
      throw Failure(
        .overLimit, "the value does not fit into a QR code: it holds at most \(QRCode.largestByteCount) bytes",
        hint: "for one field: NAME#FIELD")
    }
    self.code = code
  }

  var columns: Int { code.size + 2 * QRCode.quietZone }
  var lines: Int { (columns + 1) / 2 }

  /// With colour it is dark on light, whatever the terminal's colours are. Without colour the light modules are drawn,
  /// for a terminal with light text on dark.
  func write(to output: Output, hasColour: Bool) throws(Failure) {
    for line in 0..<lines {
      let row = 2 * line - QRCode.quietZone
      var text = ""
      for column in -QRCode.quietZone..<code.size + QRCode.quietZone {
        let halves = (0...1).map { code.isDark(column: column, row: row + $0) == hasColour }
        text += halves == [true, true] ? "█" : halves[0] ? "▀" : halves[1] ? "▄" : " "
      }
      try output.write(hasColour ? "\u{1B}[30;47m\(text)\u{1B}[0m\n" : text + "\n")
    }
  }

  /// - Throws: `usage` for a terminal that would wrap the lines.
  func requireRoom(on output: Output) throws(Failure) {
    guard output.isTerminal, Table.width(of: output.descriptor) < columns else { return }
    throw Failure(
      .usage, "the QR code takes \(columns) columns, more than the terminal has",
      hint: "a wider window or smaller letters; or one field of the value: NAME#FIELD")
  }
}
