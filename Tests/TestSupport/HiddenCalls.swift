import Glibc

/// System calls that Swift hides or does not import and that only tests need.
package enum HiddenCalls {
  package static func fork() -> Int32 {
    unsafe unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)()
  }

  /// Forks, and returns in the parent how `body` ended in the child.
  package static func status(inChild body: () -> Int32) -> Int32 {
    let child = fork()
    if child == 0 { _exit(body()) }
    var status: Int32 = 0
    unsafe waitpid(child, &status, 0)
    return status == 0 ? 0 : status >> 8 | 1
  }

  /// Makes this thread, if it runs as root, access files with the rights of another user.
  package static func setFileSystemUser(_ user: UInt32) {
    _ = unsafe unsafeBitCast(dlsym(nil, "setfsuid"), to: (@convention(c) (UInt32) -> Int32).self)(user)
  }

  /// Runs `body` with another umask, for this thread alone.
  package static func withMask(_ mask: UInt32, _ body: () throws -> Void) throws {
    let unshare = unsafe unsafeBitCast(dlsym(nil, "unshare"), to: (@convention(c) (Int32) -> Int32).self)
    // CLONE_FS
    precondition(unshare(0x200) == 0)
    let before = umask(mask)
    defer { umask(before) }
    try body()
  }
}
