internal import CVaultSystem
internal import Glibc
internal import Sealing

/// Keys that the kernel keeps for this user: not in any file, never swapped, erased at a deadline or at shutdown.
///
/// Every process of the user can find them, including cron jobs and services.
enum KernelKeyring {
  /// Keeps `content` under `name` for this user for `seconds` seconds, replacing an earlier key of this name.
  ///
  /// - Parameter seconds: more than 0, because 0 would mean no limit.
  /// - Throws: `noKeyring`.
  static func keep(_ content: GuardedBytes, as name: String, for seconds: UInt32) throws(VaultError) {
    // Stored in this process's own keyring first, so that other processes never find it without its time limit.
    let key = unsafe content.withUnsafeBytes {
      unsafe csystem_add_key(type, name, $0.baseAddress, $0.count, KEY_SPEC_PROCESS_KEYRING)
    }
    guard key > 0 else { throw refusal(errno) }
    defer { _ = csystem_change_key(KEYCTL_UNLINK, key, Int(KEY_SPEC_PROCESS_KEYRING)) }
    guard csystem_change_key(KEYCTL_SET_TIMEOUT, key, Int(max(1, seconds))) == 0,
      csystem_change_key(KEYCTL_SETPERM, key, permissions) == 0,
      csystem_change_key(KEYCTL_LINK, key, Int(KEY_SPEC_USER_KEYRING)) == 0
    else { throw refusal(errno) }
  }

  private static func refusal(_ number: CInt) -> VaultError {
    switch number {
    case ENOSYS, EOPNOTSUPP: .noKeyring("this kernel has no keyring")
    case EPERM, EACCES: .noKeyring("it is forbidden here, as in most containers")
    case EDQUOT: .noKeyring("this user's quota is used up")
    default: .noKeyring("the kernel refused (error \(number))")
    }
  }

  /// The content stored under `name`; `nil` if there is no keyring, or nothing of `count` bytes in it.
  static func content(of name: String, count: Int) -> GuardedBytes? {
    guard let key = find(name), let content = try? GuardedBytes(count: count) else { return nil }
    let found = unsafe content.withUnsafeMutableBytes { unsafe csystem_read_key(key, $0.baseAddress, $0.count) }
    return found == count ? content : nil
  }

  /// Invalidates the key stored under `name`, also for processes that already hold it; returns whether there was one.
  static func forget(_ name: String) -> Bool {
    guard let key = find(name) else { return false }
    _ = csystem_change_key(KEYCTL_INVALIDATE, key, 0)
    _ = csystem_change_key(KEYCTL_UNLINK, key, Int(KEY_SPEC_USER_KEYRING))
    return true
  }

  private static func find(_ name: String) -> Int32? {
    let key = unsafe csystem_search_key(KEY_SPEC_USER_KEYRING, type, name)
    return key > 0 ? key : nil
  }

  private static let type = "user"
  // All rights for a possessor; view, read and search for the user's other processes; nothing for others.
  private static let permissions = 0x3F0B_0000
}
