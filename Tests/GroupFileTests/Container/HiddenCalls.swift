import Glibc

/// System calls that Swift hides or does not import; only tests have a use for them.
enum HiddenCalls {
  static func fork() -> pid_t {
    unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)()
  }

  /// Has this thread, if it is root's, look at files with the rights of another user.
  static func setFileSystemUser(_ user: UInt32) {
    _ = unsafe unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> Int32).self)(user)
  }
}
