import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// A process that waits for a passphrase on its terminal.
@Suite struct PromptTests {
  private let folder = TemporaryFolder()
  private let terminal = PseudoTerminal()
  private static let prompt = "passphrase of ~/store, for 'vault list': "
  private let environment: [String: String]

  init() throws {
    environment = ["VAULT_HOME": folder.file("store"), "VAULT_STATE": folder.file("state"), "HOME": folder.path]
    let passphrase = Pipe.holding(Array("hunter2\n".utf8))
    defer { close(passphrase) }
    let made = Executable(["init", "--passphrase-fd", "3"], environment: environment, extra: [passphrase]).wait()
    try #require(made.status == 0, "\(made.errors)")
  }

  /// A `list` that has prompted, with half of the passphrase typed.
  private func waiting() throws -> Executable {
    let process = Executable(["list"], environment: environment, terminal: terminal)
    try #require(terminal.waitUntilShown(Self.prompt))
    #expect(!terminal.showsWhatIsTyped)
    terminal.type("hunt")
    return process
  }

  @Test func `the typed passphrase opens the store and is not shown`() throws {
    let process = try waiting()
    terminal.type("er2\n")
    #expect(process.wait().status == 0)
    #expect(terminal.shown() == Self.prompt + "\r\n")
    #expect(terminal.showsWhatIsTyped)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGABRT, SIGXCPU, SIGSTKFLT, 34, 64])
  func `a signal at the prompt ends with 130, and the terminal echoes again`(signal: Int32) throws {
    let process = try waiting()
    process.send(signal)
    let result = process.wait()
    #expect(result.status == 130)
    #expect(terminal.showsWhatIsTyped)
    #expect(result.output.isEmpty)
    #expect(!result.errors.contains("hunt"))
  }

  @Test(arguments: [(SIGINT, "INT"), (SIGHUP, "HUP"), (SIGTERM, "TERM"), (SIGTSTP, "TSTP")])
  func `a signal that was ignored before stays ignored at the prompt`(signal: Int32, name: String) throws {
    let process = Executable(
      ["-c", "trap '' \(name); exec \"$0\" list", Executable.path], program: "/bin/sh", environment: environment,
      terminal: terminal)
    try #require(terminal.waitUntilShown(Self.prompt))
    process.send(signal)
    terminal.type("hunter2\n")
    #expect(process.wait().status == 0)
    #expect(terminal.shown() == Self.prompt + "\r\n")
    #expect(terminal.showsWhatIsTyped)
  }

  @Test func `the rest of a pasted text does not reach the shell`() throws {
    let process = try waiting()
    terminal.type("er2\necho pasted\necho more")
    #expect(process.wait().status == 0)
    #expect(terminal.showsWhatIsTyped && !terminal.hasInput)
  }

  @Test(arguments: [
    ["import", "old.kdbx", "--from", "kdbx"], ["export", "--to", "kdbx", "-g", "default", "--output", "new.kdbx"],
    ["askpass", "Password: "],
  ]) func `nor does the rest of a text that was pasted at another prompt for a secret`(command: [String]) throws {
    let store = try TestStore()
    store.environment["VAULT_KEY_FILE"] = store.keyFile
    _ = store.folder.write("old.kdbx", [])
    let process = Executable(
      command.map { $0.hasSuffix(".kdbx") ? store.folder.file($0) : $0 }, environment: store.environment,
      terminal: terminal)
    try #require(eventually { !terminal.showsWhatIsTyped })
    terminal.type("hunter2\nhunter2\necho pasted\n")
    _ = process.wait()
    #expect(terminal.showsWhatIsTyped && !terminal.hasInput)
  }

  @Test func `Ctrl-C at the prompt ends with 130`() throws {
    let process = try waiting()
    terminal.type("\u{3}")
    #expect(process.wait().status == 130)
    #expect(terminal.showsWhatIsTyped)
  }

  @Test func `a stopped prompt restores the terminal, and asks again when it continues and nobody else asks`() throws {
    let process = try waiting()
    process.send(SIGTSTP)
    #expect(eventually { terminal.showsWhatIsTyped && process.isStopped })
    // Another program may ask meanwhile.
    let device = unsafe open(terminal.path, O_RDONLY | O_NOCTTY | O_CLOEXEC)
    #expect(flock(device, LOCK_EX | LOCK_NB) == 0)
    defer { close(device) }
    process.send(SIGCONT)
    // As long as the other one asks, its settings of the terminal stay as they are.
    #expect(eventually { !process.isStopped })
    usleep(300_000)
    #expect(terminal.showsWhatIsTyped && terminal.shown() == Self.prompt)
    #expect(flock(device, LOCK_UN) == 0)
    #expect(terminal.waitUntilShown(Self.prompt))
    terminal.type("er2\n")
    #expect(process.wait().status == 0)
    #expect(terminal.shown() == Self.prompt + "\r\n")
  }

  @Test(arguments: [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGSYS])
  func `a crash at the prompt prints nothing and leaves no core`(signal: Int32) throws {
    let process = try waiting()
    #expect(process.limit("Max core file size") == "0")
    process.send(signal)
    let result = process.wait()
    #expect(result.status == 128 + signal)
    #expect(result.errors.isEmpty)
    #expect(result.output.isEmpty)
    #expect(terminal.shown() == Self.prompt)
  }

  @Test func `without a terminal the store is locked at once`() {
    let result = Executable(["list"], environment: environment).wait()
    #expect(result.status == 11)
  }

  @Test func `no other source is tried if one is named`() {
    let result = Executable(
      ["list", "--key-file", folder.file("absent")], environment: environment, terminal: terminal
    ).wait()
    #expect(result.status == 11)
    #expect(terminal.shown().isEmpty)
  }
}
