import Glibc
import Testing

@testable import VaultCommands

/// The completion scripts in their shells, and the manual pages in their reader.
@Suite struct ShellTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    for name in ["db/password", "my secret", "a:b c", "a:bd", "it's", "größe/鍵"] { store.run("set", name, input: "x") }
  }

  private func shell(_ program: String, _ script: String) -> Executable.Result {
    var environment = store.environment
    environment["vault"] = Executable.path
    environment["PATH"] =
      Executable.path.prefix(through: Executable.path.lastIndex(of: "/")!).dropLast() + ":/usr/bin:/bin"
    environment["LC_ALL"] = "C.UTF-8"
    return Executable(["-c", script], program: program, environment: environment).wait()
  }

  @Test(arguments: [
    ("vault ge", ["vault", "ge"], "[get][generate]"), ("vault get my", ["vault", "get", "my"], #"[my\ secret]"#),
    (#"vault get my\ "#, ["vault", "get", #"my\ "#], #"[my\ secret]"#),
    (#"vault get "my"#, ["vault", "get", #""my"#], "[my secret]"),
    ("vault get a:", ["vault", "get", "a", ":"], #"[b\ c][bd]"#),
    ("vault get a:b", ["vault", "get", "a", ":", "b"], #"[b\ c][bd]"#),
    ("vault get it", ["vault", "get", "it"], #"[it\'s]"#), ("vault get gr", ["vault", "get", "gr"], "[größe/鍵]"),
    ("vault get absent", ["vault", "get", "absent"], "[]"),
  ])
  func `bash completion gives words that bash reads back unchanged`(
    _ line: String, _ words: [String], _ expected: String
  ) {
    let quoted = words.map { "'" + $0.replacing("'", with: #"'\''"#) + "'" }.joined(separator: " ")
    // Readline completes only the part after a quote or a colon.
    let completed = words.last!.drop { $0 == "\"" || $0 == ":" }
    let result = shell(
      "/bin/bash",
      """
      source <("$vault" completions bash)
      COMP_LINE='\(line.replacing("'", with: #"'\''"#))' COMP_WORDS=(\(quoted)) COMP_CWORD=\(words.count - 1)
      COMP_POINT=${#COMP_LINE}
      _vault_complete vault '\(completed)'
      printf '[%s]' "${COMPREPLY[@]}"
      """)
    #expect(result.output == expected)
    #expect(result.errors.isEmpty)
  }

  @Test(.enabled(if: Executable.isThere("/usr/bin/zsh"), "needs zsh")) func `zsh completes a name with its script`() {
    let result = shell(
      "/usr/bin/zsh",
      """
      compadd() { print -rl -- "${(@P)2}" }
      compdef() { }
      source <("$vault" completions zsh)
      words=(vault get 'my\\ ') CURRENT=3
      _vault_complete
      """)
    #expect(result.output == "my secret\n")
    #expect(result.errors.isEmpty)
  }

  @Test(.enabled(if: Executable.isThere("/usr/bin/fish"), "needs fish")) func `fish completes a typed line`() {
    let result = shell(
      "/usr/bin/fish", "$vault completions fish | source; complete -C 'vault get my'; complete -C 'vault get a:b'")
    #expect(result.output == "my secret\na:b c\na:bd\n")
    #expect(result.errors.isEmpty)
  }

  @Test(.enabled(if: Executable.isThere("/usr/bin/mandoc"), "needs mandoc"))
  func `every command has a manual page without formatting errors`() {
    let result = shell(
      "/bin/sh",
      """
      set -e
      folder=$(mktemp -d)
      "$vault" manual "$folder"
      mandoc -T lint -W error "$folder"/*.1 >&2
      ls "$folder"
      mandoc -T ascii "$folder/vault.1" | col -b
      rm -r "$folder"
      """)
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    for command in NamedCommand.leaves {
      #expect(result.output.contains(command.path.replacing(" ", with: "-") + ".1\n"))
    }
    #expect(result.output.contains("EXIT STATUSES") && result.output.contains("VAULT_KEY_FILE"))
    #expect(!result.output.contains("vault-complete.1"))
  }
}

extension Executable {
  static func isThere(_ path: String) -> Bool { unsafe access(path, X_OK) == 0 }
}
