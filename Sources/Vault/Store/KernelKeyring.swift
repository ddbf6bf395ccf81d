internal import CSystem
internal import Glibc
internal import Sealing

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
