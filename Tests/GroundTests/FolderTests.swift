import Glibc
import Ground
import TestSupport
import Testing

@Suite struct FolderTests {
  private let temporary = TemporaryFolder()

  private func open() throws -> Folder { try Folder(temporary.path, .secret()) }

  @Test func `a link to a folder is followed only if links are allowed`() throws {
    temporary.makeFolder("real")
    let link = temporary.makeLink("link", to: "real")
    #expect(throws: Never.self) { _ = try Folder(link, .secret(), followingLink: true) }
    #expect(throws: FileFault.wrongKind) { _ = try Folder(link, .secret()) }
    #expect(throws: FileFault.wrongKind) { _ = try open().folder("link", .secret()) }
  }

  @Test func `a file is not opened as a folder`() {
    #expect(throws: FileFault.wrongKind) { _ = try Folder(temporary.write("file", []), .secret(), followingLink: true) }
    #expect(throws: FileFault.wrongKind) { _ = try Folder(temporary.makeFIFO("FIFO"), .secret(), followingLink: true) }
    #expect(throws: FileFault.missing) { _ = try Folder(temporary.file("no"), .secret()) }
  }

  @Test func `a replaced file is a new file with the whole content`() throws {
    let folder = try open()
    try folder.replace("file", with: [1])
    let kept = try folder.open("file", O_RDONLY)
    try folder.replace("file", with: [2, 3])
    #expect(temporary.read("file") == [2, 3])
    #expect(try kept.read(limit: 10) == [1])
    #expect(temporary.names() == ["file"])
  }

  @Test func `a file that cannot be replaced leaves nothing behind`() throws {
    temporary.makeFolder("file")
    #expect(throws: FileFault.self) { try open().replace("file", with: [1]) }
    #expect(temporary.names() == ["file"])
  }

  @Test func `an error after a file was replaced does not say that nothing was changed`() throws {
    let folder = try open()
    try folder.replace("file", with: [1])
    // A descriptor that only names the folder (O_PATH) can rename in it, but not sync it.
    let name = unsafe Glibc.open(temporary.path, 0o10_000_000 | O_DIRECTORY)
    try #require(dup2(name, folder.file.descriptor) >= 0)
    close(name)
    #expect(throws: FileFault.storage(.unconfirmed)) { try folder.replace("file", with: [2]) }
    #expect(temporary.read("file") == [2])
    #expect(temporary.names() == ["file"])
  }

  @Test func `reading stops at the limit`() throws {
    temporary.write("file", [1, 2, 3])
    #expect(try open().read("file", .secret(), limit: 3) == [1, 2, 3])
    #expect(throws: FileFault.wrongSize) { try open().read("file", .secret(), limit: 2) }
  }

  @Test func `a FIFO is neither read nor waited for`() throws {
    temporary.makeFIFO("FIFO")
    #expect(throws: FileFault.wrongKind) { try open().read("FIFO", .secret(), limit: 2) }
    #expect(throws: FileFault.wrongKind) { _ = try open().lockFile("FIFO", waiting: 0) }
  }

  @Test func `a folder that lacks its owner's rights gets them, and keeps those of others`() throws {
    temporary.makeFolder("own", mode: 0o600)
    temporary.makeFolder("open", mode: 0o055)
    for name in ["own", "open"] { try open().makeFolder(name) }
    #expect(temporary.mode("own") == 0o700)
    #expect(temporary.mode("open") == 0o755)
  }

  @Test func `new folders of a path are for the owner alone, and existing ones stay unchanged`() throws {
    temporary.makeFolder("a", mode: 0o755)
    try Folder.make(temporary.file("a/b/c"))
    try Folder.make(temporary.file("a/b/c"))
    #expect(temporary.mode("a") == 0o755)
    #expect(temporary.mode("a/b") == 0o700)
    #expect(temporary.mode("a/b/c") == 0o700)
    temporary.write("file", [])
    #expect(throws: FileFault.wrongKind) { try Folder.make(temporary.file("file/x")) }
    #expect(throws: FileFault.storage(.pathNotText)) { try Folder.make("relative") }
    temporary.makeLink("nowhere", to: "no/where")
    #expect(throws: FileFault.missing) { try Folder.make(temporary.file("nowhere")) }
  }

  @Test func `a list of names that the system cannot finish is an error`() throws {
    // More than the system returns at once.
    for number in 100..<500 { temporary.write("\(number)" + String(repeating: "x", count: 240), []) }
    let folder = try open()
    let own = FileIdentity(try folder.file.status())
    var count = 0
    #expect(throws: FileFault.wrongKind) {
      try unsafe folder.visit { _, _ in
        count += 1
        guard count == 1 else { return true }
        var status = stat()
        for descriptor in 3..<CInt(1_024) where descriptor != folder.file.descriptor {
          guard unsafe fstat(descriptor, &status) == 0, FileIdentity(status) == own else { continue }
          let nothing = unsafe Glibc.open("/dev/null", O_RDONLY)
          dup2(nothing, descriptor)
          close(nothing)
        }
        return true
      }
    }
    #expect((1..<400).contains(count))
  }

  @Test func `names are sorted and leave out hidden ones`() throws {
    for name in ["b", "a", ".hidden"] { temporary.write(name, []) }
    #expect(try open().names() == ["a", "b"])
    #expect(try open().names(limit: 1).count == 1)
  }

  /// File systems in images and those of user programs may say any time.
  @Test(arguments: [Int.min, -1, 0, 15_032_385_535, Int.max])
  func `the age of a file has no time that ends the process`(seconds: Int) {
    for nanoseconds in [0, 999_999_999, Int.max, Int.min] {
      var status = stat()
      status.st_ctim = timespec(tv_sec: seconds, tv_nsec: nanoseconds)
      if nanoseconds == 0 {
        #expect(ChangeTime(status).isSettled == (seconds <= 0))
      } else {
        _ = ChangeTime(status).age
      }
    }
  }

  @Test func `a name exists even if it is a dangling link`() throws {
    temporary.makeLink("link", to: "/no/where")
    #expect(try open().contains("link"))
    #expect(try !open().contains("other"))
  }
}
