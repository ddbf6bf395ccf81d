internal import Glibc
internal import Sealing

/// A way to open the store: a passphrase, or a key with full entropy (format article, "Slots"). It reveals nothing
/// about either.
public struct Slot: Sendable, Equatable {
  /// Identifies the slot: ``SecretStore/removeSlot(_:)`` takes it. The numbers rise within the identity file.
  public let number: Int
  /// The kind of secret that opens the slot. All kinds but a passphrase are keys of 32 bytes.
  public let kind: Kind
  private let seed: CheckedBox

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

  /// The costs of stretching a passphrase; zeros for a key.
  var stretching: Passphrase.Cost { seed.cost }

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
    (self.kind, self.number) = (kind, number)
    let place = Slot.place(kind, number, of: identity.ownerKey)
    seed = unsafe identity.rootSeed.withUnsafeBytes { seed in
      unsafe CheckedBox(seed, key: slotKey, .slotCheck, at: place, cost: cost, salt: salt, nonce: nonce)
    }
  }

  /// - Throws: `wrongKey` for another passphrase; `damaged` if the passphrase is right but the rest of the slot is not;
  ///   `overLimit` for unreasonable costs; `storage`.
  func open(passphrase: GuardedBytes, ownerKey: PublicKey) throws(VaultError) -> Identity {
    try open(slotKey: seed.key(of: passphrase), ownerKey: ownerKey)
  }

  /// - Throws: `wrongKey` for another key; `damaged` if the key is right but the rest of the slot is not; `storage`.
  func open(key: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    try open(slotKey: sealing(key.derive(.slotKey, seed.salt)), ownerKey: ownerKey)
  }

  private func open(slotKey: borrowing Key, ownerKey: PublicKey) throws(VaultError) -> Identity {
    let opened = try seed.open(
      slotKey, .slotCheck, at: Slot.place(kind, number, of: ownerKey), kind,
      orThrow: .damaged(.slot, "the key is right, but the slot does not open the owner's seed"))
    return Identity(rootSeed: try sealing(Key(opened)), claiming: ownerKey)
  }

  /// What the seed is bound to.
  private static func place(_ kind: Kind, _ number: Int, of ownerKey: PublicKey) -> [UInt8] {
    Label.slot.padded + ownerKey.bytes + start(kind, number)
  }

  private static func start(_ kind: Kind, _ number: Int) -> [UInt8] {
    [kind.material, kind.rawValue, UInt8(number >> 8), UInt8(number & 0xFF)]
  }

  func write(to writer: inout ByteWriter) { writer.write(Slot.start(kind, number) + seed.bytes) }

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
    seed = CheckedBox(bytes: Array(try reader.read(count: Slot.byteCount - 4)))
    guard kind == .passphrase || stretching == .none else { throw ByteReader.Failure() }
  }
}

/// A box under a key of its own, stretched from a passphrase or derived from another key, with a code that tells a wrong
/// key from altered bytes: `u32 passes ‖ u32 memory in KiB ‖ salt 16 ‖ code 16 ‖ nonce 24 ‖ box`. The code and the box are
/// bound to a place, and to what stands before them.
struct CheckedBox: Equatable, Sendable {
  /// At least 64.
  let bytes: [UInt8]

  /// The costs of stretching a passphrase; zeros for a key.
  var cost: Passphrase.Cost { Passphrase.Cost(passes: bytes.word(at: 0), memoryKiB: bytes.word(at: 4)) }
  var salt: [UInt8] { Array(bytes[8..<24]) }

  func key(of passphrase: GuardedBytes) throws(VaultError) -> Key {
    try sealing(Passphrase.stretch(passphrase, salt: salt, cost: cost))
  }

  /// - Throws: `wrongKey` of `kind` for another key; `damage` if the key is right but the rest is not; `storage`.
  func open(
    _ key: borrowing Key, _ label: Label, at place: [UInt8], _ kind: Slot.Kind, orThrow damage: VaultError
  ) throws(VaultError) -> GuardedBytes {
    let binding: [UInt8] = place + bytes[..<24]
    // The time does not reveal where the values differ.
    let difference = zip(key.mac(label, binding).bytes, bytes[24..<40]).reduce(0) { $0 | ($1.0 ^ $1.1) }
    guard difference == 0, let nonce = Nonce(bytes[40..<64]) else { throw .wrongKey(kind) }
    do throws(SealingError) {
      return try SealedBox.open(Array(bytes[64...]), key: key, nonce: nonce, binding: binding)
    } catch {
      throw error == .outOfMemory ? VaultError(error) : damage
    }
  }
}

extension CheckedBox {
  init(
    _ content: UnsafeRawBufferPointer, key: borrowing Key, _ label: Label, at place: [UInt8], cost: Passphrase.Cost,
    salt: [UInt8], nonce: Nonce
  ) {
    var writer = ByteWriter()
    writer.write(cost.passes)
    writer.write(cost.memoryKiB)
    writer.write(salt)
    let binding = place + writer.bytes
    writer.write(Array(key.mac(label, binding).bytes.prefix(16)))
    writer.write(nonce.bytes)
    unsafe writer.write(SealedBox.seal(content, key: key, nonce: nonce, binding: binding))
    bytes = writer.bytes
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
