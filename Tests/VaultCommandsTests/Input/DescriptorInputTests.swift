import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct DescriptorInputTests {
  @Test func `a line is read without the bytes after it`() throws {
    let descriptor = Pipe.holding(Array("pass word\nvalue".utf8))
    defer { close(descriptor) }
    let line = try DescriptorInput(descriptor, "it").readLine(limit: 9)
    #expect(unsafe line.withUnsafeBytes { unsafe Array($0) } == Array("pass word".utf8))
    #expect(Pipe.readAll(descriptor) == Array("value".utf8))
  }

  @Test(arguments: ["x", "x\n", "x\r\n"]) func `a line may end with or without a newline`(text: String) throws {
    let descriptor = Pipe.holding(Array(text.utf8))
    defer { close(descriptor) }
    #expect(try DescriptorInput(descriptor, "it").readLine(limit: 1).count == 1)
  }

  @Test func `a line that is too long is refused`() throws {
    let descriptor = Pipe.holding(Array("1234567890".utf8))
    defer { close(descriptor) }
    let failure = #expect(throws: Failure.self) { try DescriptorInput(descriptor, "it").readLine(limit: 4) }
    #expect(failure == Failure(.overLimit, "it has a line of more than 4 bytes"))
  }
}
