import Foundation
import GroupFile
import Sealing
import Testing

@testable import Vault

private enum Keyring {
  static let isThere: Bool = {
    let name = "vault1:test:\(getpid())"
    guard let content = try? GuardedBytes(count: 1), (try? KernelKeyring.keep(content, as: name, for: 60)) != nil else {
      return false
    }
    return KernelKeyring.forget(name)
  }()
}

@Suite(.enabled(if: Keyring.isThere, "the kernel keeps no keys here")) final class KernelKeyringTests {
  private let store: StoreFixture
  private let ownerKey: PublicKey

  init() throws {
    store = try StoreFixture()
    ownerKey = try store.location.identityFolder.read().ownerKey
  }

  deinit { _ = UnlockedRecord.forget(ownerKey) }

  private func seed() throws -> MemberSeed { MemberSeed(try Key.random()) }

  private var soon: UInt64 { SystemClock.milliseconds() + 60_000 }

  /// Replaces the bytes of the store's record.
  private func plant(_ bytes: [UInt8]) throws {
    let content = try unsafe bytes.withUnsafeBytes { unsafe try GuardedBytes(copying: $0) }
    try KernelKeyring.keep(content, as: "vault1:" + ownerKey.hexadecimal, for: 60)
  }

  private func record(_ owner: PublicKey, _ seed: [UInt8], _ deadline: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(owner)
    writer.write(seed)
    writer.write(deadline)
    return writer.bytes
  }

  @Test func `a record reads back as it was stored`() throws {
    let member = try seed()
    let deadline = soon
    try UnlockedRecord(ownerKey, member, until: deadline).keep(for: 60, as: ownerKey)
    let found = try #require(UnlockedRecord(of: ownerKey))
    #expect(found.deadline == deadline)
    #expect(try found.member().signingPublicKey == member.signingPublicKey)
    #expect(UnlockedRecord.forget(ownerKey))
    #expect(UnlockedRecord(of: ownerKey) == nil)
    #expect(!UnlockedRecord.forget(ownerKey))
  }

  @Test func `bytes that are not a record of this owner are ignored`() throws {
    let seed = [UInt8](repeating: 7, count: 32)
    let other = try #require(PublicKey([UInt8](repeating: 9, count: 32)))
    let good = record(ownerKey, seed, soon)
    let bad = [
      Array(good.dropLast()), good + [0], [0], record(other, seed, soon), record(ownerKey, seed, 1),
      record(ownerKey, seed, .max), record(ownerKey, seed, SystemClock.milliseconds() + UnlockedRecord.longest * 2),
    ]
    for bytes in bad {
      try plant(bytes)
      #expect(UnlockedRecord(of: ownerKey) == nil)
      // The key file is used as if the keyring were empty.
      #expect(try SecretStore.status(at: store.location).unlockedUntil == nil)
      #expect(try SecretStore.open(at: store.location).group("default").items().isEmpty)
    }
    try plant(good)
    #expect(UnlockedRecord(of: ownerKey) != nil)
  }

  @Test func `a seed in the keyring that is not the owner's opens no group`() throws {
    try plant(record(ownerKey, [UInt8](repeating: 7, count: 32), soon))
    let planted = try SecretStore.open(at: store.location)
    #expect(throws: VaultError.self) { try planted.group("default").items() }
    #expect(throws: VaultError.self) { try planted.group("default").set("a", to: 1) }
  }

  @Test func `an application's seed in the keyring is not mistaken for the owner's`() throws {
    let owner = try store.open()
    try owner.createGroup("team")
    let identity = try owner.owner()
    let credential = store.folder + "/credential"
    _ = try owner.applications.issue("app.one", to: credential, grants: [.init(.write, in: "team")])
    let seed = try identity.seed(application: "app.one", issue: 1)
    try UnlockedRecord(ownerKey, seed, until: soon).keep(for: 60, as: ownerKey)
    let planted = try SecretStore.open(at: store.location)
    #expect(throws: VaultError.self) { try planted.group("team").items() }
  }

  @Test func `the library opens an unlocked store, and opens the key file again for the owner's operations`() throws {
    try SecretStore.unlock(at: store.location, unlocking: .keyFile(store.keyFile), for: .seconds(60))
    let unlocked = try SecretStore.open(at: store.location)
    try unlocked.group("default").set("a", to: 1)
    try unlocked.createGroup("team")
    #expect(try unlocked.status().unlockedUntil != nil)
    try FileManager.default.removeItem(atPath: store.keyFile)
    #expect(try SecretStore.open(at: store.location).group("default").items().map(\.name.description) == ["a"])
    #expect(throws: VaultError.ownerNeeded(.keyFile(.missing, path: store.keyFile))) {
      try SecretStore.open(at: store.location).createGroup("other")
    }
    #expect(try SecretStore.lock(at: store.location))
    #expect(throws: VaultError.locked(.keyFile(.missing, path: store.keyFile))) {
      try SecretStore.open(at: store.location)
    }
  }

  @Test func `a store is unlocked for a second at least and a week at most, and never by an application`() throws {
    let refused = VaultError.invalid("a store can be unlocked for 1 second to 7 days")
    for duration in [Duration.seconds(-1), .zero, .milliseconds(999), .seconds(604_801)] {
      #expect(throws: refused) {
        try SecretStore.unlock(at: store.location, unlocking: .keyFile(store.keyFile), for: duration)
      }
    }
    let credential = store.folder + "/credential"
    _ = try store.open().applications.issue("app.one", to: credential)
    #expect(throws: VaultError.denied(.ownerOnly)) {
      try SecretStore.unlock(at: store.location, unlocking: .credential(credential), for: .seconds(60))
    }
    #expect(UnlockedRecord(of: ownerKey) == nil)
  }

  @Test func `an unlocked store gives the owner's powers to nobody who owns another store in its place`() throws {
    try UnlockedRecord(ownerKey, seed(), until: soon).keep(for: 60, as: ownerKey)
    let other = try Identity.testing()
    let unlocked = try #require(try UnlockedOwner(ownerKey) { (_) throws(VaultError) in other })
    #expect(throws: VaultError.contradiction(.anotherStore)) { try unlocked.identity() }
    #expect(!unlocked.isOpen)
  }
}
