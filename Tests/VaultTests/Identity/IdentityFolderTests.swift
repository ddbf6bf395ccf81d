import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct IdentityFolderTests {
  private let temporary = TemporaryFolder()
  private let identity: Identity
  private let file: IdentityFile

  init() throws {
    identity = try Identity.testing()
    file = IdentityFile(
      ownerKey: identity.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: identity))
  }

  private var store: String { temporary.file("store") }
  private var folder: IdentityFolder { IdentityFolder(store: store) }
  private let path = "store/identity/identity"

  // MARK: - Making

  @Test func `a new store has its folders and its identity, accessible to the owner alone`() throws {
    try IdentityFolder(store: temporary.file("a/b/store")).create(file)
    #expect(try IdentityFolder(store: temporary.file("a/b/store")).read() == file)
    #expect(temporary.names(in: "a/b/store") == ["groups", "identity"])
    #expect(temporary.names(in: "a/b/store/identity") == ["identity", "lock"])
    for name in ["a", "a/b", "a/b/store", "a/b/store/groups", "a/b/store/identity"] {
      #expect(temporary.mode(name) == 0o700)
    }
    #expect(temporary.mode("a/b/store/identity/identity") == 0o600)
    #expect(temporary.mode("a/b/store/identity/lock") == 0o600)
  }

  @Test func `a store is not made over another store`() throws {
    try folder.create(file)
    let bytes = temporary.read(path)
    let other = IdentityFile(
      ownerKey: identity.ownerKey, first: try Slot(number: 1, key: key(2), use: .keyFile, sealing: identity))
    #expect(throws: VaultError.exists(.store)) { try folder.create(other) }
    #expect(temporary.read(path) == bytes)
  }

  @Test func `a recovery is begun neither over a store nor over the recovery of another owner's`() throws {
    func begin(_ file: IdentityFile, _ folder: IdentityFolder) throws {
      let mark = try folder.beginRecovery(file)
      mark.unlock()
    }
    try folder.create(file)
    let bytes = temporary.read(path)
    #expect(throws: VaultError.exists(.store)) { try begin(file, folder) }
    #expect(temporary.read(path) == bytes)
    let other = try Identity.random()
    let others = IdentityFile(
      ownerKey: other.ownerKey, first: try Slot(number: 1, key: key(2), use: .keyFile, sealing: other))
    let new = IdentityFolder(store: temporary.file("new"))
    try begin(file, new)
    #expect(throws: VaultError.exists(.store)) { try begin(others, new) }
    #expect(throws: VaultError.exists(.storeInRecovery)) { try new.create(others) }
    try begin(file, new)
  }

  @Test func `a store is not made over a file, link or folder with the identity's name`() throws {
    temporary.makeFolder("store")
    temporary.makeFolder("store/identity")
    temporary.makeLink(path, to: "/nowhere")
    #expect(throws: VaultError.exists(.store)) { try folder.create(file) }
    #expect(temporary.names(in: "store/identity") == ["identity", "lock"])
  }

  @Test func `if many processes make a store at once, exactly one succeeds`() throws {
    let made = Locked(0)
    let (folder, file) = (folder, file)
    onThreads(8) { _ in
      do throws(VaultError) {
        try folder.create(file)
        made.withLock { $0 += 1 }
      } catch {
        #expect(error == .exists(.store))
      }
    }
    #expect(made.withLock { $0 } == 1)
    #expect(try folder.read() == file)
  }

  // MARK: - Reading

  @Test func `reading or changing a missing store reports that and creates nothing`() throws {
    #expect(throws: VaultError.noStore(path: store)) { try folder.read() }
    #expect(throws: VaultError.noStore(path: store)) { try folder.change { _ in } }
    temporary.makeFolder("store")
    #expect(throws: VaultError.noStore(path: store)) { try folder.read() }
    temporary.makeFolder("store/identity")
    #expect(throws: VaultError.noStore(path: store)) { try folder.change { _ in } }
    #expect(temporary.names(in: "store/identity").isEmpty)
  }

  @Test func `groups without an identity are damage, not a missing store`() throws {
    try folder.create(file)
    temporary.makeFolder("store/groups/default")
    temporary.remove(path)
    let expected = VaultError.damaged(group: nil, level: .identity, detail: "the store lacks it, but has groups")
    #expect(throws: expected) { try folder.read() }
    #expect(throws: expected) { try folder.create(file) }
    temporary.remove("store/identity")
    #expect(throws: expected) { try folder.read() }
  }

  @Test func `an identity that is empty, truncated or too long is damaged`() throws {
    try folder.create(file)
    for bytes in [[], Array(file.serialized().dropLast()), [UInt8](repeating: 0, count: 100_000)] {
      temporary.write(path, bytes)
      #expect(damage { try folder.read() } == .identity)
      #expect(damage { try folder.change { _ in } } == .identity)
      #expect(temporary.read(path) == bytes)
    }
  }

  @Test func `a link, FIFO or folder in place of the identity is damage and does not hang the reader`() throws {
    try folder.create(file)
    temporary.write("elsewhere", file.serialized())
    temporary.remove(path)
    temporary.makeLink(path, to: temporary.file("elsewhere"))
    #expect(throws: VaultError.damaged(group: nil, level: .identity, detail: "it is a symbolic link")) {
      try folder.read()
    }
    temporary.remove(path)
    temporary.makeFIFO(path)
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .identity, detail: "it is not the kind of file or folder that belongs here")
    ) {
      try folder.read()
    }
    temporary.remove(path)
    temporary.makeFolder(path)
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .identity, detail: "it is not the kind of file or folder that belongs here")
    ) {
      try folder.read()
    }
  }

  @Test func `a link in place of the identity's folder is damage, but a link to the store is followed`() throws {
    try folder.create(file)
    temporary.makeLink("linked", to: store)
    #expect(try IdentityFolder(store: temporary.file("linked")).read() == file)
    temporary.makeFolder("other")
    temporary.makeLink("other/identity", to: store + "/identity")
    #expect(damage { try IdentityFolder(store: temporary.file("other")).read() } == .identity)
  }

  @Test(
    arguments: [
      ("store", 0o777, VaultError.Level.store), ("store", 0o770, .store), ("store/identity", 0o770, .identity),
      ("store/identity", 0o703, .identity), ("store/identity/identity", 0o660, .identity),
      ("store/identity/identity", 0o606, .identity),
    ] as [(String, mode_t, VaultError.Level)])
  func `an identity that others can write is refused`(name: String, mode: mode_t, level: VaultError.Level) throws {
    try folder.create(file)
    temporary.setMode(name, mode)
    #expect(throws: VaultError.denied(.file(level, .openToOthers(mode: mode)))) { try folder.read() }
    #expect(throws: VaultError.denied(.file(level, .openToOthers(mode: mode)))) { try folder.change { _ in } }
  }

  @Test(
    arguments: [
      ("store/identity", 0o750), ("store/identity", 0o701), ("store/identity/identity", 0o640),
      ("store/identity/identity", 0o604),
    ] as [(String, mode_t)])
  func `an identity that others can read is read if it has no passphrase, and never changed`(
    name: String, mode: mode_t
  ) throws {
    try folder.create(file)
    temporary.setMode(name, mode)
    #expect(try folder.read() == file)
    #expect(throws: VaultError.denied(.file(.identity, .openToOthers(mode: mode)))) { try folder.change { _ in } }
  }

  @Test(arguments: ["store", "store/identity", "store/identity/identity"])
  func `an identity that belongs to somebody else is refused`(name: String) throws {
    try folder.create(file)
    let user = temporary.giveAway(name)
    #expect { try IdentityFolder(store: store, user: user).read() } throws: { error in
      if case VaultError.denied(.file(_, .foreignOwner)) = error { true } else { false }
    }
  }

  @Test func `a store that others can read is read`() throws {
    try folder.create(file)
    temporary.setMode("store", 0o711)
    temporary.setMode("store/identity/identity", 0o400)
    #expect(try folder.read() == file)
  }

  // MARK: - Changing

  @Test func `a change of the identity is written and leaves no other file`() throws {
    try folder.create(file)
    temporary.write("store/identity/.identity.new", [1, 2, 3])
    let new = try passphrase("new")
    let count = try folder.change { (file) throws(VaultError) in
      try file.setPassphrase(new, cost: cheap, of: identity)
      return file.slots.count
    }
    #expect(count == 2)
    #expect(try folder.read().unlock(passphrase: passphrase("new")).identity.testSeed == identity.testSeed)
    #expect(temporary.names(in: "store/identity") == ["identity", "lock"])
    #expect(temporary.mode(path) == 0o600)
  }

  @Test func `a failing change leaves the identity unchanged`() throws {
    try folder.create(file)
    let slot = try Slot(number: 2, key: key(2), use: .systemdCredential, sealing: identity)
    #expect(throws: VaultError.contradiction(.lastSlot)) {
      try folder.change { (file) throws(VaultError) in
        try file.add(slot)
        throw .contradiction(.lastSlot)
      }
    }
    #expect(try folder.read() == file)
  }

  @Test func `changes by many threads are all kept`() throws {
    try folder.create(file)
    let folder = IdentityFolder(store: store, waiting: 180_000)
    let identity = identity
    onThreads(16) { _ in
      do throws(VaultError) {
        try folder.change { (file) throws(VaultError) in
          let key = try sealing(Key.random())
          try file.add(try Slot(number: file.nextNumber(), key: key, use: .systemdCredential, sealing: identity))
        }
      } catch {
        Issue.record(error)
      }
    }
    #expect(try folder.read().slots.map(\.number) == Array(1...17))
  }

  @Test func `a lock that is held too long is reported as busy`() throws {
    try folder.create(file)
    let held = try OpenFile(store + "/identity/lock", O_RDWR)
    try held.lock(waiting: 0)
    #expect(throws: VaultError.busy(group: nil)) { try IdentityFolder(store: store, waiting: 50).change { _ in } }
    held.unlock()
    #expect(throws: Never.self) { try IdentityFolder(store: store, waiting: 50).change { _ in } }
  }

  @Test(arguments: ["FIFO", "link", "folder"])
  func `a lock that is not a regular file is damage and does not hang`(kind: String) throws {
    try folder.create(file)
    temporary.remove("store/identity/lock")
    switch kind {
    case "FIFO": temporary.makeFIFO("store/identity/lock")
    case "link": temporary.makeLink("store/identity/lock", to: "/dev/null")
    default: temporary.makeFolder("store/identity/lock")
    }
    #expect(damage { try folder.change { _ in } } == .identity)
  }

  @Test func `the old identity stays if no byte can be written`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.changeWithoutSpace() }
  }

  @Test func `a folder without write permission can be read`() async {
    await #expect(processExitsWith: .success) { try ChildProcess.useReadOnlyFolder() }
  }

  /// The level of the damage that `body` throws, or `nil` if it throws none.
  private func damage<Result>(_ body: () throws -> Result) -> VaultError.Level? {
    do { _ = try body() } catch VaultError.damaged(_, let level, _) { return level } catch {}
    return nil
  }
}

