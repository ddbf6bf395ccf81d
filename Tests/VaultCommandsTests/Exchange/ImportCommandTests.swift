import Glibc
import Testing

@testable import VaultCommands

/// The behaviour of `vault import` with any format, shown with env files.
@Suite struct ImportCommandTests {
  private let store: TestStore

  init() throws { store = try TestStore() }

  private func file(_ text: String) -> String { store.folder.write("file.env", Array(text.utf8)) }

  private func epoch() -> String {
    let shown = store.run("group", "show", "default", "--json").output
    return String(shown.firstMatch(of: /"epoch":(\d+)/)?.1 ?? "")
  }

  @Test func `every variable becomes a text item, in one transaction`() {
    let before = epoch()
    let done = store.run("import", file("A=1\nB='two words'\nC=\n"), "--from", "dotenv", "--prefix", "app/")
    #expect(done.status == 0, "\(done.errors)")
    #expect(done.output.isEmpty)
    #expect(done.errors == "imported into 'default': 3 new, 0 replaced, 0 unchanged\n")
    #expect(store.run("get", "app/B").output == "two words")
    #expect(store.run("info", "app/C", "--json").output.contains(#""kind":"string""#))
    #expect(Int(epoch()) == Int(before).map { $0 + 1 })
  }

  @Test func `standard input can be imported`() {
    #expect(store.run("import", "-", "--from", "dotenv", input: "A=1").status == 0)
    #expect(store.run("get", "A").output == "1")
    let bad = store.run("import", "-", "--from", "dotenv", input: "A=1\nhunter2")
    #expect(bad.status == 64)
    #expect(bad.errors == "vault: error: stdin, line 2: the line is neither NAME=value nor a comment\n")
  }

