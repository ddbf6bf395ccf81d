internal import CVaultSystem
internal import Glibc
public import GroupFile
internal import Sealing

/// The owner as the kernel's keyring knows them (format article, "The kernel's keyring"): a member of their groups, who
/// reads and writes items. Operations that only the owner may do need the root seed, and open it when they are called.
final class UnlockedOwner: Sendable {
  let ownerKey: PublicKey
  let member: MemberSeed
  private let open: @Sendable () throws(VaultError) -> Identity
  private let opened = Locked<Identity?>(nil)

  private init(
    _ record: UnlockedRecord, _ ownerKey: PublicKey, _ open: @escaping @Sendable () throws(VaultError) -> Identity
  ) throws(VaultError) {
    self.ownerKey = ownerKey
    self.open = open
    member = try sealing(record.member())
  }

  /// The owner with this key, if the keyring holds their record.
  ///
  /// - Parameter open: opens the identity by other means; it may prompt.
  static func find(
    _ ownerKey: PublicKey, _ open: @escaping @Sendable () throws(VaultError) -> Identity
  ) throws(VaultError) -> UnlockedOwner? {
    guard let record = UnlockedRecord.find(ownerKey) else { return nil }
    return try UnlockedOwner(record, ownerKey, open)
  }

  /// Whether the identity is open.
  var isOpen: Bool { opened.withLock { $0 != nil } }

