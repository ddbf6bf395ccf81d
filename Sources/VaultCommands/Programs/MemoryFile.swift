import CVaultProcess
import Glibc
internal import Vault

/// A value as a file in memory that has no name in any folder.
enum MemoryFile {
  /// Makes an unchangeable file for a program that gets its descriptor.
  ///
  /// - Returns: a descriptor that stays open across `execve`.
  /// - Throws: `storage` if the system has no memory or no descriptor left.
  static func sealed(_ secret: borrowing Secret) throws(Failure) -> Int32 {
    try unsafe secret.withUnsafeBytes { (bytes) throws(Failure) in try unsafe sealed(bytes) }
  }

  /// Like `sealed(_:)`.
  static func sealed(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int32 {
    let file = unsafe cprocess_memory_file("vault")
    guard file >= 0 else { throw failure() }
    defer { close(file) }
    try unsafe Descriptor.write(bytes, to: file)
    // Programs such as ssh refuse a key file whose mode admits others.
    guard cprocess_seal(file) == 0, fchmod(file, 0o400) == 0 else { throw failure() }
    // A high number does not clash with those that scripts use.
    let descriptor = fcntl(file, F_DUPFD, 60)
    guard descriptor >= 0 else { throw failure() }
    return descriptor
  }

  /// Makes such a file as the stdin of a program. Unlike a pipe, it never waits for a program that does not read.
  ///
  /// - Returns: a descriptor that no program inherits.
  static func input(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int32 {
    let file = try unsafe sealed(bytes)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    lseek(file, 0, SEEK_SET)
    return file
  }

  /// The path of a descriptor of the process that opens it.
  static func path(_ descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }

  private static func failure() -> Failure {
    Failure(.storage, "cannot make a file in memory: \(SystemReason.text(errno))")
  }
}
