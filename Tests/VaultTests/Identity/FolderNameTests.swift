import Testing

@testable import Vault

@Suite struct FolderNameTests {
  @Test(arguments: ["a", "0", "default", "team.shared", "com.example.notes", "a-b_c.d", "vault.owner", "a.", "a--b"])
  func `names of lower-case letters, digits, dots, hyphens and underscores are allowed`(name: String) {
    #expect(FolderName.isValid(name))
  }

  @Test(
    arguments: [
      "", ".", "..", ".a", "-a", "_a", "A", "aB", "a/b", "/a", "a..b", "a b", "a\n", "ä", "a\u{301}", "a:b", "*",
    ])
  func `other names are refused and not folded to lower case`(name: String) {
    #expect(!FolderName.isValid(name))
  }

  @Test func `a name has no zero byte`() {
    #expect(!FolderName.isValid("a\0b"))
  }

  @Test func `a name has at most 128 bytes`() {
    #expect(FolderName.isValid(String(repeating: "a", count: 128)))
    #expect(!FolderName.isValid(String(repeating: "a", count: 129)))
  }
}
