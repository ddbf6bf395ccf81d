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
    #expect(throws: IdentityError.locked(.keyFile(fault)), sourceLocation: sourceLocation) {
      _ = try KeyFile.read(path, outside: store, user: user)
    }
  }

  @Test(arguments: [0o600, 0o400] as [mode_t])
  func `32 bytes that only their owner may read are a key`(mode: mode_t) throws {
    let path = temporary.write("key", bytes, mode: mode)
    #expect(try KeyFile.read(path, outside: store).testBytes == bytes)
  }

  @Test func `a file that is gone is locked with that reason`() {
    expectLocked(.missing, temporary.file("key"))
    expectLocked(.missing, temporary.file("no/key"))
    expectLocked(.missing, "")
    // The system would open "key", which is not what was named.
    temporary.write("key", bytes)
    expectLocked(.missing, temporary.file("key\0more"))
  }

  @Test(arguments: [0o640, 0o604, 0o620, 0o610, 0o644, 0o666] as [mode_t])
  func `a mode that lets others in is locked with that reason`(mode: mode_t) {
    expectLocked(.openToOthers(mode: mode), temporary.write("key", bytes, mode: mode))
  }

  @Test(arguments: [0, 31, 33, 64, 5000])
  func `any other size is locked with that reason`(count: Int) {
    expectLocked(.wrongSize, temporary.write("key", [UInt8](repeating: 1, count: count)))
  }

  @Test func `somebody else's file is locked with that reason`() {
    let path = temporary.write("key", bytes)
    expectLocked(.foreignOwner, path, user: temporary.giveAway("key"))
  }

  @Test func `a link is locked with that reason`() {
    temporary.write("real", bytes)
    expectLocked(.link, temporary.makeLink("key", to: temporary.file("real")))
  }

  @Test func `a folder, a FIFO and a device are locked with that reason, and nothing hangs`() {
    expectLocked(.wrongKind, temporary.makeFolder("folder"))
    expectLocked(.wrongKind, temporary.makeFIFO("FIFO"))
    expectLocked(.wrongKind, "/dev/zero")
    expectLocked(.wrongKind, temporary.write("file", bytes) + "/key")
  }

  @Test(arguments: ["store/key", "store/groups/key", "store/../store/key", "linked/key", "linked/groups/key"])
  func `a key inside the store that it opens is refused, made or not`(name: String) {
    temporary.makeFolder("store/groups")
    temporary.makeLink("linked", to: store)
    let expected = IdentityError.locked(.keyFileInsideStore)
    #expect(throws: expected) { _ = try KeyFile.make(temporary.file(name), outside: store) }
    temporary.write(name, bytes)
    #expect(throws: expected) { _ = try KeyFile.read(temporary.file(name), outside: store) }
    #expect(throws: expected) { _ = try KeyFile.readOrMake(temporary.file(name), outside: temporary.file("linked")) }
  }

  @Test func `a key inside a store that is still to be made is refused too`() {
    #expect(throws: IdentityError.locked(.keyFileInsideStore)) {
      _ = try KeyFile.make(temporary.file("later/key"), outside: temporary.file("later"))
    }
  }

  @Test func `a key beside the store is not inside it`() throws {
    let path = temporary.write("store-key", bytes)
    #expect(try KeyFile.read(path, outside: store).testBytes == bytes)
  }

  @Test func `a new key file has 32 random bytes for its owner alone`() throws {
    let old = umask(0)
    defer { umask(old) }
    let key = try KeyFile.make(temporary.file("key"), outside: store)
    #expect(temporary.mode("key") == 0o600)
    #expect(temporary.read("key") == key.testBytes)
    #expect(try KeyFile.make(temporary.file("other"), outside: store).testBytes != key.testBytes)
  }

  @Test func `a key file is never made over another, nor through a link`() {
    temporary.write("key", bytes)
    temporary.makeLink("link", to: temporary.file("target"))
    for name in ["key", "link"] {
      #expect(throws: IdentityError.locked(.keyFile(.taken))) {
        _ = try KeyFile.make(temporary.file(name), outside: store)
      }
    }
    #expect(temporary.read("key") == bytes)
    #expect(temporary.mode("target") == nil)
  }

  @Test func `the folders above a new key file are made, for their user alone`() throws {
    let made = try KeyFile.readOrMake(temporary.file("a/b/key"), outside: store)
    #expect(temporary.mode("a") == 0o700 && temporary.mode("a/b") == 0o700 && temporary.mode("a/b/key") == 0o600)
    #expect(try KeyFile.read(temporary.file("a/b/key"), outside: store).testBytes == made.testBytes)
  }

  @Test func `a key file is not made below a file`() {
    temporary.write("file", bytes)
    #expect(throws: IdentityError.self) { _ = try KeyFile.readOrMake(temporary.file("file/key"), outside: store) }
    #expect(temporary.read("file") == bytes)
  }

  @Test func `read or make reads what is there, and makes what is not`() throws {
    let made = try KeyFile.readOrMake(temporary.file("key"), outside: store)
    #expect(try KeyFile.readOrMake(temporary.file("key"), outside: store).testBytes == made.testBytes)
    temporary.setMode("key", 0o644)
    #expect(throws: IdentityError.locked(.keyFile(.openToOthers(mode: 0o644)))) {
      _ = try KeyFile.readOrMake(temporary.file("key"), outside: store)
    }
  }

  @Test func `a path without a folder lies in the current one`() throws {
    let name = "vault-test-key-\(getpid())"
    defer { unsafe unlink(name) }
    #expect(try KeyFile.make(name, outside: store).testBytes == KeyFile.read(name, outside: store).testBytes)
  }

  @Test func `where no byte can be written, no key file is left`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.makeWithoutSpace() }
  }
}

/// What the exit test runs in a process of its own.
private enum ChildProcess {
  static func makeWithoutSpace() throws {
    let temporary = TemporaryFolder()
    signal(SIGXFSZ, SIG_IGN)
    var little = rlimit(rlim_cur: 16, rlim_max: 16)
    try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &little) == 0)
    #expect(throws: IdentityError.storage(.inputOutput)) {
      _ = try KeyFile.make(temporary.file("key"), outside: temporary.file("store"))
    }
    #expect(temporary.names().isEmpty)
  }
}
