internal import Sealing

/// The root seed of a store's owner, and the keys derived from it (format article, "Keys").
final class Identity: Sendable {
  /// The public key that verifies rosters; it identifies the owner.
  let ownerKey: PublicKey

  /// Elsewhere it is only sealed in slots.
  let rootSeed: Key
  private let signing: Locked<SigningKey?>

  init(rootSeed: consuming Key) throws(SealingError) {
    let key = try SigningKey(seed: try rootSeed.derive(.ownerSigning))
    ownerKey = key.publicKey
    signing = Locked(key)
    self.rootSeed = rootSeed
  }

  /// The identity that a slot holds. Whether `ownerKey` is the seed's own key is found out when it matters: a get whose
  /// group was read before does without.
  init(rootSeed: consuming Key, claiming ownerKey: PublicKey) {
    self.ownerKey = ownerKey
    signing = Locked(nil)
    self.rootSeed = rootSeed
  }

  static func random() throws(SealingError) -> Identity { try Identity(rootSeed: try Key.random()) }

  /// The key that signs rosters; it signs nothing else.
  ///
  /// - Throws: `damaged(.slot, …)` if the owner's key is not the root seed's; `storage`.
  func rosterSigningKey() throws(VaultError) -> SigningKey {
    try signing.withLock { (known) throws(VaultError) in
      if let known { return known }
      let key = try sealing(SigningKey(seed: try rootSeed.derive(.ownerSigning)))
      guard key.publicKey == ownerKey else { throw .damaged(.slot, "the seed in it is another owner's") }
      known = key
      return key
    }
  }

  /// Confirms that the owner's key is the root seed's, as ``rosterSigningKey()`` does.
  func confirmOwner() throws(VaultError) { _ = try rosterSigningKey() }

  func registryMember() throws(SealingError) -> MemberSeed { MemberSeed(try rootSeed.derive(.registry)) }

  /// The owner as a member of their groups.
  func personalMember() throws(SealingError) -> MemberSeed { MemberSeed(try rootSeed.derive(.personal)) }

  /// The key that opens the record of decisions.
  func auditKey() throws(SealingError) -> RecipientKey { try RecipientKey(seed: try rootSeed.derive(.audit)) }

  /// An application as a member of groups; the same id and issue give the same member.
  func seed(application id: String, issue: UInt32) throws(SealingError) -> MemberSeed {
    var place = ByteWriter()
    place.write(issue)
    place.write(Array(id.utf8))
    return MemberSeed(try rootSeed.derive(.applicationRoot).derive(.applicationSeed, place.bytes))
  }
}

extension Label {
  fileprivate static let ownerSigning = Label("vault1.owner.sig")
  fileprivate static let registry = Label("vault1.registry")
  fileprivate static let personal = Label("vault1.self")
  fileprivate static let audit = Label("vault1.audit")
  fileprivate static let applicationRoot = Label("vault1.app.root")
  fileprivate static let applicationSeed = Label("vault1.app.seed")
}

/// The content of the identity file: the owner's key, and the slots that open the root seed (format article, "The
/// identity file").
struct IdentityFile: Equatable, Sendable {
  let ownerKey: PublicKey
  /// Sorted by number; at least one slot, and at most one for a passphrase.
  private(set) var slots: [Slot]

  static let slotLimit = 64
  static let byteLimit = 50 + slotLimit * Slot.byteCount + Digest.byteCount

  init(ownerKey: PublicKey, first: Slot) { (self.ownerKey, slots) = (ownerKey, [first]) }

  /// - Throws: `locked` if there is no passphrase slot; as ``Slot/open(passphrase:ownerKey:)``.
  func unlock(passphrase: GuardedBytes) throws(VaultError) -> (identity: Identity, slot: Slot) {
    guard let slot = slots.first(where: { $0.kind == .passphrase }) else { throw .locked(.noSlot(.passphrase)) }
    return (try slot.open(passphrase: passphrase, ownerKey: ownerKey), slot)
  }

  /// - Throws: `locked` if there is no slot of this use; `wrongKey` if the key opens none of them; as
  ///   ``Slot/open(key:ownerKey:)``.
  func unlock(key: borrowing Key, use: Slot.Kind) throws(VaultError) -> (identity: Identity, slot: Slot) {
    var error = VaultError.locked(.noSlot(use))
    for slot in slots where slot.kind == use {
      do throws(VaultError) {
        return (try slot.open(key: key, ownerKey: ownerKey), slot)
      } catch .wrongKey(use) {
        error = .wrongKey(use)
      }
    }
    throw error
  }

  func nextNumber() throws(VaultError) -> Int {
    guard slots.count < IdentityFile.slotLimit, let last = slots.last?.number, last < Int(UInt16.max) else {
      throw .overLimit("\(IdentityFile.slotLimit) slots")
    }
    return last + 1
  }

  /// Adds a slot whose number is ``nextNumber()``; throws `exists` for a second passphrase.
  mutating func add(_ slot: Slot) throws(VaultError) {
    if slot.kind == .passphrase, slots.contains(where: { $0.kind == .passphrase }) { throw .exists(.passphraseSlot) }
    let number = try nextNumber()
    precondition(slot.number == number)
    slots.append(slot)
  }

  /// Replaces the passphrase, or adds one.
  ///
  /// - Parameter least: the minimum costs of the new slot; higher costs are kept.
  /// - Throws: `overLimit`, `storage`.
  mutating func setPassphrase(
    _ passphrase: GuardedBytes, cost least: Passphrase.Cost = .moderate, of identity: Identity
  ) throws(VaultError) {
    let index = slots.firstIndex { $0.kind == .passphrase }
    let number = if let index { slots[index].number } else { try nextNumber() }
    let cost = index.map { slots[$0].stretching.raised(to: least) } ?? least
    let slot = try Slot(number: number, passphrase: passphrase, cost: cost, sealing: identity)
    if let index { slots[index] = slot } else { try add(slot) }
  }

  mutating func remove(number: Int) throws(VaultError) {
    guard let index = slots.firstIndex(where: { $0.number == number }) else { throw .notFound(.slot(number)) }
    guard slots.count > 1 else { throw .contradiction(.lastSlot) }
    slots.remove(at: index)
  }

  func serialized() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: IdentityFile.byteLimit)
    writer.write(.identity)
    writer.write(ownerKey)
    writer.write(UInt16(slots.count))
    for slot in slots { slot.write(to: &writer) }
    writer.write(Hash.digest(.identityHash, writer.bytes))
    return writer.bytes
  }

  init(parsing bytes: [UInt8]) throws(VaultError) {
    guard var reader = try CheckedFile.reader(of: bytes, .identity, hash: .identityHash) else {
      throw .damaged(.identity, "it is not a vault identity, or was altered")
    }
    do {
      ownerKey = try reader.readBytes32()
      let count = Int(try reader.read(UInt16.self))
      slots = []
      for _ in 0..<count { slots.append(try Slot(from: &reader)) }
      try reader.finish()
    } catch {
      throw error as? VaultError ?? .damaged(.identity, "its fields do not follow the format")
    }
    guard (1...IdentityFile.slotLimit).contains(slots.count),
      zip(slots, slots.dropFirst()).allSatisfy({ $0.number < $1.number }),
      slots.count(where: { $0.kind == .passphrase }) <= 1
    else { throw .damaged(.identity, "its list of slots does not follow the format") }
  }
}

extension Label {
  static let identity = Label("vault1.identity")
  fileprivate static let identityHash = Label("vault1.id.hash")
}
