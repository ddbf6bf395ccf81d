import Ground
import TestSupport
import Testing

@Suite struct CanonicalPathTests {
  private let temporary = TemporaryFolder()

  @Test(
    arguments: [
      ("/a/b", "/a", "b"), ("/a", "/", "a"), ("a", ".", "a"), ("a/b", "a", "b"), ("/a/b//", "/a", "b"),
      ("./a", ".", "a"),
    ])
  func `a path splits into its folder and its name`(path: String, folder: String, name: String) {
    let parts = CanonicalPath.split(path)
    #expect(parts.folder == folder)
    #expect(parts.name == name)
  }

  @Test func `links are resolved in the existing part of a path`() throws {
    let real = try CanonicalPath.of(temporary.makeFolder("real"))
    temporary.makeLink("link", to: "real")
    #expect(real.hasPrefix("/") && real.hasSuffix("/real"))
    #expect(try CanonicalPath.of(temporary.file("link")) == real)
    #expect(try CanonicalPath.of(temporary.file("link/x/y")) == real + "/x/y")
    #expect(try CanonicalPath.of(temporary.file("link/./../real/")) == real)
    #expect(try CanonicalPath.of("/no-such-folder-of-vault/x") == "/no-such-folder-of-vault/x")
  }

  @Test func `an invalid path is missing`() {
    for path in ["", temporary.file("a\0b"), temporary.file("no/..")] {
      #expect(throws: FileFault.missing) { try CanonicalPath.of(path) }
    }
    temporary.makeLink("circle", to: "circle")
    #expect(throws: FileFault.link) { try CanonicalPath.of(temporary.file("circle/x")) }
  }

  @Test func `a path is inside another only by whole path components`() {
    #expect(CanonicalPath.isInside("/a/b", "/a"))
    #expect(CanonicalPath.isInside("/a", "/a"))
    #expect(CanonicalPath.isInside("/a", "/"))
    #expect(!CanonicalPath.isInside("/ab", "/a"))
    #expect(!CanonicalPath.isInside("/", "/a"))
  }
}
