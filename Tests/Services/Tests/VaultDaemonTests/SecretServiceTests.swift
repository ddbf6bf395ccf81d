import Foundation
import Logging
import Testing
import VaultFoundation

@testable import Sealing
@testable import VaultDaemon

/// What the Secret Service decides without a bus; with one, `Tests/Services/secret-service` asks it as programs do.
struct SecretServiceTests {
  private func digits(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  @Test func `items of another program are read in the order of their numbers`() {
    let paths = ["2", "10", "1"].map { "/org/freedesktop/secrets/collection/login/" + $0 }
    #expect(RunningSecrets.inOrder(paths) == [paths[2], paths[0], paths[1]])
  }

  // MARK: Sessions

  @Test func `both sides of a session derive the key that Python's integers and HMAC give`() throws {
    let (ours, theirs) = (Array(UInt8(1)...32), Array(UInt8(101)...132))
    let here = try BusSession.agree(with: [2], ours)
    let there = try BusSession.agree(with: here.publicKey, theirs)
    let back = try BusSession.agree(with: try BusSession.agree(with: [2], theirs).publicKey, ours)
    #expect(here.publicKey.count == 128)
    #expect(digits(here.publicKey.prefix(16)) == "457120764f3a1e6fd58103e41a4093a6")
    #expect(digits(there.key) == "5a8930dd50f366b87cfd29d479726311")
    #expect(there.key == back.key)
  }

  @Test func `a shared secret that begins with a zero is padded before the key is derived`() throws {
    let theirs = try BusSession.agree(with: [2], Array(UInt8(101)...132)).publicKey
    let number = 146
    let made = try BusSession.agree(with: theirs, [UInt8(number >> 8), UInt8(number & 255)])
    #expect(digits(made.key) == "2c24db8cff52e628c833e30c69a2c198")
  }

  @Test(arguments: [[], [0], [1], [UInt8](repeating: 0xFF, count: 128), [UInt8](repeating: 2, count: 129)])
  func `a public key that makes the secret predictable is refused`(key: [UInt8]) {
    #expect(throws: BusFailure.self) { try BusSession.agree(with: key, [3]) }
  }

  @Test(arguments: [0, 1, 15, 16, 17, 4_096]) func `a secret of any length comes back from its encryption`(count: Int)
    throws
  {
    let (session, output) = try BusSession.open(BusSession.encrypted, .bytes([3]), for: ":1.1")
    guard case .bytes(let key) = output else { throw BusFailure.noObject }
    #expect(key.count == 128)
    let value = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    let sealed = try #require(BusSecret(try session.seal(value, contentType: "text/plain", at: "/s")))
    #expect(sealed.value.count == (count / 16 + 1) * 16 && sealed.parameters.count == 16)
    #expect(try session.open(sealed) == value)
    var cut = sealed
    cut.value = Array(cut.value.dropLast())
    #expect(throws: BusFailure.self) { try session.open(cut) }
    cut = sealed
    cut.parameters = []
    #expect(throws: BusFailure.self) { try session.open(cut) }
  }

  // MARK: Rules

  @Test func `a rule counts for its executable or Flatpak application, and the default for all others`() {
    let rules = ProgramRules([
      "secret-service/default": "ask", "secret-service/exe/usr/bin/mail": "allow",
      "secret-service/flatpak/org.example.Mail": "deny",
    ])
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail")) == .allow)
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail (deleted)")) == .ask)
    #expect(rules.rule(for: BusProgram(executable: nil)) == .ask)
    // The executable of a Flatpak application is its proxy, which is the same for all.
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail", flatpak: "org.example.Mail")) == .deny)
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail", flatpak: "org.example.Other")) == .ask)
    #expect(ProgramRules([:]).rule(for: BusProgram(executable: "/usr/bin/mail")) == .allow)
    #expect(ProgramRules([:]).rule(for: BusProgram(executable: nil)) == .allow)
  }

  @Test func `a rule that denies still counts when the program's file was replaced, and one that allows does not`() {
    let rules = ProgramRules([
      "secret-service/exe/usr/bin/mail": "deny", "secret-service/exe/usr/bin/web": "allow",
      "secret-service/default": "ask",
    ])
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail (deleted)")) == .deny)
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/web (deleted)")) == .ask)
  }

  @Test func `a rule that denies a program counts whatever sandbox it puts on`() {
    let rules = ProgramRules([
      "secret-service/exe/usr/bin/mail": "deny", "secret-service/flatpak/org.example.Web": "allow",
    ])
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail", flatpak: "org.example.Web")) == .deny)
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/web", flatpak: "org.example.Web")) == .allow)
  }

  @Test func `a program that nobody knows is let in only if no rule could be about it`() {
    let unknown = BusProgram(executable: nil)
    for name in ["exe/usr/bin/mail", "flatpak/org.example.Mail"] {
      #expect(ProgramRules(["secret-service/" + name: "deny"]).rule(for: unknown) == .ask, "\(name)")
      let denies = ProgramRules(["secret-service/" + name: "allow", "secret-service/default": "deny"])
      #expect(denies.rule(for: unknown) == .deny, "\(name)")
    }
    #expect(ProgramRules([:]).rule(for: unknown) == .allow)
  }

  @Test func `a rule that cannot count denies`() {
    let rules = ProgramRules([
      "secret-service/exe/usr/bin/python3.11": "allow", "secret-service/exe/usr/bin/mail": "alow",
    ])
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/python3.11")) == .deny)
    #expect(rules.rule(for: BusProgram(executable: "/usr/bin/mail")) == .deny)
    #expect(ProgramRules(["secret-service/default": ""]).rule(for: BusProgram(executable: nil)) == .deny)
  }

  @Test func `a rule for an interpreter is a problem, whatever its version is called`() {
    for name in [
      "python", "python3.11", "sh", "bash", "perl5.36.0", "node", "ruby3.1", "java", "gjs-console", "lua5.4",
    ] {
      let setting = "secret-service/exe/usr/bin/" + name
      #expect(ProgramRules.problem(with: setting, "allow")?.contains("interpreter") == true, "\(name)")
    }
    #expect(ProgramRules.problem(with: "secret-service/exe/usr/bin/secret-tool", "ask") == nil)
    #expect(ProgramRules.problem(with: "secret-service/label/web", "anything") == nil)
    #expect(ProgramRules.problem(with: "secret-service/default", "yes") != nil)
    #expect(ProgramRules.problem(with: "secret-service/other", "allow") != nil)
  }

  @Test func `the application of a Flatpak is read from its own section`() {
    let text = "[Instance]\nname=wrong\n[Application]\nname=org.example.Mail\nruntime=x\n"
    #expect(BusProgram.Sandbox(in: text) == .flatpak("org.example.Mail"))
    #expect(BusProgram.Sandbox(in: "[Runtime]\nname=org.example.Platform\n") == .flatpak("org.example.Platform"))
    for text in ["", "[Instance]\nname=wrong\n", "[Application]\nname=\n", "[Application]\nname=a\u{1B}b\n"] {
      #expect(BusProgram.Sandbox(in: text) == .unknown, "\(text)")
    }
  }

  /// Runs a process that sees a folder as its whole file system.
  private func inFolder(_ folder: String, _ body: (Int32) throws -> Void) throws {
    let script = "import os, sys; os.chroot(sys.argv[1]); os.write(1, b'ready'); os.close(1); sys.stdin.read()"
    let process = try Program(
      "/usr/bin/unshare", ["--map-root-user", "python3", "-c", script, folder], isQuiet: true)
    defer {
      process.closeInput()
      process.wait()
    }
    try #require(process.readOutput() == "ready")
    try body(process.number)
  }

  private static let canUnshare =
    (try? Program("/usr/bin/unshare", ["--map-root-user", "python3", "-c", "print('yes')"], isQuiet: true))
    .map { program in
      defer { program.wait() }
      return program.readOutput() == "yes\n"
    } ?? false

  @Test(.enabled(if: canUnshare, "no user namespaces here"))
  func `a process in a sandbox is the application that the sandbox's root names, and a strange root names none`() throws
  {
    let folder = NSTemporaryDirectory() + "root-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let file = folder + "/.flatpak-info"
    try inFolder(folder) { process in
      func sandbox() -> BusProgram.Sandbox { BusProgram(process: process, user: getuid()).sandbox }
      #expect(sandbox() == .none)
      try "[Application]\nname=org.example.Mail\n".write(toFile: file, atomically: true, encoding: .utf8)
      #expect(sandbox() == .flatpak("org.example.Mail"))
      // A link into the daemon's own file system, a pipe that nobody writes to, and a file without end.
      let own = folder + "-own"
      try "[Application]\nname=org.example.Own\n".write(toFile: own, atomically: true, encoding: .utf8)
      defer { unlink(own) }
      unlink(file)
      symlink(own, file)
      #expect(sandbox() == .unknown)
      unlink(file)
      mkfifo(file, 0o600)
      #expect(sandbox() == .unknown)
      unlink(file)
      try String(repeating: "x", count: 100_000).write(toFile: file, atomically: true, encoding: .utf8)
      #expect(sandbox() == .unknown)
    }
    #expect(BusProgram.Sandbox(of: getpid()) == .none)
  }

  // MARK: Items

  private func item(_ name: String, _ attributes: [String: String]) -> BusItem {
    BusItem(name: name, label: name, attributes: attributes, contentType: "text/plain", created: nil)
  }

  @Test func `an item is found by some of its attributes, and not by others' values`() {
    let accents = BusItems([item("a", ["k": "jos\u{E9}"])])
    #expect(accents.matching(["k": "jose\u{301}"]).isEmpty && accents.replaced(by: ["k": "jose\u{301}"]) == nil)
    #expect(accents.matching(["k": "jos\u{E9}"]).count == 1)
    let items = BusItems([item("a", ["k": "1", "l": "2"]), item("b", ["k": "1"]), item("c", [:])])
    #expect(Set(items.matching(["k": "1"]).map(\.name)) == ["a", "b"])
    #expect(items.matching(["k": "1", "l": "2"]).map(\.name) == ["a"])
    #expect(items.matching(["k": "2"]).isEmpty && items.matching(["m": "1"]).isEmpty)
    #expect(items.matching([:]).count == 3)
  }

  @Test func `the item with just the same attributes is replaced before one with more, and none without attributes`() {
    let items = BusItems([item("more", ["k": "1", "l": "2"]), item("same", ["k": "1"]), item("none", [:])])
    #expect(items.replaced(by: ["k": "1"])?.name == "same")
    #expect(items.replaced(by: ["l": "2"])?.name == "more")
    #expect(items.replaced(by: [:]) == nil)
  }

  @Test func `changed attributes are found by their new values alone`() {
    var items = BusItems([item("a", ["k": "1"])])
    items.put(item("a", ["k": "2"]))
    #expect(items.matching(["k": "1"]).isEmpty && items.matching(["k": "2"]).count == 1)
    items.remove(item("a", [:]).id)
    #expect(items.matching(["k": "2"]).isEmpty && items.matching([:]).isEmpty)
  }

  @Test func `a name says what the item is, without anything that a name cannot hold`() {
    #expect(BusItem.name(for: "Git: https://example.com/", [:]) == "Git: https:/example.com")
    #expect(BusItem.name(for: " a\u{1B}[31m\n b ", [:]) == "a [31m b")
    #expect(BusItem.name(for: "", ["user": "jo", "service": "mail", "xdg:schema": "x"]) == "service=mail user=jo")
    #expect(BusItem.name(for: "//", ["xdg:schema": "org.example"]) == "org.example")
    #expect(BusItem.name(for: "", [:]) == "secret")
    #expect(BusItem.name(for: "x//kv", [:]) == "x/kv")
    #expect(
      BusItem.name(for: String(repeating: "q\u{327}\u{327}\u{327}\u{327}\u{327}", count: 99), [:]).utf8.count <= 1_000)
    #expect(BusItem.withoutControls("a\u{2028}b") == "a b")
    #expect(BusItem.name(for: String(repeating: "ä", count: 5_000), [:]).count == 100)
  }

