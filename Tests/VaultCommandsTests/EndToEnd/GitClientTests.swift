import Glibc
import Testing

@testable import VaultCommands

/// The real git with our helper. When the helper knows no answer, git asks its user.
@Suite(.needsClients) struct GitClientTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    store.linkHelpers()
    _ = store.folder.write(
      ".gitconfig",
      Array(
        "[credential]\nhelper = vault\n[user]\nname = Ann\nemail = ann@example.com\n[init]\ndefaultBranch = main\n".utf8
      ))
    // Git writes its question to stderr and gets an answer.
    _ = store.folder.write(
      "ask",
      Array("#!/bin/sh\necho \"asked: $1\" >&2\ncase $1 in U*) echo asked-user ;; *) echo asked-pass ;; esac\n".utf8),
      mode: 0o700)
    store.environment["GIT_ASKPASS"] = store.folder.file("ask")
  }

  private func git(_ operation: String, _ lines: String...) -> Executable.Result {
    store.client("git credential \(operation)", input: lines.joined(separator: "\n") + "\n")
  }

  /// The login that git finds without asking its user; nil if it asked.
  private func known(_ lines: String...) -> String? {
    let result = git("fill", lines.joined(separator: "\n"))
    #expect(result.status == 0, "\(result)")
    if result.errors.contains("asked: ") { return nil }
    #expect(result.errors.isEmpty)
    return result.output
  }

  @Test func `git gets an approved login back only for the same protocol, host and user`() {
    #expect(known("protocol=https", "host=example.com") == nil)
    #expect(git("approve", "protocol=https\nhost=example.com\nusername=ann\npassword=secret").status == 0)
    let whole = "protocol=https\nhost=example.com\nusername=ann\npassword=secret\n"
    #expect(known("protocol=https", "host=example.com") == whole)
    #expect(known("url=https://example.com") == whole)
    #expect(known("url=https://ann@example.com/any/repository.git") == whole)
    for other in ["http://example.com", "https://other.example", "https://bob@example.com", "https://example.com:8443"]
    {
      #expect(known("url=\(other)") == nil)
    }
  }

  @Test func `each of several users has their own password, and rejecting one keeps the others`() {
    for user in ["ann", "bob"] { _ = git("approve", "url=https://example.com\nusername=\(user)\npassword=of \(user)") }
    #expect(known("url=https://ann@example.com")?.contains("password=of ann\n") == true)
    #expect(known("url=https://bob@example.com")?.contains("password=of bob\n") == true)
    _ = git("reject", "url=https://ann@example.com")
    #expect(known("url=https://ann@example.com") == nil)
    #expect(known("url=https://bob@example.com")?.contains("password=of bob\n") == true)
    _ = git("approve", "url=https://ann@example.com\npassword=x")
    _ = git("reject", "url=https://example.com")
    #expect(known("url=https://example.com") == nil)
  }

  @Test func `rejecting a password removes no other login, and a new password replaces the old one`() {
    _ = git("approve", "url=https://ann@example.com\npassword=first")
    _ = git("reject", "url=https://ann@example.com\npassword=mistyped")
    #expect(known("url=https://ann@example.com")?.contains("password=first\n") == true)
    _ = git("approve", "url=https://ann@example.com\npassword=second")
    #expect(known("url=https://ann@example.com")?.contains("password=second\n") == true)
    _ = git("reject", "url=https://ann@example.com\npassword=first")
    #expect(known("url=https://ann@example.com")?.contains("password=second\n") == true)
    _ = git("reject", "url=https://ann@example.com\npassword=second")
    #expect(known("url=https://ann@example.com") == nil)
  }

  @Test func `paths count if git is told to use them, and empty names and passwords are kept`() {
    store.client("git config --global credential.useHttpPath true")
    _ = git("approve", "url=http://ann@example.com/a.git\npassword=a")
    #expect(known("url=http://example.com/b.git") == nil)
    #expect(known("url=http://example.com/a.git")?.contains("password=a\n") == true)
    _ = git("approve", "protocol=https\nhost=empty.example\nusername=\npassword=")
    #expect(
      known("protocol=https", "host=empty.example")
        == "protocol=https\nhost=empty.example\nusername=\npassword=\n")
  }

  @Test func `if the store is locked, one line says so and git asks its user`() {
    _ = git("approve", "url=https://ann@example.com\npassword=p")
    store.environment["VAULT_KEY_FILE"] = store.folder.file("absent")
    let filled = git("fill", "url=https://example.com")
    #expect(filled.status == 0 && filled.output.contains("password=asked-pass\n"))
    let lines = filled.errors.split(separator: "\n").filter { !$0.hasPrefix("asked: ") }
    #expect(lines.count == 1 && lines.allSatisfy { $0.hasPrefix("vault: error: locked: ") })
  }

  @Test func `clone, push and fetch ask for a login once, and again when the password changes`() {
    let result = store.clientWithServer(
      """
      cd "$folder"
      git clone -q "http://$host/repo.git" one 2>>log && cd one && echo x >file && git add file
      git commit -qm first && git push -q origin HEAD 2>>../log && git fetch -q 2>>../log || exit 1
      cd .. && git clone -q "http://$host/repo.git" two 2>>log && cmp one/file two/file || exit 2
      printf asked-user:other >server/login
      git -C two fetch 2>>log2 && exit 3
      printf asked-user:asked-pass >server/login
      git -C two fetch -q 2>>log3 || exit 4
      cat log; echo -; cat log2; echo -; cat log3
      """, login: "asked-user:asked-pass")
    #expect(result.status == 0, "\(result)")
    let logs = result.output.split(separator: "-\n", omittingEmptySubsequences: false).map { log in
      log.split(separator: "\n").filter { $0.hasPrefix("asked: ") }.map(String.init)
    }
    // Git asks once for a name and once for a password, then uses both until they are refused.
    #expect(logs.first?.count == 2 && logs.last?.count == 2, "\(result.output)")
    #expect(store.run("list", "git/").output.contains("/asked-user\t"))
    #expect(result.errors.isEmpty, "\(result.errors)")
  }
}
