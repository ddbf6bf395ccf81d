import Glibc

/// Descriptors for tests to read from and write to.
enum Pipe {
  /// A descriptor that holds `bytes` and then ends. It is a nameless file, so it can hold any number of bytes.
  static func holding(_ bytes: [UInt8]) -> Int32 {
    let descriptor = nameless()
    precondition(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
    lseek(descriptor, 0, SEEK_SET)
    return descriptor
  }

  /// A nameless file.
  static func nameless() -> Int32 {
    var path = Array("/tmp/vault-test-XXXXXX".utf8CString)
    let descriptor = unsafe mkstemp(&path)
    precondition(descriptor >= 0)
    unsafe unlink(path)
    closeOnExec(descriptor)
    return descriptor
  }

  static func pair() -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(unsafe pipe(&ends) == 0)
    ends.forEach(closeOnExec)
    return (ends[0], ends[1])
  }

  /// Keeps processes of other tests from inheriting the descriptor.
  static func closeOnExec(_ descriptor: Int32) { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }

  /// Reads the whole file from its start, and closes it.
  static func contents(of descriptor: Int32) -> [UInt8] {
    defer { close(descriptor) }
    lseek(descriptor, 0, SEEK_SET)
    return readAll(descriptor)
  }

  /// The content of a nameless file so far. The file stays open at the same position.
  static func contentsSoFar(of descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let taken = unsafe pread(descriptor, &chunk, chunk.count, bytes.count)
      guard taken > 0 else { return bytes }
      bytes += chunk[..<taken]
    }
  }

  /// The number of unread bytes in a pipe.
  static func unreadCount(_ descriptor: Int32) -> Int {
    var count: Int32 = 0
    precondition(unsafe ioctl(descriptor, UInt(FIONREAD), &count) == 0)
    return Int(count)
  }

  static func readAll(_ descriptor: Int32) -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let taken = unsafe read(descriptor, &chunk, chunk.count)
      guard taken > 0 else { return bytes }
      bytes += chunk[..<taken]
    }
  }
}
