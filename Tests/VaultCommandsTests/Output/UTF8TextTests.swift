import Ground
import Testing

@testable import VaultCommands

@Suite struct UTF8TextTests {
  @Test(arguments: [
    ([0x61, 0x0A, 0x09], true), ([], true), ([0xC3, 0xA9], true), ([0x1B], false), ([0x00], false), ([0x7F], false),
    ([0xC2, 0x9B], false), ([0xFF], false), ([0xC0, 0x80], false), ([0xED, 0xA0, 0x80], false),
  ])
  func `a terminal gets text and nothing that could control it`(bytes: [UInt8], isShown: Bool) {
    #expect(unsafe bytes.withUnsafeBytes { unsafe UTF8Text.isPrintable($0) } == isShown)
  }
}
