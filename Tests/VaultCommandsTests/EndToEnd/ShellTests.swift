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
    ("vault read vault:///my", ["vault", "read", "vault", ":", "///my"], "[///my%20secret]"),
    (
      "vault run --set A=vault:///my", ["vault", "run", "--set", "A", "=", "vault", ":", "///my"], "[///my%20secret]"
    ),
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

  private static let isZshThere = Executable.isThere("/usr/bin/zsh")

  @Test(
    .enabled(if: isZshThere, "needs zsh"),
    arguments: [
      ("", #"my\ "#, "my secret"), ("'", "my ", "my secret"), ("\"", "my s", "my secret"), ("'", "it", "it's"),
      ("", "--group=d", "--group=default"),
    ])
  func `zsh completes a name with its script, within an open quote, too`(
    _ quote: String, _ typed: String, _ expected: String
  ) {
    let result = shell(
      "/usr/bin/zsh",
      """
      compadd() { print -rl -- "${(@P)2}" }
      compdef() { }
      source <("$vault" completions zsh)
      IFS= read -r QIPREFIX <<'END'
      \(quote)
      END
      IFS= read -r PREFIX <<'END'
      \(typed)
      END
      words=(vault get "$QIPREFIX$PREFIX") CURRENT=3
      _vault_complete
      """)
    #expect(result.output == expected + "\n")
    #expect(result.errors.isEmpty)
  }

  @Test(.enabled(if: Executable.isThere("/usr/bin/fish"), "needs fish")) func `fish completes a typed line`() {
    let result = shell(
      "/usr/bin/fish",
      "$vault completions fish | source; for line in 'get my' 'get a:b' 'get \"my s' 'get --group=d'"
        + " 'read vault:///my' 'run --set A=vault:///my'; complete -C \"vault $line\"; end"
    )
    #expect(
      result.output
        == "my secret\na:b c\na:bd\nmy secret\n--group=default\nvault:///my%20secret\nA=vault:///my%20secret\n")
    #expect(result.errors.isEmpty)
  }

  @Test(arguments: ["bash", "fish"]) func `a file with a space in its name is completed, after an option's =, too`(
    _ name: String
  ) throws {
    let program = name == "bash" ? "/bin/bash" : "/usr/bin/fish"
    guard Executable.isThere(program) else { return }
    _ = store.folder.write("my file", [])
    let script =
      name == "bash"
      ? #"""
      source <("$vault" completions bash)
      compopt() { :; }
      complete_line() {
        COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=("${@:3}") COMP_CWORD=$(($# - 3))
        _vault_complete vault "$2"
        printf '%s\n' "${COMPREPLY[@]}"
      }
      complete_line 'vault get x --output my\ ' 'my\ ' vault get x --output 'my\ '
      complete_line 'vault get x --output=my' my vault get x --output = my
      """#
      : #"""
      $vault completions fish | source
      complete -C 'vault get x --output my\ '
      complete -C 'vault get x --output "my '
      complete -C 'vault get x --output=my'
      """#
    let result = shell(program, "cd '\(store.folder.path)'\n" + script)
    let expected = name == "bash" ? "my file\nmy file\n" : "my file\nmy file\n--output=my file\n"
    #expect(result.output == expected)
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
