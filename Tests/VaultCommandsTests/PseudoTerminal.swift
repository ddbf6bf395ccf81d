import Glibc
import TestSupport

@testable import VaultCommands

/// A terminal whose keyboard and screen the test controls.
final class PseudoTerminal {
  let path: String
  private let keyboard: Int32
  private let screen: Int32

  init(columns: UInt16 = 80) {
    var ends: (Int32, Int32) = (-1, -1)
    var name = [CChar](repeating: 0, count: 128)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    precondition(unsafe openpty(&ends.0, &ends.1, &name, nil, &size) == 0)
    (keyboard, screen) = ends
    [keyboard, screen].forEach(Pipe.closeOnExec)
    path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    close(keyboard)
    close(screen)
  }

  /// The descriptor that the tested program writes to.
  var descriptor: Int32 { screen }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    precondition(unsafe write(keyboard, bytes, bytes.count) == bytes.count)
  }

  var showsWhatIsTyped: Bool {
    var settings = termios()
    unsafe tcgetattr(screen, &settings)
    return settings.c_lflag & tcflag_t(ECHO) != 0
  }

  /// Whether some typed input was not read by any program.
  var hasInput: Bool {
    var count: Int32 = 0
    var settings = termios()
    // An unfinished line counts too.
    unsafe tcgetattr(screen, &settings)
    settings.c_lflag &= ~tcflag_t(ICANON)
    unsafe tcsetattr(screen, TCSANOW, &settings)
    return unsafe ioctl(screen, UInt(FIONREAD), &count) != 0 || count > 0
  }

  private var unseen: [UInt8] = []

  /// All output since the last call.
  func shown() -> String {
    while readScreen(for: 50) {}
    defer { unseen = [] }
    return String(decoding: unseen, as: UTF8.self)
  }

  /// Waits until `text` is on the screen, without consuming the output.
  ///
  /// - Returns: false if the text never appears.
  func waitUntilShown(_ text: String) -> Bool {
    eventually {
      _ = readScreen(for: 50)
      return String(decoding: unseen, as: UTF8.self).hasSuffix(text)
    }
  }

  private func readScreen(for milliseconds: Int32) -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4_096)
    var request = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
    guard unsafe poll(&request, 1, milliseconds) == 1 else { return false }
    let taken = unsafe read(keyboard, &chunk, chunk.count)
    guard taken > 0 else { return false }
    unseen += chunk[..<taken]
    return true
  }
}
