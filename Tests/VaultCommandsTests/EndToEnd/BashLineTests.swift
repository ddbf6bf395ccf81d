import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// What a person's own bash makes of a line in which Tab is pressed. Names come from whoever writes to a group, so that none of
/// them may end what it is quoted with.
@Suite struct BashLineTests {
  private let store: TestStore
  private static let names = [
    "n0$(touch pwned)b", "n1'; touch pwned #", "n2`touch pwned`", "n3\"; touch pwned #\"", "n4\\$(touch pwned)\\",
    "n5!!", "n6 two words", "n7;touch pwned", "n8:$(touch pwned)", "n9'", "na\"",
  ]

  init() throws {
    store = try TestStore()
    for name in Self.names { store.run("set", "--field", "", "--", name, input: "x") }
  }

  /// - Returns: the arguments that the line's `vault` was called with, each in brackets.
  private func arguments(_ line: String) -> String {
    var environment = store.environment
    environment["PATH"] =
      Executable.path.prefix(through: Executable.path.lastIndex(of: "/")!).dropLast() + ":/usr/bin:/bin"
    environment["LC_ALL"] = "C.UTF-8"
    // A line that is not complete ends the shell by itself, with nothing told.
    let settings = store.folder.write(
      "bashrc",
      Array(
        """
        source <(command vault completions bash)
        vault() { printf '[%s]' "${@:2}" >arguments; exit; }
        cd '\(store.folder.path)'
        rm -f arguments
        set -o history -o histexpand
        bind '"\\em": menu-complete'
        TMOUT=180

        """.utf8))
    let terminal = PseudoTerminal()
    let bash = Executable(
      ["--noprofile", "--rcfile", settings, "-i"], program: "/bin/bash", environment: environment, terminal: terminal)
    // Readline shows what is typed itself.
    #expect(eventually { !terminal.showsWhatIsTyped })
    terminal.type(line + "\r")
    _ = bash.wait()
    #expect(!store.folder.exists("pwned"), "\(line)")
    return String(decoding: store.folder.read("arguments"), as: UTF8.self)
  }

  @Test(arguments: names) func `a name is one word, whatever it holds and whatever quote is open`(_ name: String) {
    let start = String(name.prefix(2))
    #expect(arguments("vault get \(start)\t") == "[\(name)]")
    for (quote, unfit) in [("\"", "\"!"), ("'", "'")] {
      // What the quote cannot hold is not offered, and the quote is still open.
      if name.contains(where: unfit.contains) {
        #expect(arguments("vault get \(quote)\(start)\t\(quote)") == "[\(start)]", "\(quote)")
      } else {
        #expect(arguments("vault get \(quote)\(start)\t") == "[\(name)]", "\(quote)")
      }
    }
  }

  @Test(arguments: [
    // M-* puts all candidates in place of the word, without its quote.
    ("vault get \"n7\u{1B}*\"", "[n7]"), ("vault get n7\u{1B}*", "[n7;touch pwned]"),
    ("vault get \"n0\u{1B}m", "[n0$(touch pwned)b]"),
    // Readline takes the second quote of $'…' for the end.
    (#"vault get $'it\'s' "n7"# + "\t\"", "[it's][n7]"),
    ("vault get n\"7\t\"", "[n7]"), ("vault get \"\"n7\t", "[n7]"), ("vault get \"n7\"\t", "[n7]"),
    // The cursor stands before what has been typed.
    ("vault get \"n7xy\"\u{2}\u{2}\u{2}\t\u{5}", "[n7;touch pwnedxy]"),
    ("vault get n8:\t", "[n8:$(touch pwned)]"), (#"vault get "n4\\"# + "\t", #"[n4\$(touch pwned)\]"#),
    (#"vault get n4\\"# + "\t", #"[n4\$(touch pwned)\]"#),
  ])
  func `no other way to complete, and no odd word, lets a name out of its quotes`(_ line: String, _ expected: String) {
    #expect(arguments(line) == expected)
  }
}
