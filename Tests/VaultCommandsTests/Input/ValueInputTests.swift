import Glibc
import Testing
import VaultStore

@testable import VaultCommands

@Suite struct ValueInputTests {
  private func value(_ input: [UInt8], exact: Bool = false) throws -> [UInt8] {
    let descriptor = Pipe.holding(input)
    defer { close(descriptor) }
    let bytes = try ValueInput.descriptor(descriptor).read(exact: exact, streams: Streams())
    return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  @Test func `one newline comes off piped text`() throws {
    #expect(try value(Array("s3cret\n".utf8)) == Array("s3cret".utf8))
    #expect(try value(Array("s3cret\r\n".utf8)) == Array("s3cret".utf8))
    #expect(try value(Array("two\nlines\n\n".utf8)) == Array("two\nlines\n".utf8))
  }

  @Test func `exact keeps the newline`() throws {
    #expect(try value(Array("s3cret\n".utf8), exact: true) == Array("s3cret\n".utf8))
  }

  @Test func `bytes that are no text keep a last byte that looks like a newline`() throws {
    #expect(try value([0xFF, 0x0A]) == [0xFF, 0x0A])
  }

  @Test func `a value may be empty`() throws { #expect(try value([]).isEmpty) }

  @Test func `a value of the full size may come with a newline`() throws {
    let full = [UInt8](repeating: 0x61, count: ValueInput.limit)
    #expect(try value(full + [0x0D, 0x0A]) == full)
    #expect(try value(full) == full)
  }

  @Test func `one byte too many is over the limit`() {
    let failure = #expect(throws: Failure.self) {
      try value([UInt8](repeating: 0x61, count: ValueInput.limit + 1))
    }
    #expect(failure?.status == .overLimit)
  }

  @Test func `an endless source is left after the limit`() {
    let descriptor = unsafe open("/dev/zero", O_RDONLY)
    defer { close(descriptor) }
    let failure = #expect(throws: Failure.self) {
      try ValueInput.descriptor(descriptor).read(exact: true, streams: Streams())
    }
    #expect(failure?.status == .overLimit)
  }

  @Test func `a file's bytes are kept as they are`() throws {
    let folder = TemporaryFolder()
    let path = folder.write("value", Array("line\n".utf8))
    let bytes = try ValueInput.file(path).read(exact: false, streams: Streams())
    #expect(unsafe bytes.withUnsafeBytes { unsafe Array($0) } == Array("line\n".utf8))
  }

  @Test func `a file that cannot be read is told without its path`() {
    let folder = TemporaryFolder()
    for (path, words) in [(folder.file("absent"), "does not exist"), (folder.path, "is a directory")] {
      let failure = #expect(throws: Failure.self) { try ValueInput.file(path).read(exact: false, streams: Streams()) }
      #expect(failure?.status == .usage)
      #expect(failure?.message == "the file named by --file cannot be read: it \(words)")
    }
  }

  @Test func `a descriptor that is not open is refused`() {
    for number in [Int32(-1), 9_999] {
      let failure = #expect(throws: Failure.self) {
        try ValueInput.descriptor(number).read(exact: false, streams: Streams())
      }
      #expect(failure?.message == "the descriptor named by --fd cannot be read: it is not open")
    }
  }

  @Test func `a value is asked for where stdin is a terminal`() throws {
    let terminal = PseudoTerminal()
    terminal.type("typed\n")
    let streams = Streams(input: terminal.descriptor, terminal: terminal.path)
    let bytes = try ValueInput.standardInput.read(exact: false, streams: streams)
    #expect(unsafe bytes.withUnsafeBytes { unsafe Array($0) } == Array("typed".utf8))
  }
}
