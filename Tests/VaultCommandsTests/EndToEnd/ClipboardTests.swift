import Authenticators
import Synchronization
import TestSupport
import Testing
import Vault

@testable import VaultCommands

/// Tests `get --clip` with tools that keep the clipboard in a file.
@Suite struct ClipboardTests {
  private let store: TestStore
  /// A wait of about an hour, by which the processes of this test are known: only root may look at the environment of a
  /// hardened process.
  private let seconds: Int
  private static let first = Int.random(in: 0..<600)
  private static let counter = Atomic(0)

  init() throws {
    let number = ClipboardTests.counter.add(1, ordering: .relaxed).newValue
    seconds = 3_000 + (ClipboardTests.first + number) % 600
    store = try TestStore()
    store.run("set", "a", input: "s3cret")
    store.environment["PATH"] = "\(store.folder.path)/bin:\(Machine.path)"
    store.environment["CLIPBOARD"] = store.folder.file("clipboard")
    let made = store.shell(
      #"""
      mkdir "$folder/bin" && cd "$folder/bin"
      printf '%s\n' '#!/bin/sh' 'case $1 in --sensitive) [ -z "$OLD" ] || exit 1;; --clear) exec rm "$CLIPBOARD";; esac' \
        'exec cat >"$CLIPBOARD"' >wl-copy
      printf '%s\n' '#!/bin/sh' 'exec cat "$CLIPBOARD"' >wl-paste
      printf '%s\n' '#!/bin/sh' 'case $3 in -out) exec cat "$CLIPBOARD";; esac' 'exec cat >"$CLIPBOARD"' >xclip
      chmod 755 *
      """#)
    try #require(made.status == 0, "\(made.errors)")
  }

  private var clipboard: String { String(decoding: store.folder.read("clipboard"), as: UTF8.self) }

  /// Ends the processes that this test left waiting for an hour.
  private func endWaiting() {
    store.shell(
      #"""
      for process in /proc/[0-9]*; do
        tr '\0' ' ' <$process/cmdline 2>/dev/null | grep -q '^vault clear-clipboard [a-z0-9]* \#(seconds) $' || continue
        kill -TERM ${process#/proc/}
      done
      """#)
  }

  /// The digest that the background process gets.
  private func digest(of value: String) -> [UInt8] {
    let salt = [UInt8](repeating: 7, count: 16)
    return unsafe Array(value.utf8).withUnsafeBytes { unsafe salt + Array(Fingerprint.of($0, salt: salt).utf8) }
  }

  @Test(arguments: ["WAYLAND_DISPLAY", "DISPLAY"])
  func `a value is copied, and cleared after its time`(display: String) {
    store.environment[display] = "display-of-a-test"
    let copied = store.execute("get", "a", "--clip=1s")
    #expect(copied.status == 0 && copied.output.isEmpty)
    #expect(copied.errors.hasPrefix("copied; the clipboard is cleared in 1s\n"))
    #expect(copied.errors.contains("cannot mark it as a password") == (display == "DISPLAY"))
    #expect(eventually { !store.folder.exists("clipboard") || clipboard.isEmpty })
  }

  @Test func `an older tool cannot mark the value, and the command says so`() {
    defer { endWaiting() }
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    store.environment["OLD"] = "1"
    let copied = store.execute("get", "a", "--clip=\(seconds)s")
    #expect(copied.status == 0 && copied.errors.contains("wl-copy cannot mark it as a password"))
    #expect(clipboard == "s3cret")
  }

  @Test func `text that the user copied meanwhile stays`() {
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    for (held, isCleared) in [("another", false), ("s3cret", true)] {
      _ = store.folder.write("clipboard", Array(held.utf8))
      // Does the work of the background process, but without the wait.
      #expect(store.execute(["clear-clipboard", "wayland", "0"], input: digest(of: "s3cret")).status == 0)
      #expect(store.folder.exists("clipboard") != isCleared)
    }
  }

  @Test func `the background process does not contain the value`() throws {
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    store.run("set", "marked", input: "S3CR3T-MARK")
    #expect(store.execute("get", "marked", "--clip=\(seconds)s").status == 0)
    let looked = store.shell(
      #"""
      for process in /proc/[0-9]*; do
        [ "$(tr '\0' ' ' <$process/cmdline)" = "vault clear-clipboard wayland \#(seconds) " ] || continue
        cat $process/cmdline $process/environ $process/fd/0 2>/dev/null | grep -ac S3CR3T-MARK
        grep 'Max core file size' $process/limits | awk '{ print $5, $6 }'
        kill -TERM ${process#/proc/}
      done
      """#)
    #expect(looked.output == "0\n0 0\n")
    // A signal that ends the process makes it clear the clipboard at once.
    #expect(eventually { !store.folder.exists("clipboard") })
  }

  @Test(arguments: ["TERM", "HUP"])
  func `a signal before the background process is ready clears the clipboard, a closed terminal does not`(
    signal: String
  ) {
    defer { endWaiting() }
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    // The background process leaves this group of processes only once it is ready.
    let copied = store.shell(
      #"""
      PATH=$folder/bin:$PATH
      setsid sh -c 'trap : \#(signal); "$vault" get a --clip=\#(seconds)s; kill -\#(signal) 0'
      for process in /proc/[0-9]*; do
        [ "$(tr '\0' ' ' <$process/cmdline)" = "vault clear-clipboard wayland \#(seconds) " ] || continue
        # It leads a session of its own, and no signal is pending: it is ready.
        for try in $(seq 1000); do
          [ "$(cut -d ' ' -f 6 $process/stat)" != ${process#/proc/} ] || ! grep -q '^ShdPnd:\s*0*$' $process/status || break
          sleep 0.05
        done
        cat "$folder/clipboard"
      done 2>/dev/null
      """#)
    #expect(copied.errors.contains("the clipboard is cleared in"))
    if signal == "HUP" { #expect(copied.output == "s3cret") }
    // A process that was ready, and had left the group, before the signal came did not get it.
    endWaiting()
    #expect(eventually { !store.folder.exists("clipboard") })
  }

  @Test func `without a desktop the terminal gets the value, and its clipboard is overwritten later`() {
    let terminal = PseudoTerminal()
    // A shell keeps the terminal open, which is hung up when its first process ends.
    let shell = Executable(
      ["-c", #""$vault" get a --clip=1s; read line"#], program: "/bin/sh",
      environment: store.scriptEnvironment.merging(["TERM": "xterm"]) { $1 }, terminal: terminal)
    #expect(terminal.waitUntilShown("\u{1B}]52;c;IA==\u{7}"))
    #expect(terminal.shown().contains("\u{1B}]52;c;czNjcmV0\u{7}"))
    terminal.type("\n")
    #expect(shell.wait().errors.contains("cannot be read, so it will be cleared"))
  }

  @Test func `GNU screen gets the sequence for the terminal in several pieces`() {
    defer { endWaiting() }
    store.run("set", "long", input: String(repeating: "x", count: 300))
    let terminal = PseudoTerminal()
    let environment = store.environment.merging(["TERM": "screen", "STY": "1.test"]) { $1 }
    #expect(
      Executable(["get", "long", "--clip=\(seconds)s"], environment: environment, terminal: terminal).wait().status == 0
    )
    let pieces = terminal.shown().split(separator: "\u{1B}\\")
    #expect(pieces.count == 2 && pieces.allSatisfy { $0.hasPrefix("\u{1B}P") && $0.utf8.count <= 252 })
  }

  @Test(arguments: [
    ["--clip=2h"], ["-c2h"], ["--clip=1s", "--json"], ["--clip=x"], ["b", "--clip"], ["--clip", "--qr"],
  ])
  func `contradictory or invalid options are refused`(options: [String]) {
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    #expect(store.execute(["get", "a"] + options, input: []).status == 64)
    #expect(!store.folder.exists("clipboard"))
  }

  @Test func `bytes are refused; without a clipboard the error says so`() {
    for option in ["--clip", "-c"] {
      #expect(store.execute("get", "a", option).errors.contains("there is no clipboard here"))
    }
    store.environment["WAYLAND_DISPLAY"] = "display-of-a-test"
    _ = store.execute(["set", "bytes"], input: [0xFF, 0x00])
    #expect(store.execute("get", "bytes", "--clip").status == 64)
    #expect(!store.folder.exists("clipboard"))
  }
}
