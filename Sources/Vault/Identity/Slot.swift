internal import Sealing

/// One way to open the root seed: a passphrase, or a key with full entropy (format article, "Slots").
struct Slot: Equatable, Sendable {
  /// The kind of secret that opens the slot. All kinds but a passphrase are keys of 32 bytes.
  let use: SlotInfo.Kind
  /// Identifies the slot; the numbers rise within the file.
  let number: UInt16
  /// The costs of stretching a passphrase; zeros for a key.
  let cost: Passphrase.Cost
  let salt: [UInt8]
  private let check: [UInt8]
  private let nonce: Nonce
  private let sealedSeed: [UInt8]

  /// The number of bytes of a slot: 116.
  static let byteCount = 116

  /// A slot that `passphrase` opens.
  ///
  /// - Throws: `overLimit` before any expensive work; `storage`.
  init(
    number: UInt16, passphrase: GuardedBytes, cost: Passphrase.Cost = .moderate, sealing identity: Identity,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    let key = try Vault.sealing { () throws(SealingError) in
      try Passphrase.stretch(passphrase, salt: salt, cost: cost)
    }
    self.init(
      use: .passphrase, number: number, cost: cost, salt: salt, slotKey: key, sealing: identity, nonce: nonce)
  }

  /// A slot that `key` opens; `use` must not be a passphrase.
  ///
  /// - Throws: `storage`.
  init(
    number: UInt16, key: borrowing Key, use: SlotInfo.Kind, sealing identity: Identity,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    precondition(use != .passphrase)
    let slotKey: Key
    do { slotKey = try key.derive(.slotKey, salt) } catch { throw VaultError(error) }
    self.init(
      use: use, number: number, cost: .none, salt: salt, slotKey: slotKey, sealing: identity, nonce: nonce)
  }

  private init(
    use: SlotInfo.Kind, number: UInt16, cost: Passphrase.Cost, salt: [UInt8], slotKey: borrowing Key,
    sealing identity: Identity, nonce: Nonce
  ) {
    self.use = use
    self.number = number
    self.cost = cost
    self.salt = salt
    let header = Slot.header(use, number, cost, salt, identity.ownerKey)
    check = Slot.check(slotKey, header)
    self.nonce = nonce
    sealedSeed = unsafe identity.withRootSeed { seed in
      unsafe SealedBox.seal(seed, key: slotKey, nonce: nonce, binding: header)
    }
  }

  // MARK: - Opening

  /// Opens a passphrase's slot.
  ///
  /// - Throws: `wrongKey` for another passphrase; `damaged` if the passphrase is right but the rest of the slot is not;
  ///   `overLimit` for unreasonable costs; `storage`.
  func open(passphrase: GuardedBytes, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let key = try Vault.sealing { () throws(SealingError) in
      try Passphrase.stretch(passphrase, salt: salt, cost: cost)
    }
    return try open(slotKey: key, ownerKey: ownerKey)
  }

  /// Opens a key's slot.
  ///
  /// - Throws: `wrongKey` for another key; `damaged` if the key is right but the rest of the slot is not; `storage`.
  func open(key: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let slotKey: Key
    do { slotKey = try key.derive(.slotKey, salt) } catch { throw VaultError(error) }
    return try open(slotKey: slotKey, ownerKey: ownerKey)
  }

  private func open(slotKey: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let header = Slot.header(use, number, cost, salt, ownerKey)
    // Constant time: the time does not reveal where the values differ.
    let difference = zip(Slot.check(slotKey, header), check).reduce(0) { $0 | ($1.0 ^ $1.1) }
    guard difference == 0 else { throw .wrongKey(use) }
    do throws(SealingError) {
      let seed = try SealedBox.open(sealedSeed, key: slotKey, nonce: nonce, binding: header)
      let identity = try Identity(rootSeed: try Key(seed))
      guard identity.ownerKey == ownerKey else { throw SealingError.doesNotOpen }
      return identity
    } catch {
      if error == .outOfMemory { throw VaultError(error) }
      throw .damaged(.slot, "the key is right, but the slot does not open the owner's seed")
    }
  }

  // MARK: - Bytes

  private static func check(_ slotKey: borrowing Key, _ header: [UInt8]) -> [UInt8] {
    Array(slotKey.mac(.slotCheck, header).bytes.prefix(16))
  }