  @Test func `a name that is taken gets a number`() {
    var items = BusItems([item("a", [:]), item("a 2", [:])])
    #expect(items.freeName("a") == "a 3")
    #expect(items.freeName("b") == "b")
    items.release("b")
    #expect(items.freeName("b") == "b")
  }

  @Test func `text keeps its kind, and bytes that are no text stay bytes`() {
    #expect(BusItem.kind(of: Array("text".utf8), "text/plain") == .string)
    #expect(BusItem.kind(of: [0xFF], "text/plain") == .bytes)
    #expect(BusItem.kind(of: Array("text".utf8), "application/octet-stream") == .bytes)
  }

  @Test func `the path of an item says nothing about it`() {
    let one = BusItem.id(of: "mail/jo", in: "group")
    #expect(one.count == 33 && one.allSatisfy { $0.isHexDigit || $0 == "i" })
    #expect(one != BusItem.id(of: "mail/jo", in: "another") && one != BusItem.id(of: "mail/ann", in: "group"))
    #expect(one == BusItem.id(of: "mail/jo", in: "group"))
    // Whoever guesses the name cannot find out that it is this item.
    #expect(one.dropFirst() != digits(SHA256.digest(Array("group\0mail/jo".utf8)).prefix(16)))
  }

  @Test func `where nobody can be asked, the answer is no`() async {
    // As the daemon does: a program may end without reading what it is told.
    signal(SIGPIPE, SIG_IGN)
    #expect(await Asking().confirm("?") == false)
    #expect(await Asking(pinentry: "/nonexistent").confirm("?") == false)
    #expect(await Asking(pinentry: "/bin/false").confirm("?") == false)
    #expect(await Asking(pinentry: "/bin/cat").passphrase("?") == nil)
  }

