import Testing
import Vault

@testable import VaultCommands

@Suite struct QRDrawingTests {
  private func drawing(of text: String, colour: Bool) throws -> [String] {
    let drawing = try unsafe Array(text.utf8).withUnsafeBytes { try unsafe QRDrawing($0) }
    let pipe = Pipe.nameless()
    let output = try Output(descriptor: pipe)
    try drawing.write(to: output, hasColour: colour)
    try output.flush()
    let lines = String(decoding: Pipe.contents(of: pipe), as: UTF8.self).split(separator: "\n").map(String.init)
    #expect(lines.count == drawing.lines)
    return lines
  }

  @Test func `with colour the dark modules are black on white`() throws {
    let lines = try drawing(of: "HELLO", colour: true)
    let begin = "\u{1B}[30;47m"
    let end = "\u{1B}[0m"
    #expect(lines.allSatisfy { $0.hasPrefix(begin) && $0.hasSuffix(end) })
    #expect(lines[0] == begin + String(repeating: " ", count: 29) + end)
    // The first two rows of the upper left finder begin after the quiet zone.
    #expect(lines[2].hasPrefix(begin + "    █▀▀▀▀▀█ "))
  }

  @Test func `without colour the light modules are drawn`() throws {
    let lines = try drawing(of: "HELLO", colour: false)
    #expect(lines[0] == String(repeating: "█", count: 29))
    #expect(lines[2].hasPrefix("████ ▄▄▄▄▄ █"))
  }

  @Test func `a value too large for a code is refused`() throws {
    let failure = #expect(throws: Failure.self) { try drawing(of: String(repeating: "x", count: 2_954), colour: false) }
    #expect(failure?.status == .overLimit)
  }
}
