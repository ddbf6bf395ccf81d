import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct KeyFileTests {
  private let temporary = TemporaryFolder()
  private let store: String
  private let bytes = [UInt8](countingFrom: 5, count: 32)

  init() { store = temporary.makeFolder("store") }

  private func expectLocked(
    _ fault: FileFault, _ path: String, user: uid_t = geteuid(), sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(throws: VaultError.locked(.keyFile(fault, path: path)), sourceLocation: sourceLocation) {
      _ = try KeyFile.read(path, outside: store, user: user)
    }
  }

  @Test(arguments: [0o600, 0o400] as [mode_t])
  func `a file of 32 bytes that only its owner can read is a key`(mode: mode_t) throws {
    let path = temporary.write("key", bytes, mode: mode)
    #expect(try KeyFile.read(path, outside: store).testBytes == bytes)
  }

  @Test func `a missing key file is locked with that reason`() {
    expectLocked(.missing, temporary.file("key"))
    expectLocked(.missing, temporary.file("no/key"))
    expectLocked(.missing, "")
    // The system would open "key", which is not the name that was given.
    temporary.write("key", bytes)
    expectLocked(.missing, temporary.file("key\0more"))
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o610, 0o644, 0o666] as [mode_t])
  func `a key file that others can access is locked with that reason`(mode: mode_t) {
    expectLocked(.openToOthers(mode: mode), temporary.write("key", bytes, mode: mode))
  }

  @Test(arguments: [0, 31, 33, 64, 5000])
  func `a key file of another size is locked with that reason`(count: Int) {
    expectLocked(.wrongSize, temporary.write("key", [UInt8](repeating: 1, count: count)))
  }

  @Test func `a key file that belongs to somebody else is locked with that reason`() {
    let path = temporary.write("key", bytes)
    expectLocked(.foreignOwner, path, user: temporary.giveAway("key"))
  }

  @Test func `a link to a key file is locked with that reason`() {
    temporary.write("real", bytes)
    expectLocked(.link, temporary.makeLink("key", to: temporary.file("real")))
  }

  @Test func `a folder, FIFO or device in place of a key file is locked with that reason and does not hang`() {
    expectLocked(.wrongKind, temporary.makeFolder("folder"))
    expectLocked(.wrongKind, temporary.makeFIFO("FIFO"))
    expectLocked(.wrongKind, "/dev/zero")
    expectLocked(.wrongKind, temporary.write("file", bytes) + "/key")
  }

  @Test(arguments: ["store/key", "store/groups/key", "store/../store/key", "linked/key", "linked/groups/key"])
  func `a key file inside its own store is refused, both when it is made and when it is read`(name: String) {
    temporary.makeFolder("store/groups")
    temporary.makeLink("linked", to: store)
    let expected = VaultError.locked(.keyFileInsideStore)
    #expect(throws: expected) { _ = try KeyFile.make(temporary.file(name), outside: store) }
    temporary.write(name, bytes)
    #expect(throws: expected) { _ = try KeyFile.read(temporary.file(name), outside: store) }
    #expect(throws: expected) {
      _ = try KeyFile.readOrMake(temporary.file(name), outside: temporary.file("linked"), makesFolders: true)
    }
  }

  @Test func `a key file inside a store that does not exist yet is refused too`() {
    #expect(throws: VaultError.locked(.keyFileInsideStore)) {
      _ = try KeyFile.make(temporary.file("later/key"), outside: temporary.file("later"))
    }
  }

  @Test func `a key file next to the store is not inside it`() throws {
    let path = temporary.write("store-key", bytes)
    #expect(try KeyFile.read(path, outside: store).testBytes == bytes)
  }

  @Test func `a new key file has 32 random bytes, accessible to its owner alone`() throws {
    try HiddenCalls.withMask(0) {
      let key = try KeyFile.make(temporary.file("key"), outside: store)
      #expect(temporary.mode("key") == 0o600)
      #expect(temporary.read("key") == key.testBytes)
      #expect(try KeyFile.make(temporary.file("other"), outside: store).testBytes != key.testBytes)
    }
  }

  @Test func `a key file never overwrites another file and is not written through a link`() {
    temporary.write("key", bytes)
    temporary.makeLink("link", to: temporary.file("target"))
    for name in ["key", "link"] {
      #expect(throws: VaultError.locked(.keyFile(.taken, path: temporary.file(name)))) {
        _ = try KeyFile.make(temporary.file(name), outside: store)
      }
    }
    #expect(temporary.read("key") == bytes)
    #expect(temporary.mode("target") == nil)
  }

  @Test func `missing folders of a new key file are made for their user alone`() throws {
    let made = try KeyFile.readOrMake(temporary.file("a/b/key"), outside: store, makesFolders: true)
    #expect(temporary.mode("a") == 0o700 && temporary.mode("a/b") == 0o700 && temporary.mode("a/b/key") == 0o600)
    #expect(try KeyFile.read(temporary.file("a/b/key"), outside: store).testBytes == made.testBytes)
  }

  @Test func `a key file whose folder is missing is not made if its folders are not`() {
    for name in ["a/key", "a/b/key"] {
      #expect(throws: VaultError.locked(.keyFileFolder(.missing))) {
        _ = try KeyFile.readOrMake(temporary.file(name), outside: store, makesFolders: false)
      }
    }
    #expect(temporary.mode("a") == nil)
  }

  @Test func `a key file is not made below a file`() {
    temporary.write("file", bytes)
    #expect(throws: VaultError.self) {
      _ = try KeyFile.readOrMake(temporary.file("file/key"), outside: store, makesFolders: true)
    }
    #expect(temporary.read("file") == bytes)
  }

  @Test func `reading or making a key file reads an existing one and makes a missing one`() throws {
    let made = try KeyFile.readOrMake(temporary.file("key"), outside: store, makesFolders: true)
    #expect(
      try KeyFile.readOrMake(temporary.file("key"), outside: store, makesFolders: true).testBytes == made.testBytes)
    temporary.setMode("key", 0o644)
    #expect(throws: VaultError.locked(.keyFile(.openToOthers(mode: 0o644), path: temporary.file("key")))) {
      _ = try KeyFile.readOrMake(temporary.file("key"), outside: store, makesFolders: true)
    }
  }

  @Test func `a path without a folder is in the current one`() throws {
    let name = "vault-test-key-\(getpid())"
    defer { unsafe unlink(name) }
    #expect(try KeyFile.make(name, outside: store).testBytes == KeyFile.read(name, outside: store).testBytes)
  }

  @Test func `no key file is left if no byte can be written`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.makeWithoutSpace() }
  }
}

/// The code that the exit test runs in a separate process.
private enum ChildProcess {
  static func makeWithoutSpace() throws {
    let temporary = TemporaryFolder()
    signal(SIGXFSZ, SIG_IGN)
    var little = rlimit(rlim_cur: 16, rlim_max: 16)
    try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &little) == 0)
    #expect(throws: VaultError.storage(.fileTooLarge)) {
      _ = try KeyFile.make(temporary.file("key"), outside: temporary.file("store"))
    }
    #expect(temporary.names().isEmpty)
  }
}