  /// The identity; the first call opens it.
  ///
  /// - Throws: the error of opening it.
  func identity() throws(VaultError) -> Identity {
    try opened.withLock { (opened) throws(VaultError) in
      if let opened { return opened }
      let identity: Identity
      do throws(VaultError) { identity = try open() } catch .locked(let reason) { throw .ownerNeeded(reason) }
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

  /// - Throws: `outOfMemory`.
  init(_ ownerKey: PublicKey, _ member: MemberSeed, until deadline: UInt64) throws(SealingError) {
    var tail = ByteWriter()
    tail.write(deadline)
    bytes = try GuardedBytes(count: UnlockedRecord.byteCount)
    unsafe bytes.withUnsafeMutableBytes { record in
      unsafe ownerKey.withUnsafeBytes { unsafe record.copyMemory(from: $0) }
      unsafe member.withUnsafeBytes {
        unsafe UnsafeMutableRawBufferPointer(rebasing: record[PublicKey.byteCount...]).copyMemory(from: $0)
      }
      unsafe UnsafeMutableRawBufferPointer(rebasing: record.suffix(8)).copyBytes(from: tail.bytes)
    }
    self.deadline = deadline
  }

  /// The record for the owner; `nil` if there is none, or it names another owner, or its deadline has passed or is too
  /// far in the future.
  static func find(_ ownerKey: PublicKey) -> UnlockedRecord? {
    guard let bytes = KernelKeyring.content(of: name(ownerKey), count: byteCount) else { return nil }
    return UnlockedRecord(bytes, ownerKey)
  }

  private init?(_ bytes: GuardedBytes, _ ownerKey: PublicKey) {
    let (isOurs, deadline) = unsafe bytes.withUnsafeBytes { record in
      let isOurs = unsafe ownerKey.withUnsafeBytes { unsafe $0.elementsEqual(record.prefix($0.count)) }
      let deadline = unsafe record.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
      return (isOurs, deadline)
    }
    let now = SystemClock.milliseconds()
    guard isOurs, deadline > now, deadline - now <= UnlockedRecord.longest else { return nil }
    self.bytes = bytes
    self.deadline = deadline
  }

  func keep(for seconds: UInt32, as ownerKey: PublicKey) throws(KernelKeyring.Refusal) {
    try KernelKeyring.keep(bytes, as: UnlockedRecord.name(ownerKey), for: seconds)
  }

  static func forget(_ ownerKey: PublicKey) -> Bool { KernelKeyring.forget(name(ownerKey)) }

  /// - Throws: `outOfMemory`.
  func member() throws(SealingError) -> MemberSeed {
    let seed = try unsafe bytes.withUnsafeBytes { (record) throws(SealingError) in
      unsafe try Key(copying: UnsafeRawBufferPointer(rebasing: record[PublicKey.byteCount...].prefix(Key.byteCount)))
    }
    return try MemberSeed(seed)
  }

  private static func name(_ ownerKey: PublicKey) -> String { "vault1:" + ownerKey.hexadecimal }
}

/// Keys that the kernel keeps for this user: not in any file, never swapped, erased at a deadline or at shutdown.
///
/// Every process of the user can find them, including cron jobs and services.
enum KernelKeyring {
  /// Why the kernel does not keep keys, for people.
  struct Refusal: Error {
    let reason: String

    fileprivate init(_ number: CInt) {
      reason =
        switch number {
        case ENOSYS, EOPNOTSUPP: "this kernel has no keyring"
        case EPERM, EACCES: "it is forbidden here, as in most containers"
        case EDQUOT: "this user's quota is used up"
        default: "the kernel refused (error \(number))"
        }
    }
  }

  /// Keeps `content` under `name` for this user for `seconds` seconds, replacing an earlier key of this name.
  ///
  /// - Parameter seconds: more than 0, because 0 would mean no limit.
  static func keep(_ content: GuardedBytes, as name: String, for seconds: UInt32) throws(Refusal) {
    // Stored in this process's own keyring first, so that other processes never find it without its time limit.
    let key = unsafe content.withUnsafeBytes {
      unsafe csystem_add_key(type, name, $0.baseAddress, $0.count, processKeyring)
    }
    guard key > 0 else { throw Refusal(errno) }
    defer { _ = csystem_unlink_key(key, processKeyring) }
    guard csystem_limit_key(key, max(1, seconds)) == 0, csystem_permit_key(key, permissions) == 0,
      csystem_link_key(key, userKeyring) == 0
    else { throw Refusal(errno) }
  }

  /// The content stored under `name`; `nil` if there is no keyring, or nothing of `count` bytes in it.
  static func content(of name: String, count: Int) -> GuardedBytes? {
    guard let key = find(name), let content = try? GuardedBytes(count: count) else { return nil }
    let found = unsafe content.withUnsafeMutableBytes { unsafe csystem_read_key(key, $0.baseAddress, $0.count) }
    return found == count ? content : nil
  }

  /// Invalidates the key stored under `name`, also for processes that already hold it.
  ///
  /// - Returns: whether there was such a key.
  static func forget(_ name: String) -> Bool {
    guard let key = find(name) else { return false }
    _ = csystem_invalidate_key(key)
    _ = csystem_unlink_key(key, userKeyring)
    return true
  }

  private static func find(_ name: String) -> Int32? {
    let key = unsafe csystem_search_key(userKeyring, type, name)
    return key > 0 ? key : nil
  }

  private static let type = "user"
  private static let processKeyring: Int32 = -2
  private static let userKeyring: Int32 = -4
  // All rights for a possessor; view, read and search for the user's other processes; nothing for others.
  private static let permissions: UInt32 = 0x3F0B_0000
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
    guard (.seconds(1)...longestUnlocking).contains(duration) else {
      throw .invalid("a store can be unlocked for 1 second to 7 days")
    }
    let location = if let location { location } else { try StoreLocation.standard() }
    guard case .owner(let identity) = try StoreAccess.open(location, unlocking, usesKeyring: false) else {
      throw .denied(.ownerOnly)
    }
    let seconds = duration.components.seconds
    let deadline = SystemClock.milliseconds() + UInt64(seconds) * 1_000
    let record = try sealing(UnlockedRecord(identity.ownerKey, identity.personalMember(), until: deadline))
    do { try record.keep(for: UInt32(seconds), as: identity.ownerKey) } catch { throw .noKeyring(error.reason) }
    return Timestamp(milliseconds: deadline)
  }

  private static let longestUnlocking = Duration.milliseconds(UnlockedRecord.longest)

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
