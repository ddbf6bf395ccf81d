import Glibc
import Ground
import TestSupport
import Testing
import Vault

@testable import VaultCommands

@Suite struct TerminalTests {
  private func text(_ bytes: WipedBytes) -> String {
    unsafe bytes.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
  }

  @Test func `typed text is hidden at the prompt and shown again afterwards`() throws {
    let pty = PseudoTerminal()
    let terminal = try #require(Terminal(path: pty.path))
    let typist = Typist(pty, "hunter2\n")
    #expect(text(try terminal.ask("passphrase: ")) == "hunter2")
    typist.wait()
    #expect(typist.sawSilence)
    #expect(pty.showsWhatIsTyped)
    #expect(pty.shown() == "passphrase: \r\n")
  }

  @Test func `two programs on one terminal ask one after the other, and the echo is back afterwards`() throws {
    let pty = PseudoTerminal()
    let typed = Locked<[String]>([])
    let screens = Locked<[String]>([])
    let errors = onThreads(3) { thread in
      if thread == 2 {
        for answer in ["first", "second"] {
          _ = pty.waitUntilShown("passphrase: ")
          screens.withLock { $0.append(pty.shown()) }
          pty.type(answer + "\n")
        }
      } else {
        let answer = text(try #require(Terminal(path: pty.path)).ask("passphrase: "))
        typed.withLock { $0.append(answer) }
      }
    }
    #expect(errors.isEmpty && typed.withLock { $0 } == ["first", "second"])
    #expect(screens.withLock { $0 } == ["passphrase: ", "\r\npassphrase: "])
    #expect(pty.showsWhatIsTyped && !pty.shown().contains("second"))
  }

  @Test func `a new passphrase is asked for again if its entries differ`() throws {
    let pty = PseudoTerminal()
    let terminal = try #require(Terminal(path: pty.path))
    pty.type("one\none\n")
    #expect(text(try terminal.askTwice("new: ", again: "again: ")) == "one")
    pty.type("one\ntwo\none\none\n")
    #expect(text(try terminal.askTwice("new: ", again: "again: ")) == "one")
    pty.type("one\ntwo\none\ntwo\none\ntwo\n")
    let failure = #expect(throws: Failure.self) { try terminal.askTwice("new: ", again: "again: ") }
    #expect(failure?.message == "the two differ")
    #expect(pty.showsWhatIsTyped)
  }

  @Test func `an empty new passphrase is refused`() throws {
    let pty = PseudoTerminal()
    let terminal = try #require(Terminal(path: pty.path))
    pty.type("\n")
    let failure = #expect(throws: Failure.self) { try terminal.askTwice("new: ", again: "again: ") }
    #expect(failure?.message == "nothing was typed")
  }

  @Test func `the end of the input is not a passphrase`() throws {
    let pty = PseudoTerminal()
    let terminal = try #require(Terminal(path: pty.path))
    pty.type("\u{4}")
    let failure = #expect(throws: Failure.self) { try terminal.ask("passphrase: ") }
    #expect(failure?.status == .locked)
    #expect(pty.showsWhatIsTyped)
  }

  @Test func `a line that the terminal truncates is refused`() throws {
    let pty = PseudoTerminal()
    let terminal = try #require(Terminal(path: pty.path))
    let typist = Typist(pty, String(repeating: "x", count: 4_200) + "\n")
    let failure = #expect(throws: Failure.self) { try terminal.ask("passphrase: ") }
    typist.wait()
    #expect(failure?.status == .overLimit)
  }

  @Test func `a prompt needs a terminal`() {
    #expect(Terminal(path: "/dev/null") == nil)
    #expect(Terminal(path: "/nonexistent") == nil)
  }
}

/// Types from another thread once the terminal hides its input.
final class Typist: @unchecked Sendable {
  private var thread = pthread_t()
  private let pty: PseudoTerminal
  private let text: String
  private(set) var sawSilence = false

  init(_ pty: PseudoTerminal, _ text: String) {
    self.pty = pty
    self.text = text
    unsafe pthread_create(
      &thread, nil,
      { context in
        unsafe Unmanaged<Typist>.fromOpaque(context!).takeRetainedValue().work()
        return nil
      }, Unmanaged.passRetained(self).toOpaque())
  }

  func wait() { pthread_join(thread, nil) }

  private func work() {
    sawSilence = eventually { !pty.showsWhatIsTyped }
    pty.type(text)
  }
}
