internal import Glibc
internal import Sealing

/// An open file or folder; closed when the value ends.
struct OpenFile: ~Copyable {
  let descriptor: CInt

  /// Opens `path`, never through a link at its end, and never waiting for the other end of a FIFO.
  ///
  /// - Parameter folder: the open folder that a relative path begins at.
  init(_ path: String, in folder: CInt = AT_FDCWD, _ flags: CInt, mode: mode_t = 0) throws(FileFault) {
    // The system would see a shorter path than the one that was checked.
    guard !path.utf8.contains(0) else { throw .missing }
    let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    var descriptor: CInt
    repeat { descriptor = unsafe openat(folder, path, flags, mode) } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw FileFault(errno: errno) }
    self.descriptor = descriptor
  }

  deinit { _ = close(descriptor) }

  /// What the system says of it.
  func status() throws(FileFault) -> stat {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault(errno: errno) }
    return status
  }

  /// Checks that it is a regular file of a size and a trust that are allowed.
  ///
  /// - Returns: its size in bytes.
  func requireRegular(_ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> Int {
    let status = try status()
    guard status.st_mode & S_IFMT == S_IFREG else { throw .wrongKind }
    try trust.check(status)
    guard size.contains(status.st_size) else { throw .wrongSize }
    return status.st_size
  }

  /// Reads from `offset` until `buffer` is full or the file ends.
  ///
  /// - Returns: how many bytes were read.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int = 0) throws(FileFault) -> Int {
    var count = 0
    while count < buffer.count {
      let result = unsafe pread(descriptor, buffer.baseAddress! + count, buffer.count - count, offset + count)
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw FileFault(errno: errno) }
      if result == 0 { break }
      count += result
    }
    return count
  }

  /// Reads at most `limit` bytes from the beginning.
  func read(limit: Int) throws(FileFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var span = bytes.mutableSpan
    let count = try unsafe span.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe read(into: buffer)
    }
    return Array(bytes.prefix(count))
  }

  /// Writes all of `bytes` at `offset`.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) throws(FileFault) {
    var count = 0
    while count < bytes.count {
      let result = unsafe pwrite(descriptor, bytes.baseAddress! + count, bytes.count - count, offset + count)
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw FileFault(errno: errno) }
      count += result
    }
  }

  /// Writes all of `bytes` at `offset`.
  func write(_ bytes: [UInt8], at offset: Int = 0) throws(FileFault) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe write(bytes, at: offset) }
  }

  /// Waits until what was written is on the disk.
  func synchronize() throws(FileFault) {
    guard fsync(descriptor) == 0 else { throw FileFault(errno: errno) }
  }

  /// Takes the exclusive `flock` of the file, which ends with the value.
  ///
  /// - Throws: `busy` after `milliseconds`.
  func lock(waiting milliseconds: Int) throws(FileFault) {
    let deadline = ContinuousClock.now + .milliseconds(milliseconds)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw FileFault(errno: errno) }
      guard ContinuousClock.now < deadline else { throw .busy }
      usleep(2000)
    }
  }

  /// Ends the lock before the value ends.
  func unlock() { _ = flock(descriptor, LOCK_UN) }
}
