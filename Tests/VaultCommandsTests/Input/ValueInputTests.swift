import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct ValueInputTests {
  private func value(_ input: [UInt8], exact: Bool = false) throws -> [UInt8] {
    let descriptor = Pipe.holding(input)
    defer { close(descriptor) }
    let bytes = try ValueInput.descriptor(descriptor).read(exact: exact, streams: Streams())
    return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  @Test func `piped text loses one final newline`() throws {
    #expect(try value(Array("s3cret\n".utf8)) == Array("s3cret".utf8))
    #expect(try value(Array("s3cret\r\n".utf8)) == Array("s3cret".utf8))
  }

  @Test func `text of several lines keeps its final newline, which keys need`() throws {
    let key = "-----BEGIN KEY-----\nMII\n-----END KEY-----\n"
    #expect(try value(Array(key.utf8)) == Array(key.utf8))
    #expect(try value(Array("a\r\nb\r\n".utf8)) == Array("a\r\nb\r\n".utf8))
  }

  @Test func `exact keeps the final newline`() throws {
    #expect(try value(Array("s3cret\n".utf8), exact: true) == Array("s3cret\n".utf8))
  }

  @Test func `bytes that are not text keep a final byte that looks like a newline`() throws {
    #expect(try value([0xFF, 0x0A]) == [0xFF, 0x0A])
  }

  @Test func `a value may be empty`() throws { #expect(try value([]).isEmpty) }

  @Test func `a value of the maximum size may have a final newline`() throws {
    let full = [UInt8](repeating: 0x61, count: ValueInput.limit)
    #expect(try value(full + [0x0D, 0x0A]) == full)
    #expect(try value(full) == full)
  }

  @Test func `a value one byte over the maximum is over the limit`() {
    let failure = #expect(throws: Failure.self) {
      try value([UInt8](repeating: 0x61, count: ValueInput.limit + 1))
    }
    #expect(failure?.status == .overLimit)
  }

  @Test func `an endless source is not read beyond the limit`() {
    let descriptor = unsafe open("/dev/zero", O_RDONLY)
    defer { close(descriptor) }
    let failure = #expect(throws: Failure.self) {
      try ValueInput.descriptor(descriptor).read(exact: true, streams: Streams())
    }
    #expect(failure?.status == .overLimit)
  }

  @Test func `a file's bytes are unchanged`() throws {
    let folder = TemporaryFolder()
    let path = folder.write("value", Array("line\n".utf8))
    let bytes = try ValueInput.file(path).read(exact: false, streams: Streams())
    #expect(unsafe bytes.withUnsafeBytes { unsafe Array($0) } == Array("line\n".utf8))
  }

  @Test func `the error for an unreadable file does not name its path`() {
    let folder = TemporaryFolder()
    for (path, words) in [(folder.file("absent"), "does not exist"), (folder.path, "is a directory")] {
      let failure = #expect(throws: Failure.self) { try ValueInput.file(path).read(exact: false, streams: Streams()) }
      #expect(failure?.status == .usage)
      #expect(failure?.message == "the file of --file cannot be read: it \(words)")
    }
  }

  @Test func `a descriptor that is not open is refused`() {
    for number in [Int32(-1), 9_999] {
      let failure = #expect(throws: Failure.self) {
        try ValueInput.descriptor(number).read(exact: false, streams: Streams())
      }
      #expect(failure?.message == "the descriptor of --fd cannot be read: it is not open")
    }
  }

  /// The value that results from keys typed once the terminal hides its input.
  private func typed(_ keys: String, on terminal: PseudoTerminal = PseudoTerminal()) throws -> String {
    let streams = Streams(input: terminal.descriptor, terminal: terminal.path)
    let typist = Typist(terminal, keys)
    defer { typist.wait() }
    let bytes = try ValueInput.standardInput.read(exact: false, streams: streams)
    return unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a typed value may be longer than a terminal's line`() throws {
    let long = String(repeating: "0123456789abcdef", count: 1_000)
    #expect(try typed(long + "\r") == long)
  }

  @Test(arguments: [
    ("\u{1B}[200~one\rtwo\rthree\r\u{1B}[201~\r", "one\ntwo\nthree\n"), ("\u{1B}[200~a\r\nb\u{1B}[201~\r", "a\nb"),
    ("\u{1B}[200~alone\r\u{1B}[201~\r", "alone"), ("x\u{1B}[200~y\u{1B}[201~z\r", "xyz"),
    ("\u{1B}[200~a\u{1B}b\u{1B}\u{1B}[201~\r", "a\u{1B}b\u{1B}"),
    ("\u{1B}[200~\u{3}\t\u{4}\u{1B}[201~\r", "\u{3}\t\u{4}"),
  ]) func `pasted text is read completely`(keys: String, value: String) throws {
    #expect(try typed(keys) == value)
  }

  @Test(arguments: [
    ("ab\u{7F}c\r", "ac"), ("aé\u{7F}\u{8}b\r", "b"), ("abc\u{15}d\r", "d"), ("\u{7F}\r", ""),
    ("a\u{1B}[D\u{1B}OPb\n", "ab"),
    ("ab\u{4}", "ab"),
  ]) func `line-editing keys edit a value`(keys: String, value: String) throws {
    #expect(try typed(keys) == value)
  }

  @Test func `unmarked pasted lines are refused, and none reaches the shell`() throws {
    let terminal = PseudoTerminal()
    let failure = #expect(throws: Failure.self) { try typed("one\rtwo\rthree\r", on: terminal) }
    #expect(failure?.status == .usage)
    #expect(failure?.message == "several lines came at once, and the terminal does not mark pasted text")
    #expect(Pipe.unreadCount(terminal.descriptor) == 0)
    #expect(terminal.showsWhatIsTyped)
  }

  @Test func `a pasted value over the limit is refused`() {
    let long = String(repeating: "x", count: ValueInput.limit + 10)
    let failure = #expect(throws: Failure.self) { try typed("\u{1B}[200~\(long)\u{1B}[201~\r") }
    #expect(failure?.status == .overLimit)
  }

  @Test(arguments: ["\u{3}", "abc\u{3}", "\u{1B}[200~an end that was lost\u{3}\u{3}\u{3}"])
  func `Ctrl-C ends the prompt for a value`(keys: String) {
    let terminal = PseudoTerminal()
    #expect(throws: Failure.interrupted) { try typed(keys, on: terminal) }
    #expect(terminal.showsWhatIsTyped)
  }

  @Test func `the terminal marks pasted text only during the prompt`() throws {
    let terminal = PseudoTerminal()
    _ = try typed("\u{1B}[200~a\rb\u{1B}[201~\r", on: terminal)
    #expect(terminal.shown() == "\u{1B}[?2004hvalue: [2 lines pasted] \r\n\u{1B}[?2004l")
  }

  @Test func `a value is asked for if stdin is a terminal`() throws {
    let terminal = PseudoTerminal()
    terminal.type("typed\n")
    let streams = Streams(input: terminal.descriptor, terminal: terminal.path)
    let bytes = try ValueInput.standardInput.read(exact: false, streams: streams)
    #expect(unsafe bytes.withUnsafeBytes { unsafe Array($0) } == Array("typed".utf8))
  }
}
