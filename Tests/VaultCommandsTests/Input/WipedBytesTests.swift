import Testing

@testable import VaultCommands

@Suite struct WipedBytesTests {
  static func holding(_ bytes: [UInt8]) throws -> WipedBytes {
    let wiped = try WipedBytes(capacity: bytes.count + 8)
    for byte in bytes { wiped.append(byte) }
    return wiped
  }

  @Test(arguments: [
    ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\n"), ("a\r", "a\r"), ("a", "a"), ("\n", ""), ("\r\n", ""), ("", ""),
    ("a\r\r\n", "a\r"),
  ])
  func `one final newline is removed`(before: String, after: String) throws {
    let bytes = try Self.holding(Array(before.utf8))
    bytes.removeTrailingNewline()
    #expect(unsafe bytes.withUnsafeBytes { unsafe Array($0) } == Array(after.utf8))
  }

  @Test func `removed bytes are wiped`() throws {
    let bytes = try Self.holding([1, 2, 3, 4])
    bytes.truncate(to: 1)
    var behind: [UInt8] = []
    unsafe bytes.appendBytes { free in
      behind = unsafe Array(free.prefix(4))
      return 0
    }
    #expect(behind == [0, 0, 0, 0])
  }

  @Test func `a comparison covers every byte and the count`() throws {
    #expect(try Self.holding([1, 2]).equals(Self.holding([1, 2])))
    #expect(try !Self.holding([1, 2]).equals(Self.holding([1, 3])))
    #expect(try !Self.holding([1, 2]).equals(Self.holding([1])))
  }
}