  @Test func `an existing value is changed only on request, and an equal one never`() {
    store.run("set", "A", "--label", "kept", "--expires", "2099-01-01", input: "old")
    store.run("set", "B", "--expires", "2099-01-01", input: "same")
    let path = file("A=new\nB=same\nC=3\n")
    let before = epoch()
    let refused = store.run("import", path, "--from", "dotenv")
    #expect(refused.status == 22)
    #expect(
      refused.errors == """
        vault: error: 1 item exists with a different value or other details; nothing was imported
        vault: hint: to see which: --dry-run; to give them new versions: --replace; to keep both: --prefix P

        """)
    #expect(epoch() == before)
    let replaced = store.run("import", path, "--from", "dotenv", "--replace").errors.split(separator: "\n")
    #expect(replaced.first == "imported into 'default': 1 new, 1 replaced, 1 unchanged")
    #expect(replaced.count == 2 && replaced[1].hasPrefix("vault: warning: 'A': the former value's expiry ("))
    #expect(store.run("get", "A").output == "new")
    #expect(store.run("get", "A", "--version", "1").output == "old")
    #expect(store.run("info", "A", "--json").output.contains(#""label":"kept""#))
    #expect(store.run("info", "B", "--json").output.contains(#""version":1,"#))
    let after = epoch()
    #expect(store.run("import", path, "--from", "dotenv").status == 0)
    #expect(epoch() == after)
  }

  @Test func `a label or attribute that differs only in its Unicode form is another one`() {
    let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
    store.run("set", "a", "--label", composed, "-a", "k=\(composed)", input: "v")
    for (label, attribute) in [(decomposed, composed), (decomposed, decomposed)] {
      let text = #"{"items":[{"name":"a","value":"v","label":"\#(label)","attributes":{"k":"\#(attribute)"}}]}"#
      let replaced = store.run("import", "-", "--from", "json", "--replace", input: text)
      #expect(replaced.errors == "imported into 'default': 0 new, 1 replaced, 0 unchanged\n")
      let shown = store.run("info", "a", "--json").output
      #expect(shown.utf8.contains("\"label\":\"\(label)\"".utf8), "\(shown)")
      #expect(shown.utf8.contains("\"k\":\"\(attribute)\"".utf8), "\(shown)")
    }
  }

  @Test func `a dry run whose output nobody reads fails if the import would`() {
    store.run("set", "A", input: "old")
    let path = file("A=s3cret\n")
    #expect(store.unread("import \(path) --from dotenv --dry-run").status == 22)
    #expect(store.unread("import \(path) --from dotenv --dry-run --replace").status == 0)
  }

  @Test func `a dry run lists names and kinds and changes nothing`() {
    store.run("set", "A", input: "old")
    let path = file("A=s3cret\nB=s3cret\nB=s3cret2\n")
    let before = epoch()
    let shown = store.run("import", path, "--from", "dotenv", "--dry-run")
    #expect(shown.status == 22)
    #expect(shown.output == "replace\tA\tstring\nnew\tB\tstring\n")
    #expect(
      shown.errors == """
        would import into 'default': 1 new, 1 replaced, 0 unchanged
        not kept: line 2: an earlier value of 'B'; that of line 3 counts
        vault: error: 1 item exists with a different value or other details; nothing was imported
        vault: hint: to see which: --dry-run; to give them new versions: --replace; to keep both: --prefix P

        """)
    let json = store.run("import", path, "--from", "dotenv", "--dry-run", "--replace", "--json")
    #expect(json.errors.isEmpty)
    #expect(
      json.output == """
        {"group":"default","dryRun":true,"items":[{"name":"A","action":"replace","kind":"string","from":"line 1"},\
        {"name":"B","action":"new","kind":"string","from":"line 3"}],\
        "notKept":["line 2: an earlier value of 'B'; that of line 3 counts"]}

        """)
    #expect(epoch() == before)
    #expect(store.run("get", "A").output == "old")
  }

  @Test(arguments: [
    ("A=s3cret\ns3cret\n", Int32(64), "/file.env, line 2: the line is neither NAME=value nor a comment"),
    ("A=s3cret\nB='s3cret\n", 64, "/file.env, line 2: a quote is never closed"),
    ("A=s3cret\n'a\u{7}'=s3cret\n", 64, "/file.env, line 2: an item's name must not hold control characters"),
    ("A=s3cret\nB=\(String(repeating: "s3cret", count: 180_000))\n", 20, "/file.env, line 2: more than"),
  ]) func `a defect is reported with its place, and nothing is changed`(text: String, status: Int32, words: String) {
    let before = epoch()
    for options in [[], ["--json"], ["--replace"], ["--dry-run"]] {
      let failed = Transcript(
        ["import", file(text), "--from", "dotenv"] + options, environment: store.environment)
      #expect(failed.status == status)
      #expect(failed.errors.contains(words))
      #expect(!failed.errors.contains("s3cret") && failed.output.isEmpty)
    }
    #expect(epoch() == before)
    #expect(store.run("get", "A").status == 10)
  }

  @Test func `a dry run waits for no writer, and is refused to a read-only member`() throws {
    store.run("app", "issue", "web", "--output", store.folder.file("credential"), "--group", "default:read")
    let path = file("A=1\n")
    let lock = unsafe open(store.folder.file("store/groups/default/lock"), O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
    #expect(store.run("import", path, "--from", "dotenv", "--dry-run").status == 0)
    close(lock)
    let reader = Transcript(
      [
        "import", path, "--from", "dotenv", "--dry-run", "-g", "default", "--credential",
        store.folder.file("credential"),
      ],
      environment: store.environment)
    #expect(reader.status == 12)
  }

  @Test func `an env file of more than 4 MiB is refused`() {
    let long = file(String(repeating: "A=1\n", count: (4 << 18) + 1))
    #expect(store.run("import", long, "--from", "dotenv", "--dry-run").status == 20)
  }

  @Test func `a dry run takes no lock and predicts the result of the import`() {
    let path = file("A=1\nB=2\n")
    let before = epoch()
    #expect(store.run("import", path, "--from", "dotenv", "--dry-run").status == 0)
    #expect(epoch() == before && store.run("list").output.isEmpty)
    #expect(store.run("import", path, "--from", "dotenv").errors.hasSuffix("2 new, 0 replaced, 0 unchanged\n"))
    #expect(store.run("get", "B", "--version", "1").output == "2")
    #expect(store.run("verify").status == 0)
  }

  @Test func `a duplicate name is reported with the file, and an invalid prefix with the option`() {
    let item = #"{"name":"a","value":"s3cret"}"#
    let twice = store.run("import", file("{\"items\":[\(item),\(item)]}"), "--from", "json")
    #expect(twice.status == 18)
    #expect(twice.errors.hasSuffix("/file.env, item 2 ('a'): has the same name as item 1 ('a')\n"))
    let prefixed = store.run("import", file("A=1\n"), "--from", "dotenv", "--prefix", "a\u{7}")
    #expect(prefixed.status == 64)
    #expect(prefixed.errors == "vault: error: --prefix: an item's name must not hold control characters\n")
    #expect(store.run("import", file("A=1\n"), "--from", "dotenv", "--prefix", "a/").status == 0)
  }

  @Test func `a failure of the store does not name a place in the imported file`() {
    // More than the number of pages that are kept in memory before any is written.
    let value = String(repeating: "x", count: 1_040_000)
    let path = file("name,value\n" + (1...18).map { "A\($0),\(value)\n" }.joined())
    let environment = store.environment.merging(["vault": Executable.path, "file": path]) { $1 }
    let failed = Executable(
      ["-c", #"ulimit -f 64; exec "$vault" import "$file" --from csv"#], program: "/bin/sh", environment: environment
    ).wait()
    #expect(failed.status == 23)
    #expect(failed.errors.hasPrefix("vault: error: the file cannot grow any further\n"), "\(failed.errors)")
    #expect(store.run("list").output.isEmpty)
  }

  @Test func `a read-only member imports nothing, and a dry run says so`() {
    store.run("group", "create", "team.shared")
    let credential = store.folder.file("credential")
    store.run("app", "issue", "com.example.a", "--output", credential, "--group", "team.shared:read")
    let path = file("A=1\n")
    let arguments = ["import", path, "--from", "dotenv", "-g", "team.shared", "--credential", credential]
    #expect(Transcript(arguments, environment: store.environment).status == 12)
    #expect(Transcript(arguments + ["--dry-run"], environment: store.environment).status == 12)
  }

  @Test func `a missing file and an unknown format are errors`() {
    #expect(store.run("import", "/nonexistent", "--from", "dotenv").status == 64)
    #expect(store.run("import", store.folder.path, "--from", "dotenv").status == 64)
    let format = store.run("import", file(""), "--from", "s3cret")
    #expect(format.status == 64 && !format.errors.contains("s3cret"))
    #expect(store.run("import", store.folder.write("x", [0xFF]), "--from", "dotenv").status == 64)
  }
}
