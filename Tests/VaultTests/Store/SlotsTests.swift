import Foundation
import Glibc
import Sealing
import TestSupport
import Testing

@testable import Vault

/// An owner adds and removes the slots of a store.
@Suite struct SlotsTests {
  private let store: StoreFixture

  init() throws { store = try StoreFixture() }

  private var identityPath: String { store.folder + "/home/identity/identity" }
  private var bytes: [UInt8] { get throws { Array(try Data(contentsOf: URL(fileURLWithPath: identityPath))) } }
  private var slots: [Slot] { get throws { try store.location.identity().slots } }

  /// The 116 bytes of each slot, by slot number.
  private func rawSlots() throws -> [Int: [UInt8]] {
    let bytes = try bytes
    var slots: [Int: [UInt8]] = [:]
    for start in stride(from: 50, to: bytes.count - 32, by: Slot.byteCount) {
      slots[Int(bytes[start + 2]) << 8 | Int(bytes[start + 3])] = Array(bytes[start..<start + Slot.byteCount])
    }
    return slots
  }

  private func write(_ file: IdentityFile) throws {
    try Data(file.serialized()).write(to: URL(fileURLWithPath: identityPath))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: identityPath)
  }

  private func file() throws -> IdentityFile { try IdentityFile(parsing: bytes) }

  private func opened(by unlocking: consuming Unlocking) throws -> Bool {
    let store = try SecretStore.open(at: store.location, unlocking: unlocking)
    return try store.group("default").items().isEmpty
  }

  private func text(_ secret: borrowing Secret) throws -> String {
    try #require(unsafe secret.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) })
  }

  /// Sets the passphrase slot's costs so low that a test can run them.
  private func makePassphraseCheap(_ text: String, _ cost: Passphrase.Cost = cheap) throws {
    let identity = try store.open().owner()
    var file = try file()
    if let old = file.slots.first(where: { $0.kind == .passphrase }) { try file.remove(number: old.number) }
    let slot = try Slot(number: file.nextNumber(), passphrase: passphrase(text), cost: cost, sealing: identity)
    try file.add(slot)
    try write(file)
  }

  @Test func `passphrase, key file, recovery code and systemd credential each open the store`() throws {
    let owner = try store.open()
    #expect(try owner.addPassphrase(Secret("correct horse")).kind == .passphrase)
    #expect(try owner.addKeyFile(store.folder + "/second").kind == .keyFile)
    let recovery = try owner.createRecoveryCode()
    let code = try text(recovery.code)
    #expect(try owner.addSystemdCredential(at: store.folder + "/vault").kind == .systemdCredential)
    #expect(try slots.map(\.kind) == [.keyFile, .passphrase, .keyFile, .recoveryCode, .systemdCredential])
    #expect(try slots.map(\.number) == [1, 2, 3, 4, 5])

    #expect(try opened(by: .passphrase(Secret("correct horse"))))
    #expect(try opened(by: .keyFile(store.keyFile)))
    #expect(try opened(by: .keyFile(store.folder + "/second")))
    #expect(try opened(by: .recoveryCode(Secret(code))))
    #expect(try opened(by: .recoveryCode(Secret(code.lowercased().replacing("-", with: " ")))))
    let service = try StoreLocation(environment: [
      "VAULT_HOME": store.folder + "/home", "VAULT_STATE": store.folder + "/state",
      "CREDENTIALS_DIRECTORY": store.folder,
    ])
    #expect(try SecretStore.open(at: service).group("default").items().isEmpty)
  }

  @Test func `a key file is not added in a folder that is missing, such as that of a disk that is not mounted`() throws
  {
    let owner = try store.open()
    let before = try slots
    #expect(throws: VaultError.locked(.keyFileFolder(.missing))) { try owner.addKeyFile(store.folder + "/stick/key") }
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/stick"))
    #expect(try slots == before)
  }

  @Test func `a new key file takes the place of a lost one, and until then the passphrase is asked for`() throws {
    let owner = try store.open()
    let location = store.location
    let ownerKey = try location.identityFolder.read().ownerKey
    _ = location.remember(keyFile: store.keyFile, of: ownerKey)
    try owner.addKeyFile(store.folder + "/second")
    #expect(try location.rememberedKeyFile(of: ownerKey).get() == store.keyFile)
    try makePassphraseCheap("correct horse")
    try FileManager.default.removeItem(atPath: store.keyFile)
    #expect(throws: VaultError.locked(.keyFile(.missing, path: store.keyFile))) { try SecretStore.open(at: location) }
    #expect(throws: VaultError.locked(.keyFile(.missing, path: store.keyFile))) {
      try SecretStore.open(
        at: location, unlocking: .automatic { () throws(VaultError) in throw .locked(.nobodyToAsk("no terminal")) })
    }
    #expect(try opened(by: .automatic { () throws(VaultError) in try Secret("correct horse") }))
    try owner.addKeyFile(store.folder + "/third")
    #expect(owner.takeNotices() == [.keyFileReplaced(store.keyFile)])
    #expect(try location.rememberedKeyFile(of: ownerKey).get() == store.folder + "/third")
    #expect(try SecretStore.open(at: location).group("default").items().isEmpty)
  }

  @Test func `changing one slot leaves the bytes of the others unchanged`() throws {
    let owner = try store.open()
    try owner.addSystemdCredential(at: store.folder + "/vault")
    _ = try owner.createRecoveryCode()
    try owner.addPassphrase(Secret("one"))
    var before = try rawSlots()
    try owner.changePassphrase(to: Secret("two"))
    var after = try rawSlots()
    #expect(before[4] != after[4] && after.count == 4)
    before[4] = nil
    after[4] = nil
    #expect(before == after)
    try owner.removeSlot(2)
    before[2] = nil
    #expect(try rawSlots().filter { $0.key != 4 } == before)
  }

  @Test func `the last slot of any kind cannot be removed`() throws {
    let owner = try store.open()
    #expect(throws: VaultError.contradiction(.lastSlot)) {
      try owner.removeSlot(1)
    }
    _ = try owner.createRecoveryCode()
    try owner.removeSlot(1)
    let before = try bytes
    #expect(throws: VaultError.contradiction(.lastSlot)) {
      try owner.removeSlot(2)
    }
    #expect(try bytes == before)
  }

  @Test(arguments: [0, 9, -1, 65_536, Int.max]) func `a slot that does not exist cannot be removed`(number: Int) throws
  {
    _ = try store.open().createRecoveryCode()
    #expect(throws: VaultError.notFound(.slot(number))) { try store.open().removeSlot(number) }
  }

  @Test func `a removed slot opens nothing`() throws {
    let owner = try store.open()
    let made = try owner.createRecoveryCode()
    let code = try text(made.code)
    let kept = try owner.createRecoveryCode()
    #expect(kept.others == [made.slot])
    try owner.removeSlot(made.slot)
    #expect(throws: VaultError.wrongKey(.recoveryCode)) { try opened(by: .recoveryCode(Secret(code))) }
    try owner.removeSlot(kept.slot)
    #expect(throws: VaultError.locked(.noSlot(.recoveryCode))) {
      try opened(by: .recoveryCode(Secret(code)))
    }
  }

  @Test func `the remembered key file is forgotten only with its slot`() throws {
    let owner = try store.open()
    try owner.addKeyFile(store.folder + "/second")
    try owner.removeSlot(2)
    #expect(try SecretStore.open(at: store.location).groupNames() == ["default"])
    try owner.addKeyFile(store.folder + "/second")
    try owner.removeSlot(1)
    let forgotten = "the state folder '\(store.folder)/state' does not remember it"
    #expect(throws: VaultError.locked(.nothingNamed([.keyFile], forgotten))) {
      try SecretStore.open(at: store.location)
    }
  }

  @Test func `a key file is remembered if nothing else would open the store without being named`() throws {
    let owner = try store.open()
    let ownerKey = try store.location.identityFolder.read().ownerKey
    try owner.addKeyFile(store.folder + "/second")
    try owner.removeSlot(1)
    #expect(try store.location.rememberedKeyFile(of: ownerKey).get() == nil)
    try owner.addKeyFile(store.folder + "/third")
    #expect(try store.location.rememberedKeyFile(of: ownerKey).get() == store.folder + "/third")
    #expect(try SecretStore.open(at: store.location).groupNames() == ["default"])
    try owner.removeSlot(3)
    try owner.addPassphrase(Secret("correct horse"))
    try owner.addKeyFile(store.folder + "/fourth")
    #expect(try store.location.rememberedKeyFile(of: ownerKey).get() == nil)
  }

  @Test func `another store's key file in the same state folder is not tried for a store without key files`()
    throws
  {
    let other = try StoreLocation(home: store.folder + "/other", state: store.folder + "/state")
    try SecretStore.create(at: other, with: .passphrase(Secret("one")))
    #expect(try SecretStore.open(at: store.location).groupNames() == ["default"])
    let opened = try SecretStore.open(
      at: other, unlocking: .automatic(prompt: { () throws(VaultError) in try Secret("one") }))
    #expect(try opened.groupNames() == ["default"])
  }

  @Test func `a store has at most one passphrase and one key file slot`() throws {
    let owner = try store.open()
    try owner.addPassphrase(Secret("one"))
    #expect(throws: VaultError.exists(.passphraseSlot)) { try owner.addPassphrase(Secret("two")) }
    #expect(throws: VaultError.exists(.keyFileSlot)) { try owner.addKeyFile(store.keyFile) }
    #expect(throws: VaultError.invalid("a passphrase must not be empty")) { try owner.addPassphrase(Secret("")) }
    #expect(try slots.count == 2)
  }

  @Test func `a systemd key has 32 bytes, is accessible to its owner alone, and overwrites nothing`() throws {
    let path = store.folder + "/vault"
    try store.open().addSystemdCredential(at: path)
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    #expect(attributes[.size] as? Int == 32 && attributes[.posixPermissions] as? Int == 0o600)
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(throws: VaultError.exists(.file)) { try store.open().addSystemdCredential(at: path) }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    #expect(try slots.count == 2)
  }

  @Test func `no file is left if a slot cannot be added`() throws {
    let owner = try store.open()
    let identity = try owner.owner()
    var file = try file()
    while file.slots.count < IdentityFile.slotLimit {
      try file.add(try Slot(number: file.nextNumber(), key: key(7), use: .systemdCredential, sealing: identity))
    }
    try write(file)
    let path = store.folder + "/new"
    #expect(throws: VaultError.overLimit("64 slots")) { try owner.addSystemdCredential(at: path) }
    #expect(throws: VaultError.overLimit("64 slots")) { try owner.addKeyFile(path) }
    #expect(throws: VaultError.overLimit("64 slots")) { try owner.addPassphrase(Secret("one")) }
    #expect(throws: VaultError.overLimit("64 slots")) { _ = try owner.createRecoveryCode() }
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(try slots.count == 64)
    try owner.removeSlot(64)
    try owner.addSystemdCredential(at: path)
    #expect(try slots.last?.number == 64)
  }

  // MARK: - Costs

  @Test func `a changed passphrase costs at least the present default and never less than before`() throws {
    let usual = Slot.Cost(passes: 3, memoryKiB: 262_144)
    try makePassphraseCheap("cheap")
    #expect(try slots.last?.cost == Slot.Cost(passes: 1, memoryKiB: 8_192))
    try store.open().changePassphrase(to: Secret("usual"))
    #expect(try slots.last?.cost == usual)
    try makePassphraseCheap("dear", Passphrase.Cost(passes: 5, memoryKiB: 8_192))
    try store.open().changePassphrase(to: Secret("usual"))
    #expect(try slots.last?.cost == Slot.Cost(passes: 5, memoryKiB: 262_144))
    #expect(try opened(by: .passphrase(Secret("usual"))))
  }

  @Test(
    arguments: [
      ((1, 8_192), (3, 262_144)), ((3, 262_144), (3, 262_144)), ((16, 262_144), (16, 262_144)),
      ((4, 1_048_576), (4, 1_048_576)), ((1, 1_048_576), (3, 1_048_576)), ((16, 8_192), (16, 262_144)),
      // No program accepts these costs, and the passphrase was not stretched with them.
      ((17, 8_192), (3, 262_144)), ((0, 0), (3, 262_144)), ((1, UInt32.max), (3, 262_144)),
    ] as [((UInt32, UInt32), (UInt32, UInt32))])
  func `neither cost is lowered, and the result is within the limits`(
    old: (passes: UInt32, memory: UInt32), new: (passes: UInt32, memory: UInt32)
  ) {
    let raised = Passphrase.Cost(passes: old.passes, memoryKiB: old.memory).raised(to: .moderate)
    #expect(raised == Passphrase.Cost(passes: new.passes, memoryKiB: new.memory))
    #expect(raised.isWithinLimits)
  }

  // MARK: - Somebody else's bytes

  @Test func `an altered slot is damage for its own key and does not affect the others`() throws {
    let owner = try store.open()
    let made = try owner.createRecoveryCode()
    let code = try text(made.code)
    var covered = Array(try bytes.dropLast(32))
    covered[covered.count - 1] ^= 1
    try write(try IdentityFile(parsing: covered + Hash.digest(Label("vault1.id.hash"), covered).bytes))
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .slot, detail: "the key is right, but the slot does not open the owner's seed")
    ) { try opened(by: .recoveryCode(Secret(code))) }
    #expect(try opened(by: .keyFile(store.keyFile)))
  }

  @Test func `a store whose slot holds another owner's seed gives nothing and is not written`() throws {
    let path = store.folder + "/other"
    _ = try store.open().group("default").set("name", to: Secret("value"))
    let other = try KeyFile.make(path, outside: store.location.home)
    let ownerKey = try store.open().owner().ownerKey
    try write(IdentityFile(ownerKey: ownerKey, first: .holding(.random(), opening: other, ownerKey: ownerKey)))
    let group = try SecretStore.open(at: store.location, unlocking: .keyFile(path)).group("default")
    let refused = VaultError.damaged(group: nil, level: .slot, detail: "the seed in it is another owner's")
    #expect(throws: refused) { _ = try group.get("name") }
    #expect(throws: refused) { try group.set("name", to: Secret("new")) }
    #expect(throws: refused) {
      try SecretStore.unlock(at: store.location, unlocking: .keyFile(path), for: .seconds(60))
    }
  }

  @Test func `costs beyond the limits block only their slot, and a new passphrase repairs them`() throws {
    try store.open().addPassphrase(Secret("one"))
    var covered = Array(try bytes.dropLast(32))
    covered.replaceSubrange(50 + 116 + 4..<50 + 116 + 12, with: [UInt8](repeating: 0xFF, count: 8))
    try write(try IdentityFile(parsing: covered + Hash.digest(Label("vault1.id.hash"), covered).bytes))
    #expect(throws: VaultError.overLimit("the costs of a passphrase, or its length")) {
      try opened(by: .passphrase(Secret("one")))
    }
    try store.open().changePassphrase(to: Secret("two"))
    #expect(try opened(by: .passphrase(Secret("two"))))
  }

  @Test func `an identity that replaced this one is not changed`() throws {
    let owner = try store.open()
    let other = try Identity.testing()
    try write(
      IdentityFile(ownerKey: other.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: other)))
    let before = try bytes
    let expected = VaultError.damaged(
      group: nil, level: .identity, detail: "another store's identity has replaced it")
    #expect(throws: expected) { try owner.changePassphrase(to: Secret("new")) }
    #expect(throws: expected) { try owner.addKeyFile(store.folder + "/new") }
    #expect(throws: expected) { try owner.removeSlot(1) }
    #expect(throws: expected) { _ = try owner.createRecoveryCode() }
    #expect(throws: expected) { try owner.addSystemdCredential(at: store.folder + "/vault") }
    #expect(try bytes == before)
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/vault"))
  }

  @Test func `the identity file's public contents are shown without unlocking`() throws {
    try store.open().addPassphrase(Secret("one"))
    try FileManager.default.removeItem(atPath: store.keyFile)
    let shown = try store.location.identity()
    #expect(shown.slots.map(\.kind) == [.keyFile, .passphrase])
    #expect(shown.slots.map(\.cost) == [nil, Slot.Cost(passes: 3, memoryKiB: 262_144)])
    #expect(shown.ownerKey.hasPrefix(shown.shortName) && shown.shortName.count == 32)
    #expect(shown.places.map(\.what).contains("identity"))
    let elsewhere = try StoreLocation(home: store.folder + "/nowhere", state: store.folder + "/state")
    #expect(throws: VaultError.noStore(path: store.folder + "/nowhere")) { try elsewhere.identity() }
  }

  @Test func `no backup is made with an identity that replaced this one`() throws {
    let owner = try store.open()
    let other = try Identity.testing()
    try write(
      IdentityFile(ownerKey: other.ownerKey, first: try Slot(number: 1, key: key(1), use: .keyFile, sealing: other)))
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .identity, detail: "another store's identity has replaced it")
    ) { try owner.backUp(to: store.folder + "/backup") }
    #expect(!FileManager.default.fileExists(atPath: store.folder + "/backup"))
  }
}
