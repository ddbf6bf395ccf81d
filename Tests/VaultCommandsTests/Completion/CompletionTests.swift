import Glibc
import Testing
import Vault

@testable import VaultCommands

@Suite struct CompletionTests {
  private let store: TestStore

  init() throws {
    store = try TestStore()
    for name in ["db/password", "db/user", "my secret", "a:b"] { store.run("set", name, input: "x") }
    store.run("group", "create", "team.shared")
    store.run("set", "shared/token", "-g", "team.shared", input: "x")
  }

  /// The lines of the answer, its kind first.
  private func answer(_ words: String...) -> [String] {
    let transcript = Transcript(["complete", "--"] + words, environment: store.environment)
    #expect(transcript.status == 0)
    #expect(transcript.errors.isEmpty)
    return transcript.output.split(separator: "\n").map(String.init)
  }

  @Test func `commands are completed at every level without hidden ones`() {
    #expect(answer("ge") == ["words", "get", "generate"])
    #expect(answer("group", "c") == ["words", "create", "compact"])
    #expect(answer("help", "group", "s") == ["words", "show", "share"])
    #expect(!answer("").contains("complete"))
    #expect(answer("completions", "") == ["words", "bash", "zsh", "fish"])
  }

  @Test func `options are completed, and their values according to their kind`() {
    #expect(answer("list", "--m") == ["words", "--match"])
    #expect(answer("get", "db/password", "-g", "t") == ["words", "team.shared"])
    #expect(answer("get", "db/password", "--output", "") == ["files"])
    #expect(answer("generate", "x", "--alphabet", "d") == ["words", "digits"])
    #expect(answer("get", "--", "--o") == ["words"])
    #expect(answer("get", "db/password", "--group=t") == ["words", "--group=team.shared"])
    #expect(answer("get", "db/password", "--output=") == ["files"])
    #expect(answer("get", "--json=") == ["words"])
    #expect(answer("get", "--", "--group=t") == ["words"])
  }

  @Test func `item names are completed in the group of the command line`() {
    #expect(answer("get", "db/") == ["words", "db/password", "db/user"])
    #expect(answer("get", "my") == ["words", "my secret"])
    #expect(answer("get", "-g", "team.shared", "") == ["words", "shared/token"])
    #expect(answer("get", "--group=team.shared", "") == ["words", "shared/token"])
    #expect(answer("get", "db/user", "") == ["words"])
    #expect(answer("group", "show", "d") == ["words", "default"])
  }

  @Test func `references are completed, alone and behind a variable's name`() {
    #expect(answer("read", "vault:///db/p") == ["words", "vault:///db/password"])
    #expect(answer("read", "vault:///my") == ["words", "vault:///my%20secret"])
    #expect(answer("read", "vault://team.shared/") == ["words", "vault://team.shared/shared/token"])
    #expect(answer("read", "vault://te") == ["words", "vault://team.shared/shared/token"])
    #expect(answer("read", "").contains("vault:///db/user") && answer("read", "s3cret") == ["words"])
    #expect(answer("run", "--set", "A=vault:///db/u") == ["words", "A=vault:///db/user"])
    #expect(answer("run", "--set=A=vault:///db/u") == ["words", "--set=A=vault:///db/user"])
    #expect(answer("run", "--as-file", "A=vault://t") == ["words", "A=vault://team.shared/shared/token"])
    #expect(answer("run", "--set", "A") == ["words"])
  }

  @Test func `files are completed in the words of a program`() {
    #expect(answer("run", "-g", "default", "--", "cat", "--x=") == ["files"])
    #expect(answer("rotate-value", "db/user", "--", "./s") == ["files"])
    #expect(answer("run", "--", "/bin/c") == ["files"])
    #expect(answer("run", "") == ["words"])
  }

