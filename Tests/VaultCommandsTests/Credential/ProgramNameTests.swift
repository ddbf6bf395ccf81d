import Testing

@testable import VaultCommands

@Suite struct ProgramNameTests {
  @Test(arguments: [
    ("vault", []), ("/usr/local/bin/vault", []), ("git-credential-vault", ["credential", "git"]),
    ("/opt/a b/git-credential-keyvault", ["credential", "git"]),
    ("./docker-credential-vault", ["credential", "docker"]), ("git-credential-", []), ("", []),
    ("/bin/cargo-credential-vault", ["credential", "cargo"]), ("cargo-credential-", []),
    ("/bin/vault-askpass", ["askpass", "--"]), ("-askpass", []), ("askpass", []),
    ("git-credential-vault/vault", []), ("my-git-credential-vault", []),
  ])
  func `a helper's program name selects its command`(path: String, words: [String]) {
    #expect(ProgramName.command(of: path) == words)
  }
}