  private static func header(
    _ use: SlotInfo.Kind, _ number: UInt16, _ cost: Passphrase.Cost, _ salt: [UInt8], _ ownerKey: PublicKey
  ) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 76)
    writer.write(.slot)
    writer.write(ownerKey)
    write(use, number, cost, salt, to: &writer)
    return writer.bytes
  }

  private static func write(
    _ use: SlotInfo.Kind, _ number: UInt16, _ cost: Passphrase.Cost, _ salt: [UInt8], to writer: inout ByteWriter
  ) {
    writer.write(use.kind)
    writer.write(use.rawValue)
    writer.write(number)
    writer.write(cost.passes)
    writer.write(cost.memoryKiB)
    writer.write(salt)
  }

  /// Appends the slot's 116 bytes.
  func write(to writer: inout ByteWriter) {
    Slot.write(use, number, cost, salt, to: &writer)
    writer.write(check)
    writer.write(nonce.bytes)
    writer.write(sealedSeed)
  }

  /// The errors of reading a slot.
  enum Failure: Error { case malformed, newerKind }

  /// Reads a slot of 116 bytes.
  ///
  /// The costs are not checked here but when the slot is opened, so that one slot's costs do not block the others.
  init(from reader: inout ByteReader) throws(Failure) {
    do {
      let kind = try reader.read(UInt8.self)
      guard let use = SlotInfo.Kind(rawValue: try reader.read(UInt8.self)), use.kind == kind else {
        throw Failure.newerKind
      }
      self.use = use
      number = try reader.read(UInt16.self)
      cost = Passphrase.Cost(passes: try reader.read(UInt32.self), memoryKiB: try reader.read(UInt32.self))
      salt = Array(try reader.read(count: 16))
      check = Array(try reader.read(count: 16))
      nonce = Nonce(try reader.read(count: Nonce.byteCount))!
      sealedSeed = Array(try reader.read(count: Key.byteCount + SealedBox.overhead))
    } catch let error as Failure {
      throw error
    } catch {
      throw .malformed
    }
    guard use == .passphrase || cost == .none else { throw .malformed }
  }
}

extension SlotInfo.Kind {
  /// 1 for a passphrase, 2 for a key with full entropy.
  fileprivate var kind: UInt8 { self == .passphrase ? 1 : 2 }
}

extension Passphrase.Cost {
  /// The costs of a slot for a key, which is not stretched.
  fileprivate static let none = Passphrase.Cost(passes: 0, memoryKiB: 0)

  /// These costs, with each value below `least` raised to it; nothing is lowered. Unreasonable costs become `least`.
  func raised(to least: Passphrase.Cost) -> Passphrase.Cost {
    guard isWithinLimits else { return least }
    let raised = Passphrase.Cost(passes: max(passes, least.passes), memoryKiB: max(memoryKiB, least.memoryKiB))
    return raised.isWithinLimits ? raised : self
  }
}

extension Label {
  fileprivate static let slot = Label("vault1.slot")
  fileprivate static let slotCheck = Label("vault1.slot.chk")
  fileprivate static let slotKey = Label("vault1.slot.key")
}

/// A way to open the store, as the identity file describes it. It reveals nothing about the passphrase or key.
public struct SlotInfo: Sendable, Equatable {
  /// Identifies the slot: ``SecretStore/removeSlot(_:)`` takes it.
  public let number: Int
  public let kind: Kind
  /// The costs of stretching a passphrase; `nil` for a key, which needs no stretching.
  public let cost: Cost?

  /// The kind of secret that opens a slot.
  @nonexhaustive
  public enum Kind: UInt8, Sendable {
    case passphrase = 1
    case keyFile, recoveryCode, systemdCredential

    /// The kind in words, such as "key file".
    public var name: String {
      switch self {
      case .passphrase: "passphrase"
      case .keyFile: "key file"
      case .recoveryCode: "recovery code"
      case .systemdCredential: "systemd credential"
      }
    }
  }

  /// The cost of each guess of a passphrase: Argon2id.
  public struct Cost: Sendable, Equatable {
    /// The number of passes over the memory.
    public let passes: Int
    /// The memory, in KiB.
    public let memoryKiB: Int
  }
}

extension SlotInfo {
  init(_ slot: Slot) {
    number = Int(slot.number)
    kind = slot.use
    let cost = Cost(passes: Int(slot.cost.passes), memoryKiB: Int(slot.cost.memoryKiB))
    self.cost = slot.use == .passphrase ? cost : nil
  }
}