  @Test func `a program is completed with those on PATH, or else with files`() throws {
    store.environment["PATH"] = "relative:\(store.folder.file("bin")):\(store.folder.file("absent")):/bin"
    #expect(
      store.shell(
        #"cd "$folder" && mkdir -p bin/deploy-folder && touch bin/deploy-notes bin/deploy-now && chmod +x bin/deploy-now && ln -s deploy-now bin/deploy-link && ln -s absent bin/deploy-gone"#
      ).status == 0)
    #expect(answer("run", "--", "deploy") == ["words", "deploy-link", "deploy-now"])
    #expect(answer("rotate-value", "db/user", "--", "deploy-n") == ["words", "deploy-now"])
    #expect(answer("run", "--", "").contains("sh") && answer("run", "--", "").filter { $0 == "deploy-now" }.count == 1)
    #expect(answer("run", "--", "no such program") == ["files"])
    #expect(answer("run", "--", "deploy-now", "deploy") == ["files"])
    store.environment["PATH"] = nil
    #expect(answer("run", "--", "deploy") == ["files"])
  }

  @Test func `a name that steers the terminal is not offered`() {
    for name in ["odd\u{202E}txt", "odd\u{85}", "odd plain"] { store.run("set", name, input: "x") }
    #expect(answer("get", "odd") == ["words", "odd plain"])
  }

  @Test func `the item that is typed is offered, however many come before it`() throws {
    let group = try SecretStore.open(at: StoreLocation(environment: store.environment)).group("default")
    try group.set(contentsOf: (0..<10_000).map { (name: "before/\($0)", value: "x") })
    #expect(answer("get", "my") == ["words", "my secret"])
    #expect(answer("get", "").count == 10_001)
  }

  @Test func `completion in a store that needs a prompt offers no item and prints nothing`() throws {
    try #require(unsafe rename(store.keyFile, store.keyFile + ".away") == 0)
    #expect(answer("get", "") == ["words"])
    #expect(answer("group", "show", "t") == ["words", "team.shared"])
    #expect(answer("get", "--key-file", store.keyFile + ".away", "my") == ["words", "my secret"])
  }

  @Test func `ids of applications are completed`() throws {
    store.run("app", "issue", "com.example.web", "--output", store.folder.file("web"))
    store.run("app", "issue", "com.example.job", "--output", store.folder.file("job"))
    #expect(answer("grant", "t") == ["words", "team.shared"])
    #expect(answer("grant", "team.shared", "com.") == ["words", "com.example.job", "com.example.web"])
    #expect(answer("revoke", "team.shared", "com.example.w") == ["words", "com.example.web"])
    #expect(answer("grant", "team.shared", "com.example.web", "") == ["words"])
    #expect(answer("app", "show", "com.example.w") == ["words", "com.example.web"])
    #expect(answer("app", "show", "com.example.web", "") == ["words"])
  }

  @Test func `names of remotes are completed`() throws {
    store.run("remote", "add", "office", "etcd://127.0.0.1:2379")
    store.run("remote", "add", "home", "etcd://127.0.0.1:2379")
    #expect(answer("remote", "remove", "") == ["words", "home", "office"])
    #expect(answer("app", "issue", "com.example.web", "--remote", "o") == ["words", "office"])
  }

  @Test func `completion opens the store with the key in the command line, before or after the command`() throws {
    let credential = store.folder.file("web")
    store.run("app", "issue", "com.example.web", "--output", credential, "--group", "team.shared:read")
    store.run("set", "own", "--credential", credential, input: "x")
    #expect(answer("get", "--credential", credential, "") == ["words", "own"])
    #expect(answer("--credential", credential, "get", "") == ["words", "own"])
    #expect(answer("--credential=\(credential)", "get", "-g", "team.shared", "") == ["words", "shared/token"])
    #expect(answer("--credential", credential, "app", "show", "") == ["words"])
    #expect(answer("--credential", "") == ["files"])
    #expect(answer("--credential", credential, "li") == ["words", "list"])
    let elsewhere = store.keyFile + ".away"
    try #require(unsafe rename(store.keyFile, elsewhere) == 0)
    #expect(answer("--key-file", elsewhere, "get", "my") == ["words", "my secret"])
    #expect(answer("--key-file", elsewhere, "get", "--credential", credential, "") == ["words"])
    #expect(answer("--recovery-fd", "0", "get", "") == ["words"])
  }

  @Test func `the operations of the credential helpers are completed`() {
    #expect(answer("credential", "") == ["words", "git", "docker", "cargo", "aws"])
    #expect(answer("credential", "git", "e") == ["words", "erase"])
    #expect(answer("credential", "docker", "l") == ["words", "list"])
    #expect(answer("credential", "git", "-g", "t") == ["words", "team.shared"])
  }

  @Test func `a completion script for another program name contains only that name`() {
    for shell in CompletionScript.allCases {
      let script = Transcript(["completions", shell.rawValue, "--name", "key-vault"]).output
      #expect(script.contains("key-vault"))
      #expect(!script.contains("PROGRAM") && !script.contains("IDENTIFIER"))
    }
    #expect(Transcript(["completions", "bash", "--name", "a b; rm"]).status == 64)
    #expect(Transcript(["completions", "csh"]).status == 64)
  }
}
