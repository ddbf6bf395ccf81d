import Glibc

/// System calls that Swift hides or does not import and that only tests need.
enum HiddenCalls {
  static func fork() -> pid_t {
    unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)()
  }

  /// Makes this thread, if it runs as root, access files with the rights of another user.
  static func setFileSystemUser(_ user: UInt32) {
    _ = unsafe unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> Int32).self)(user)
  }

  /// Runs `body` with another umask, for this thread alone.
  static func withMask(_ mask: mode_t, _ body: () throws -> Void) throws {
    let unshare = unsafe unsafeBitCast(dlsym(nil, "unshare"), to: (@convention(c) (Int32) -> Int32).self)
    // CLONE_FS
    precondition(unshare(0x200) == 0)
    let before = umask(mask)
    defer { umask(before) }
    try body()
  }
}
