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
    do { member = try record.member() } catch { throw .storage(StorageFailure.memory.rawValue) }
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
      guard identity.ownerKey == ownerKey else { throw .contradiction("another store was put in this one's place") }
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