/// The code that the exit tests run in a separate process.
private enum ChildProcess {
  static func changeWithoutSpace() throws {
    let temporary = TemporaryFolder()
    let identity = try Identity.testing()
    let file = IdentityFile(
      ownerKey: identity.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: identity))
    let folder = IdentityFolder(store: temporary.file("store"))
    try folder.create(file)
    signal(SIGXFSZ, SIG_IGN)
    var little = rlimit(rlim_cur: 100, rlim_max: 100)
    try #require(unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &little) == 0)
    let slot = try Slot(number: 2, key: key(2), use: .systemdCredential, sealing: identity)
    #expect(throws: VaultError.storage(.fileTooLarge)) {
      try folder.change { (file) throws(VaultError) in try file.add(slot) }
    }
    #expect(try folder.read() == file)
    #expect(temporary.names(in: "store/identity") == ["identity", "lock"])
  }

  static func useReadOnlyFolder() throws {
    let temporary = TemporaryFolder()
    if geteuid() == 0 { try #require(unsafe chown(temporary.path, 65_533, 65_533) == 0 && setuid(65_533) == 0) }
    let identity = try Identity.testing()
    let file = IdentityFile(
      ownerKey: identity.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: identity))
    let folder = IdentityFolder(store: temporary.file("store"))
    try folder.create(file)
    temporary.setMode("store/identity", 0o500)
    temporary.setMode("store", 0o500)
    #expect(try folder.read() == file)
    let slot = try Slot(number: 2, key: key(2), use: .systemdCredential, sealing: identity)
    #expect(throws: VaultError.denied(.file(.identity, .denied))) {
      try folder.change { (file) throws(VaultError) in try file.add(slot) }
    }
    #expect(throws: VaultError.denied(.file(.store, .denied))) {
      try IdentityFolder(store: temporary.file("store/deeper")).create(file)
    }
    temporary.setMode("store", 0o000)
    #expect(throws: VaultError.denied(.file(.store, .denied))) { try folder.read() }
    temporary.setMode("store", 0o700)
    temporary.setMode("store/identity", 0o700)
  }
}

extension IdentityFolder {
  /// Changes the identity file without a record of it.
  fileprivate func change<Result>(
    _ body: (inout IdentityFile) throws(VaultError) -> Result
  ) throws(VaultError) -> Result {
    try change { (found, write) throws(VaultError) in
      var file = found
      let result = try body(&file)
      try write(file)
      return result
    }
  }
}
