import Glibc
import TestSupport
import Testing

@testable import VaultCommands

/// What the user's own bash makes of a line when Tab is pressed. Other writers of a group choose the names in it, so no name may
/// close the quotes around it.
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

  /// - Returns: the arguments with which the line called `vault`, each in brackets.
  private func arguments(_ line: String) -> String {
    var environment = store.environment
    environment["PATH"] =
      Executable.path.prefix(through: Executable.path.lastIndex(of: "/")!).dropLast() + ":/usr/bin:/bin"
    environment["LC_ALL"] = "C.UTF-8"
    // An incomplete line makes the shell exit without a message.
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
    // Readline echoes typed characters itself.
    #expect(eventually { !terminal.showsWhatIsTyped })
    terminal.type(line + "\r")
    _ = bash.wait()
    #expect(!store.folder.exists("pwned"), "\(line)")
    return String(decoding: store.folder.read("arguments"), as: UTF8.self)
  }

  @Test(arguments: names) func `a completed name is one word, whatever it contains`(
    _ name: String
  ) {
    let start = String(name.prefix(2))
    #expect(arguments("vault get \(start)\t") == "[\(name)]")
    for (quote, unfit) in [("\"", "\"!"), ("'", "'")] {
      // A name that does not fit into the open quotes is not offered, and the quotes stay open.
      if name.contains(where: unfit.contains) {
        #expect(arguments("vault get \(quote)\(start)\t\(quote)") == "[\(start)]", "\(quote)")
      } else {
        #expect(arguments("vault get \(quote)\(start)\t") == "[\(name)]", "\(quote)")
      }
    }
  }

  @Test(arguments: [
    // M-* replaces the word, but not its opening quote, by all candidates.
    ("vault get \"n7\u{1B}*\"", "[n7]"), ("vault get n7\u{1B}*", "[n7;touch pwned]"),
    ("vault get \"n0\u{1B}m", "[n0$(touch pwned)b]"),
    // Readline takes the second quote of $'…' for its end.
    (#"vault get $'it\'s' "n7"# + "\t\"", "[it's][n7]"),
    ("vault get n\"7\t\"", "[n7]"), ("vault get \"\"n7\t", "[n7]"), ("vault get \"n7\"\t", "[n7]"),
    // The cursor is before the end of the typed word.
    ("vault get \"n7xy\"\u{2}\u{2}\u{2}\t\u{5}", "[n7;touch pwnedxy]"),
    ("vault get n8:\t", "[n8:$(touch pwned)]"), (#"vault get "n4\\"# + "\t", #"[n4\$(touch pwned)\]"#),
    (#"vault get n4\\"# + "\t", #"[n4\$(touch pwned)\]"#),
  ])
  func `no completed line lets a name escape from its quotes`(
    _ line: String, _ expected: String
  ) {
    #expect(arguments(line) == expected)
  }
}
