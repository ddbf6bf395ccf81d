internal import CSystem
internal import Glibc
internal import GroupFile
internal import Sealing

/// The owner as far as the kernel's keyring knows them (format article, "The kernel's keyring"): a member of their groups, who
/// reads and writes items. What only the owner may do needs the root seed, which is opened then, by whatever opens it.
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
    do { member = try record.member() } catch { throw .storage(.memory) }
  }

  /// What the keyring has for the owner of this key; `nil` where that is nothing.
  ///
  /// - Parameter open: opens the identity by other means; it may ask.
  static func find(
    _ ownerKey: PublicKey, _ open: @escaping @Sendable () throws(VaultError) -> Identity
  ) throws(VaultError) -> UnlockedOwner? {
    guard let record = UnlockedRecord.find(ownerKey) else { return nil }
    return try UnlockedOwner(record, ownerKey, open)
  }

  /// Whether the identity is open.
  var isOpen: Bool { opened.withLock { $0 != nil } }

  /// The identity; whoever asks first is made to open it.
  ///
  /// - Throws: what keeps it from being opened.
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

/// What the keyring holds of one owner: his key ‖ his member seed ‖ u64 deadline, in milliseconds since 1970.
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

  /// The record that is kept for the owner; `nil` where there is none, or it names another owner or a time that
  /// has passed or is too far away.
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
      unsafe try Key(
        copying: UnsafeRawBufferPointer(rebasing: record[PublicKey.byteCount...].prefix(Key.byteCount)))
    }
    return try MemberSeed(seed)
  }

  private static func name(_ ownerKey: PublicKey) -> String { "vault1:" + ownerKey.hexadecimal }
}

/// Keys that the kernel keeps for this user: in no file, never swapped, gone at a deadline or when the machine stops.
///
/// Every process of the user finds them, those of cron and of services too.
enum KernelKeyring {
  /// Why the kernel keeps no key, for people.
  struct Refusal: Error {
    let reason: String

    fileprivate init(_ number: CInt) {
      reason =
        switch number {
        case ENOSYS, EOPNOTSUPP: "this kernel has no keyring"
        case EPERM, EACCES: "it is forbidden here, as in most containers"
        case EDQUOT: "this user's share of it is used up"
        default: "the kernel refused (error \(number))"
        }
    }
  }

  /// Keeps `content` under `name` for this user until `seconds` have passed, in place of what was there.
  ///
  /// - Parameter seconds: more than 0, which would mean for ever.
  static func keep(_ content: GuardedBytes, as name: String, for seconds: UInt32) throws(Refusal) {
    // In this process's own keyring first: there is no moment in which others find it without its limit.
    let key = unsafe content.withUnsafeBytes {
      unsafe csystem_add_key(type, name, $0.baseAddress, $0.count, processKeyring)
    }
    guard key > 0 else { throw Refusal(errno) }
    defer { _ = csystem_unlink_key(key, processKeyring) }
    guard csystem_limit_key(key, max(1, seconds)) == 0, csystem_permit_key(key, permissions) == 0,
      csystem_link_key(key, userKeyring) == 0
    else { throw Refusal(errno) }
  }

  /// What is kept under `name`; `nil` where there is nothing of `count` bytes, or no keyring.
  static func content(of name: String, count: Int) -> GuardedBytes? {
    guard let key = find(name), let content = try? GuardedBytes(count: count) else { return nil }
    let found = unsafe content.withUnsafeMutableBytes { unsafe csystem_read_key(key, $0.baseAddress, $0.count) }
    return found == count ? content : nil
  }

  /// Forgets what is kept under `name`, for processes that still hold it too.
  ///
  /// - Returns: whether there was anything.
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
  // Whoever holds it may do everything; the user's other processes may see it, read it and find it; others nothing.
  private static let permissions: UInt32 = 0x3F0B_0000
}

extension SecretStore {
  /// Lets every program of this user open the store without being asked, for a time: the kernel keeps the key to the items,
  /// but not the one that changes members, groups and slots, for which the store is opened anew.
  ///
  /// - Parameters:
  ///   - location: by default what this process's environment names.
  ///   - unlocking: what opens the store; that it is unlocked already does not count.
  ///   - duration: at least a second, at most a week.
  /// - Returns: when it ends; sooner with ``lock(at:)``, or when the machine stops.
  /// - Throws: what keeps the store from being opened; ``VaultError/denied(_:)`` for an application, whose credential opens its
  ///   groups without; ``VaultError/noKeyring(_:)`` where the kernel keeps no keys; ``VaultError/invalid(_:)``.
  @discardableResult
  public static func unlock(
    at location: StoreLocation? = nil, unlocking: consuming Unlocking = .automatic(), for duration: Duration
  ) throws(VaultError) -> Timestamp {
    guard (.seconds(1)...longestUnlocking).contains(duration) else {
      throw .invalid("a store is unlocked for a second to 7 days")
    }
    let location = if let location { location } else { try StoreLocation.standard() }
    guard case .owner(let identity) = try StoreAccess.open(location, unlocking, usesKeyring: false) else {
      throw .denied(.ownerOnly)
    }
    let seconds = duration.components.seconds
    let deadline = SystemClock.milliseconds() + UInt64(seconds) * 1_000
    let record: UnlockedRecord
    do {
      record = try UnlockedRecord(identity.ownerKey, try identity.personalMember(), until: deadline)
    } catch {
      throw .storage(.memory)
    }
    do { try record.keep(for: UInt32(seconds), as: identity.ownerKey) } catch { throw .noKeyring(error.reason) }
    return Timestamp(milliseconds: deadline)
  }

  private static let longestUnlocking = Duration.milliseconds(UnlockedRecord.longest)

  /// Ends what ``unlock(at:unlocking:for:)`` began. Programs that have the store open keep it open.
  ///
  /// - Returns: whether the store was unlocked.
  /// - Throws: ``VaultError/noStore(path:)`` and what keeps the identity file from being read.
  @discardableResult
  public static func lock(at location: StoreLocation? = nil) throws(VaultError) -> Bool {
    let location = if let location { location } else { try StoreLocation.standard() }
    return UnlockedRecord.forget(try location.identityFile().ownerKey)
  }
}