  @Test func `the log says once why nobody can be asked, and nothing of a no`() async throws {
    signal(SIGPIPE, SIG_IGN)
    let folder = NSTemporaryDirectory() + "asking-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (log, pinentry) = (Lines(), folder + "/pinentry")
    func asking(_ pinentry: String?) -> Asking {
      Asking(pinentry: pinentry, logger: Logger(label: "test") { _ in LineHandler(lines: log) })
    }
    try await RunningDaemon.writePinentry(saying: "ERR 83886179 cancelled", to: pinentry)
    #expect(await asking(pinentry).confirm("?", program: "/usr/bin/mail") == false)
    #expect(log.all.isEmpty)
    let failing = asking(pinentry)
    try await RunningDaemon.writePinentry(saying: "ERR 83918950 Inappropriate ioctl for device", to: pinentry)
    for _ in 0..<2 { #expect(await failing.confirm("?", program: "/usr/bin/mail") == false) }
    #expect(log.all.count == 1)
    #expect(log.all.first?.contains("ERR 83918950 Inappropriate ioctl for device") == true)
    #expect(log.all.first?.contains("/usr/bin/mail") == true)
    _ = await asking(nil).confirm("?")
    _ = await asking("/nonexistent").passphrase("?")
    #expect(log.all.count == 3)
  }

  @Test func `the display of a desktop that began after the daemon is the one that the service manager knows`()
    async throws
  {
    signal(SIGPIPE, SIG_IGN)
    let folder = NSTemporaryDirectory() + "asking-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await RunningDaemon.writeProgram("#!/bin/sh\ncat \"$0.told\"\n", to: folder + "/systemctl")
    try await RunningDaemon.writePinentry(
      saying: ">/dev/null; echo \"$DISPLAY $WAYLAND_DISPLAY\" >$0.display; echo OK", to: folder + "/pinentry")
    func tell(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: folder + "/systemctl.told")) }
    let asking = Asking(named: folder + "/pinentry", environment: ["PATH": folder])
    try tell("HOME=/h\nDISPLAY=:7\nWAYLAND_DISPLAY=wayland-7\nPATH=/x\n")
    #expect(await asking.confirm("?"))
    #expect(try String(contentsOfFile: folder + "/pinentry.display", encoding: .utf8) == ":7 wayland-7\n")
  }

  @Test func `what is typed for another program on the terminal is no answer`() async {
    var ends: (Int32, Int32) = (-1, -1)
    var name = [CChar](repeating: 0, count: 128)
    guard openpty(&ends.0, &ends.1, &name, nil, nil) == 0 else { return }
    defer { for end in [ends.0, ends.1] { close(end) } }
    #expect(write(ends.0, "y\n", 2) == 2)
    // It is not this process's terminal, as one whose shell has put this process into the background.
    let terminal = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(await Asking(terminal: terminal).confirm("?") == false)
    #expect(await Asking(terminal: terminal).passphrase("?") == nil)
  }

  @Test func `a path leads to its object, and any other one to none`() {
    #expect(BusObject(path: "/org/freedesktop/secrets") == .service)
    #expect(BusObject(path: "/org/freedesktop/secrets/collection/a/b") == .item(collection: "a", "b"))
    #expect(BusObject(path: "/org/freedesktop/secrets/aliases/default") == .alias("default"))
    for path in [
      "/org/freedesktop/secretsx", "/x", "/org/freedesktop/secrets/collection/a/b/c", "/org/freedesktop/secrets/x/y",
    ] {
      #expect(BusObject(path: path) == nil, "\(path)")
    }
    #expect(BusCollection(group: "team.shared").id == "team_2eshared")
    #expect(BusCollection(group: "session").id != BusCollection(group: nil).id)
  }

  @Test func `the groups of the Secret Service are named, and are not the store's own`() throws {
    func groups(_ text: String) throws -> [String] {
      try Configuration(
        arguments: ["--secret-service", text, "--socket", "/s"], environment: ["HOME": "/h"], user: 1_000
      ).secretService
    }
    #expect(try groups("desktop,work") == ["desktop", "work"])
    for text in [",", "vault.service", "a,a", "a/b"] {
      #expect(throws: Configuration.Problem.noGroups) { try groups(text) }
    }
  }
}
