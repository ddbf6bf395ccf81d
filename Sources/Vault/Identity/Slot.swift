internal import Glibc
internal import Sealing

/// A way to open the store: a passphrase, or a key with full entropy (format article, "Slots"). It reveals nothing
/// about either.
public struct Slot: Sendable, Equatable {
  /// Identifies the slot: ``SecretStore/removeSlot(_:)`` takes it. The numbers rise within the identity file.
  public let number: Int
  /// The kind of secret that opens the slot. All kinds but a passphrase are keys of 32 bytes.
  public let kind: Kind
  /// The costs of stretching a passphrase; zeros for a key.
  let stretching: Passphrase.Cost
  let salt: [UInt8]
  private let check: [UInt8]
  private let nonce: Nonce
  private let sealedSeed: [UInt8]

  /// The kind of secret that opens a slot.
  public typealias Kind = SlotKind

  /// The cost of each guess of a passphrase: Argon2id.
  public struct Cost: Sendable, Equatable {
    /// The number of passes over the memory.
    public let passes: Int
    /// The memory, in KiB.
    public let memoryKiB: Int
  }

  /// The costs of stretching a passphrase; `nil` for a key, which needs no stretching.
  public var cost: Cost? {
    kind == .passphrase ? Cost(passes: Int(stretching.passes), memoryKiB: Int(stretching.memoryKiB)) : nil
  }

  static let byteCount = 116

  /// - Throws: `overLimit` before any expensive work; `storage`.
  init(
    number: Int, passphrase: GuardedBytes, cost: Passphrase.Cost = .moderate, sealing identity: Identity,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    let key = try Vault.sealing(Passphrase.stretch(passphrase, salt: salt, cost: cost))
    try self.init(.passphrase, number: number, cost: cost, salt: salt, slotKey: key, sealing: identity, nonce: nonce)
  }

  /// A slot that `key` opens; `use` must not be a passphrase.
  init(
    number: Int, key: borrowing Key, use: Kind, sealing identity: Identity,
    salt: [UInt8] = Randomness.bytes(Passphrase.saltByteCount), nonce: Nonce = Nonce()
  ) throws(VaultError) {
    precondition(use != .passphrase)
    let slotKey = try Vault.sealing(key.derive(.slotKey, salt))
    try self.init(use, number: number, cost: .none, salt: salt, slotKey: slotKey, sealing: identity, nonce: nonce)
  }

  private init(
    _ kind: Kind, number: Int, cost: Passphrase.Cost, salt: [UInt8], slotKey: borrowing Key,
    sealing identity: Identity, nonce: Nonce
  ) throws(VaultError) {
    try identity.confirmOwner()
    (self.kind, self.number, stretching, self.salt, self.nonce) = (kind, number, cost, salt, nonce)
    let header = Slot.header(kind, number, cost, salt, identity.ownerKey)
    check = slotKey.check(.slotCheck, header)
    sealedSeed = unsafe identity.rootSeed.withUnsafeBytes { seed in
      unsafe SealedBox.seal(seed, key: slotKey, nonce: nonce, binding: header)
    }
  }

  /// - Throws: `wrongKey` for another passphrase; `damaged` if the passphrase is right but the rest of the slot is not;
  ///   `overLimit` for unreasonable costs; `storage`.
  func open(passphrase: GuardedBytes, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let key = try sealing(Passphrase.stretch(passphrase, salt: salt, cost: stretching))
    return try open(slotKey: key, ownerKey: ownerKey)
  }

  /// - Throws: `wrongKey` for another key; `damaged` if the key is right but the rest of the slot is not; `storage`.
  func open(key: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    try open(slotKey: sealing(key.derive(.slotKey, salt)), ownerKey: ownerKey)
  }

  private func open(slotKey: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let header = Slot.header(kind, number, stretching, salt, ownerKey)
    guard slotKey.makes(check, .slotCheck, header) else { throw .wrongKey(kind) }
    do throws(SealingError) {
      let seed = try SealedBox.open(sealedSeed, key: slotKey, nonce: nonce, binding: header)
      return Identity(rootSeed: try Key(seed), claiming: ownerKey)
    } catch {
      if error == .outOfMemory { throw VaultError(error) }
      throw .damaged(.slot, "the key is right, but the slot does not open the owner's seed")
    }
  }

