import Glibc
import Testing

@testable import VaultCommands

/// Modes and kinds of the files that a command relies on. A file that is not as required is refused with the reason.
@Suite struct ModeTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    try #require(store.execute("set", "a", input: "value").status == 0)
  }

  /// A changed file or folder of the store, and the error of `get`.
  private struct Case: CustomTestStringConvertible {
    let change: String
    let status: Int32
    let words: String

    var testDescription: String { change }
  }

  private static let cases: [Case] = [
    Case(change: "chmod 640 key", status: 11, words: "/key' is open to other users (mode 640)"),
    Case(change: "chmod 604 key", status: 11, words: "/key' is open to other users (mode 604)"),
    Case(change: "rm key", status: 11, words: "/key' does not exist"),
    Case(change: "mv key real; ln -s real key", status: 11, words: "/key' is a symbolic link"),
    Case(change: "rm key; mkfifo key", status: 11, words: "/key' is not the kind of file"),
    Case(change: "rm key; mkdir key", status: 11, words: "/key' is not the kind of file"),
    Case(change: ": >key", status: 11, words: "/key' has the wrong size"),
    Case(change: "printf x >>key", status: 11, words: "/key' has the wrong size"),
    Case(change: "head -c 32 /dev/urandom >key", status: 16, words: "wrong key file"),
    Case(
      change: "chmod 620 store/identity/identity", status: 12, words: "the identity is open to other users (mode 620)"),
    Case(change: "chmod 730 store/identity", status: 12, words: "the identity is open to other users (mode 730)"),
    Case(change: ": >store/identity/identity", status: 13, words: "damaged or altered (identity: "),
    Case(change: "cp key store/identity/identity", status: 13, words: "damaged or altered (identity: "),
    Case(change: "cd store/identity; mv identity i; ln -s i identity", status: 13, words: "it is a symbolic link"),
    Case(change: "rm store/identity/identity; mkfifo store/identity/identity", status: 13, words: "(identity: "),
    Case(change: "rm store/identity/identity", status: 13, words: "(identity: the store lacks it, but has groups)"),
    Case(change: "rm -r store", status: 21, words: "no store at '"),
    Case(change: "rm -r store; mkdir -m 700 store", status: 21, words: "no store at '"),
    Case(change: "rm -r store; cp key store", status: 13, words: "(store: it is not the kind of file or folder"),
    Case(change: "chmod 777 store", status: 12, words: "the store is open to other users (mode 777)"),
    Case(
      change: "chmod 775 store/groups/default", status: 12,
      words: "the group's folder is open to other users (mode 775)"),
    Case(
      change: "chmod 770 store/groups/default", status: 12,
      words: "the group's folder is open to other users (mode 770)"),
    Case(
      change: "chmod 644 store/groups/default/group.vault", status: 12,
      words: "the group's file is open to other users (mode 644)"),
    Case(
      change: "chmod 660 store/groups/default/group.vault-wal", status: 12,
      words: "the group's file is open to other users (mode 660)"),
    Case(change: "chmod 777 state", status: 11, words: "the state folder is open to other users (mode 777)"),
    Case(change: "rm -r state; cp key state", status: 11, words: "none was named"),
    Case(
      change: "rm -r store/groups/default", status: 14,
      words: "'default' was last seen at epoch 2, and its file is gone"),
    Case(
      change: ": >store/groups/default/group.vault", status: 13,
      words: "'default' is damaged or was altered (container: "),
    Case(change: "cp key store/groups/default/group.vault", status: 13, words: "(container: "),
    Case(
      change: "cd store/groups/default; mv group.vault g; mkfifo -m 600 group.vault", status: 13,
      words: "(container: the group file is not a regular file)"),
    Case(
      change: "cd store/groups/default; mv group.vault g; ln -s g group.vault", status: 13,
      words: "(container: the group file is not a regular file)"),
    Case(
      change: "cp key store/groups/default/group.vault-journal", status: 13,
      words: "(container: a journal lies beside the group file)"),
  ]

  @Test(arguments: cases.indices) func `a file with a wrong kind, mode or owner is refused with the reason`(number: Int)
  {
    let wrong = Self.cases[number]
    #expect(store.shell("cd \"$folder\"; \(wrong.change)").status == 0)
    let result = store.attempt(["get", "a"])
    #expect(result.status == wrong.status, "\(wrong.change): \(result.errors)")
    #expect(result.errors.contains(wrong.words), "\(wrong.change): \(result.errors)")
    #expect(result.output.isEmpty)
    let set = store.attempt(["set", "a"], input: "new")
    #expect(set.status == wrong.status, "\(wrong.change): \(set.errors)")
  }

  @Test func `a store that everybody can read is read and not written`() {
    let result = store.shell(
      """
      cd "$folder"; chmod -R go=rX store; "$vault" get a >/dev/null && "$vault" verify >/dev/null && echo read
      echo new | "$vault" set a; echo $?; "$vault" group share default --private && echo new | "$vault" set a && "$vault" get a
      """)
    #expect(result.output == "read\n12\nnew", "\(result.errors)")
    #expect(
      result.errors.contains(
        "the group's file is open to other users (mode 644)\nvault: hint: if that was not intended: vault group share NAME --private"
      ))
  }

  @Test func `an identity that everybody can read is refused if a passphrase could be guessed from it`() {
    let result = store.shell(
      """
      cd "$folder"; echo 'correct horse battery' >new; "$vault" slot add passphrase --new-passphrase-fd 3 3<new 2>/dev/null
      chmod -R go=rX store; "$vault" get a; echo $?
      """)
    #expect(result.output == "12\n", "\(result.errors)")
    #expect(result.errors.contains("the identity is open to other users (mode 755)"), "\(result.errors)")
  }

  @Test(arguments: ["000", "177", "777"])
  func `new files are accessible to their user alone, whatever the umask`(mask: String) {
    let result = store.shell(
      """
      cd "$folder"; export VAULT_HOME="$folder/new" VAULT_STATE="$folder/new-state"; umask \(mask)
      "$vault" init --key-file new-key 2>/dev/null && echo x | "$vault" set a && "$vault" group create g &&
      "$vault" get a --output out && "$vault" app issue web -g g:read --output web 2>/dev/null &&
      "$vault" backup copy >/dev/null && "$vault" export --output all && "$vault" group rotate g >/dev/null &&
      "$vault" revoke g web 2>/dev/null && "$vault" restore-backup copy --replace >/dev/null 2>&1
      find new new-state new-key out web copy all -printf '%y%m\\n' | sort | uniq
      """)
    #expect(result.output == "d700\nf600\n", "\(result.errors)")
  }

  @Test func `a value can be read from a link or a FIFO, and is written to neither`() {
    let result = store.shell(
      """
      cd "$folder"; printf 'from a file\\n' >plain; ln -s plain link; mkfifo fifo; echo untouched >target; ln -s target out
      "$vault" set a --file link && "$vault" get a
      printf 'from a FIFO' >fifo & "$vault" set a --file fifo && "$vault" get a; echo
      for path in out fifo . /dev/null /dev/stdout; do "$vault" get a --output $path 2>/dev/null; echo "$path: $?"; done
      for path in absent/out "" /; do "$vault" get a --output "$path" 2>/dev/null; echo "'$path': $?"; done
      "$vault" set a --file absent 2>/dev/null; echo $?; "$vault" set a --file . 2>/dev/null; echo $?; cat target; ls -A
      """)
    #expect(
      result.output == """
        from a file
        from a FIFO
        out: 12
        fifo: 12
        .: 12
        /dev/null: 12
        /dev/stdout: 12
        'absent/out': 64
        '': 64
        '/': 12
        64
        64
        untouched
        fifo
        key
        link
        out
        plain
        state
        store
        target

        """, "\(result.errors)")
  }
}
