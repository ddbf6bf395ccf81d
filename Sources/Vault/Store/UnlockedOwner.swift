internal import Sealing

/// The owner as the kernel's keyring knows them (format article, "The kernel's keyring"): a member of their groups, who
/// reads and writes items. Operations that only the owner may do need the root seed, and open it when they are called.
final class UnlockedOwner: Sendable {
  let ownerKey: PublicKey
  let member: MemberSeed
  private let open: @Sendable (_ asks: Bool) throws(VaultError) -> Identity
  private let opened = Locked<Identity?>(nil)

  /// The owner with this key, if the keyring holds their record. `open` opens their identity, and may prompt if it `asks`.
  init?(
    _ ownerKey: PublicKey, _ open: @escaping @Sendable (_ asks: Bool) throws(VaultError) -> Identity
  ) throws(VaultError) {
    guard let record = UnlockedRecord(of: ownerKey) else { return nil }
    (self.ownerKey, self.open) = (ownerKey, open)
    member = try sealing(record.member())
  }

  /// Whether the identity is open, or opens now without asking, with the key file that is remembered.
  var isOpen: Bool { (try? identity(asks: false)) != nil }

  /// The identity; the first call opens it.
  func identity(asks: Bool = true) throws(VaultError) -> Identity {
    try opened.withLock { (opened) throws(VaultError) in
      if let opened { return opened }
      let identity: Identity
      do throws(VaultError) { identity = try open(asks) } catch .locked(let reason) { throw .ownerNeeded(reason) }
      guard identity.ownerKey == ownerKey else { throw .contradiction(.anotherStore) }
      opened = identity
      return identity
    }
  }
}

/// The keyring's record of one owner: their key ‖ their member seed ‖ u64 deadline, in milliseconds since 1970.
struct UnlockedRecord {
  let deadline: UInt64
  private let bytes: GuardedBytes

  /// A week, in milliseconds.
  static let longest: UInt64 = 7 * 86_400_000

  private static let byteCount = PublicKey.byteCount + Key.byteCount + 8

  init(_ ownerKey: PublicKey, _ member: MemberSeed, until deadline: UInt64) throws(SealingError) {
    bytes = try GuardedBytes(count: UnlockedRecord.byteCount)
    unsafe bytes.withUnsafeMutableBytes { record in
      unsafe ownerKey.withUnsafeBytes { unsafe record.copyMemory(from: $0) }
      unsafe member.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: record[PublicKey.byteCount...]).copyMemory(from: $0)
      }
      unsafe record.storeBytes(of: deadline.bigEndian, toByteOffset: record.count - 8, as: UInt64.self)
    }
    self.deadline = deadline
  }

  /// When the kernel's keyring will forget the owner's key; `nil` if it does not hold it.
  static func end(of ownerKey: PublicKey) -> Timestamp? {
    UnlockedRecord(of: ownerKey).map { Timestamp(milliseconds: $0.deadline) }
  }

  /// The record for the owner; `nil` if there is none, or it names another owner, or its deadline has passed or is too
  /// far in the future.
  init?(of ownerKey: PublicKey) {
    let name = UnlockedRecord.name(ownerKey)
    guard let bytes = KernelKeyring.content(of: name, count: UnlockedRecord.byteCount) else { return nil }
    let (isOurs, deadline) = unsafe bytes.withUnsafeBytes { record in
      let isOurs = unsafe ownerKey.withUnsafeBytes { unsafe $0.elementsEqual(record.prefix($0.count)) }
      let deadline = unsafe record.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
      return (isOurs, deadline)
    }
    let now = SystemClock.milliseconds()
    guard isOurs, deadline > now, deadline - now <= UnlockedRecord.longest else { return nil }
    (self.bytes, self.deadline) = (bytes, deadline)
  }

  func keep(for seconds: UInt32, as ownerKey: PublicKey) throws(VaultError) {
    try KernelKeyring.keep(bytes, as: UnlockedRecord.name(ownerKey), for: seconds)
  }

  static func forget(_ ownerKey: PublicKey) -> Bool { KernelKeyring.forget(name(ownerKey)) }

  func member() throws(SealingError) -> MemberSeed {
    let seed = try unsafe bytes.withUnsafeBytes { (record) throws(SealingError) in
      unsafe try Key(copying: UnsafeRawBufferPointer(rebasing: record[PublicKey.byteCount...].prefix(Key.byteCount)))
    }
    return MemberSeed(seed)
  }

  private static func name(_ ownerKey: PublicKey) -> String { "vault1:" + ownerKey.hexadecimal }
}

extension SecretStore {
  /// Lets every program of this user open the store without a prompt for some time. The kernel keeps the key for the
  /// items, but not the root seed: to change members, groups or slots, the store must be opened again.
  ///
  /// - Parameters:
  ///   - location: by default the one that this process's environment names.
  ///   - unlocking: the source that opens the store; a key in the keyring is not used.
  ///   - duration: at least a second, at most a week.
  /// - Returns: when it ends; it ends sooner with ``lock(at:)`` or at shutdown.
  /// - Throws: the error of opening the store; ``VaultError/denied(_:)`` for an application, whose credential opens its
  ///   groups anyway; ``VaultError/noKeyring(_:)`` if the kernel keeps no keys; ``VaultError/invalid(_:)``.
  @discardableResult
  public static func unlock(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic(), for duration: Duration
  ) throws(VaultError) -> Timestamp {
    guard (.seconds(1) ... .milliseconds(UnlockedRecord.longest)).contains(duration) else {
      throw .invalid("a store can be unlocked for 1 second to 7 days")
    }
    let location = if let location { location } else { try StoreLocation.standard() }
    guard case .owner(let identity) = try StoreAccess.open(location, unlocking, usesKeyring: false) else {
      throw .denied(.ownerOnly)
    }
    try identity.confirmOwner()
    let seconds = duration.components.seconds
    let deadline = SystemClock.milliseconds() + UInt64(seconds) * 1_000
    let record = try sealing(UnlockedRecord(identity.ownerKey, identity.personalMember(), until: deadline))
    try record.keep(for: UInt32(seconds), as: identity.ownerKey)
    return Timestamp(milliseconds: deadline)
  }

  /// Ends the effect of ``unlock(at:unlocking:for:)``. Programs that have the store open keep it open.
  ///
  /// - Returns: whether the store was unlocked.
  /// - Throws: ``VaultError/noStore(path:)``; the error of reading the identity file.
  @discardableResult
  public static func lock(at location: StoreLocation? = nil) throws(VaultError) -> Bool {
    let location = if let location { location } else { try StoreLocation.standard() }
    return UnlockedRecord.forget(try location.identityFolder.read().ownerKey)
  }
}