  private static func header(
    _ use: Kind, _ number: Int, _ cost: Passphrase.Cost, _ salt: [UInt8], _ ownerKey: PublicKey
  ) -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 76)
    writer.write(.slot)
    writer.write(ownerKey)
    write(use, number, cost, salt, to: &writer)
    return writer.bytes
  }

  private static func write(
    _ use: Kind, _ number: Int, _ cost: Passphrase.Cost, _ salt: [UInt8], to writer: inout ByteWriter
  ) {
    writer.write(use.material)
    writer.write(use.rawValue)
    writer.write(UInt16(number))
    writer.write(cost.passes)
    writer.write(cost.memoryKiB)
    writer.write(salt)
  }

  func write(to writer: inout ByteWriter) {
    Slot.write(kind, number, stretching, salt, to: &writer)
    writer.write(check)
    writer.write(nonce.bytes)
    writer.write(sealedSeed)
  }

  /// The costs are not checked here but when the slot is opened, so that one slot's costs do not block the others.
  ///
  /// - Throws: `VaultError.newerFormat` for an unknown kind; `ByteReader.Failure`.
  init(from reader: inout ByteReader) throws {
    let material = try reader.read(UInt8.self)
    guard let kind = Kind(rawValue: try reader.read(UInt8.self)), kind.material == material else {
      throw VaultError.newerFormat(read: nil, write: nil)
    }
    self.kind = kind
    number = Int(try reader.read(UInt16.self))
    stretching = Passphrase.Cost(passes: try reader.read(UInt32.self), memoryKiB: try reader.read(UInt32.self))
    salt = Array(try reader.read(count: 16))
    check = Array(try reader.read(count: 16))
    nonce = Nonce(try reader.read(count: Nonce.byteCount))!
    sealedSeed = Array(try reader.read(count: Key.byteCount + SealedBox.overhead))
    guard kind == .passphrase || stretching == .none else { throw ByteReader.Failure() }
  }
}

extension Key {
  /// The 16 bytes that tell a wrong key from altered bytes.
  func check(_ label: Label, _ header: [UInt8]) -> [UInt8] { Array(mac(label, header).bytes.prefix(16)) }

  /// Whether `check` is this key's. The time does not reveal where the values differ.
  func makes(_ check: [UInt8], _ label: Label, _ header: [UInt8]) -> Bool {
    zip(self.check(label, header), check).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension Slot.Kind {
  /// 1 for a passphrase, 2 for a key with full entropy.
  fileprivate var material: UInt8 { self == .passphrase ? 1 : 2 }
}

extension Passphrase.Cost {
  fileprivate static let none = Passphrase.Cost(passes: 0, memoryKiB: 0)

  /// These costs, with each value below `least` raised to it; nothing is lowered. Unreasonable costs become `least`.
  func raised(to least: Passphrase.Cost) -> Passphrase.Cost {
    guard isWithinLimits else { return least }
    let raised = Passphrase.Cost(passes: max(passes, least.passes), memoryKiB: max(memoryKiB, least.memoryKiB))
    return raised.isWithinLimits ? raised : self
  }
}

/// A file of 32 random bytes that opens the identity unattended.
enum KeyFile {
  /// - Parameter store: the store's folder. A key inside it is refused, because copies of the store would contain it.
  /// - Throws: `locked` with the reason: missing, a link, not a regular file, not owned by us or root, open to others,
  ///   or not exactly 32 bytes long; `storage`.
  static func read(_ path: String, outside store: String, user: uid_t = geteuid()) throws(VaultError) -> Key {
    try refuseInside(path, store)
    do throws(FileFault) { return try key(at: path, .secret(user: user)) } catch { throw fault(error, path) }
  }

  static func key(at path: String, _ trust: FileTrust) throws(FileFault) -> Key {
    let bytes = try SecretFile.read(path, trust, size: Key.byteCount...Key.byteCount)
    do { return try Key(bytes) } catch { throw .wrongSize }
  }

  /// Creates a key file, mode 0600, durably.
  ///
  /// - Throws: `locked(.keyFile(.taken, _))` if something exists at the path; `locked` also if its folder does not exist
  ///   or is inside the store; `storage`. No new file is left then.
  static func make(_ path: String, outside store: String) throws(VaultError) -> Key {
    try refuseInside(path, store)
    let key = try sealing(Key.random())
    do throws(FileFault) { try SecretFile.Draft(path).place(key) } catch {
      switch error {
      case .missing, .wrongKind, .link: throw .locked(.keyFileFolder(error))
      default: throw fault(error, path)
      }
    }
    return key
  }

  /// Reads a key file, or creates it if nothing exists at the path, and the folders above it if `makesFolders`.
  static func readOrMake(_ path: String, outside store: String, makesFolders: Bool) throws(VaultError) -> Key {
    do throws(VaultError) {
      return try read(path, outside: store)
    } catch .locked(.keyFile(.missing, _)) {
      let folder = StoreLocation.absolute(CanonicalPath.split(path).folder)
      do throws(FileFault) { if makesFolders { try Folder.make(folder) } } catch {
        throw .locked(.keyFileFolder(error))
      }
      do throws(VaultError) {
        return try make(path, outside: store)
      } catch .locked(.keyFile(.taken, _)) {
        // Another process made it just now.
        return try read(path, outside: store)
      }
    }
  }

  private static func fault(_ fault: FileFault, _ path: String) -> VaultError {
    VaultError(fault) { .keyFile($0, path: path) }
  }

  private static func refuseInside(_ path: String, _ store: String) throws(VaultError) {
    do throws(FileFault) { guard try CanonicalPath.isFile(at: path, inside: store) else { return } } catch {
      throw fault(error, path)
    }
    throw .locked(.keyFileInsideStore)
  }
}

extension Label {
  fileprivate static let slot = Label("vault1.slot")
  fileprivate static let slotCheck = Label("vault1.slot.chk")
  fileprivate static let slotKey = Label("vault1.slot.key")
}
