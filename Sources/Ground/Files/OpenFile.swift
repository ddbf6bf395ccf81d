internal import CVaultSystem
package import Glibc

/// An open file or folder; closed when the value ends.
package struct OpenFile: ~Copyable {
  package let descriptor: CInt

  /// Opens `path`, which starts from `folder` if it is relative, without following a link at its end and without
  /// blocking on a FIFO.
  package init(_ path: String, in folder: CInt = AT_FDCWD, _ flags: CInt, mode: UInt32 = 0) throws(FileFault) {
    // The system would end the path at the zero byte, and open another file than the one that was checked.
    guard !path.utf8.contains(0) else { throw .missing }
    let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    var descriptor: CInt
    repeat { descriptor = unsafe openat(folder, path, flags, mode) } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw FileFault(errno: errno) }
    // A new file is its owner's to open, whatever the umask.
    if flags & O_EXCL != 0 { _ = fchmod(descriptor, mode) }
    self.descriptor = descriptor
  }

  /// Opens the regular file at `path` for reading, once the system has ended the leases that others have on it.
  package init(leased path: String) throws(FileFault) {
    descriptor = unsafe csystem_open_leased(path)
    guard descriptor >= 0 else { throw FileFault(errno: errno) }
  }

  deinit { _ = close(descriptor) }

  package func status() throws(FileFault) -> stat {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault(errno: errno) }
    return status
  }

  /// Checks that this is a regular file that `trust` accepts and whose size is in the range; returns its size in bytes.
  package func requireRegular(_ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> Int {
    let status = try status()
    guard status.st_mode & S_IFMT == S_IFREG else { throw .wrongKind }
    try trust.check(status)
    guard size.contains(status.st_size) else { throw .wrongSize }
    return status.st_size
  }

  /// Reads from `offset` until `buffer` is full or the file ends; returns how many bytes were read.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int = 0) throws(FileFault) -> Int {
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

  package func read(limit: Int, at offset: Int = 0) throws(FileFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var span = bytes.mutableSpan
    let count = try unsafe span.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe read(into: buffer, at: offset)
    }
    bytes.removeLast(limit - count)
    return bytes
  }

  /// The `count` bytes from `offset`; `nil` if the file ends before, or cannot be read.
  package func bytes(_ count: Int, at offset: Int) -> [UInt8]? {
    (try? read(limit: count, at: offset)).flatMap { $0.count == count ? $0 : nil }
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int = 0) throws(FileFault) {
    var count = 0
    while count < bytes.count {
      let result = unsafe pwrite(descriptor, bytes.baseAddress! + count, bytes.count - count, offset + count)
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw FileFault(errno: errno) }
      count += result
    }
  }

  package func write(_ bytes: [UInt8], at offset: Int = 0) throws(FileFault) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe write(bytes, at: offset) }
  }

  package func synchronize() throws(FileFault) { guard fsync(descriptor) == 0 else { throw FileFault(errno: errno) } }

  /// Sets the mode, whatever the umask.
  package func setMode(_ mode: UInt32) throws(FileFault) {
    guard fchmod(descriptor, mode) == 0 else { throw FileFault(errno: errno) }
  }

  /// Takes the exclusive `flock` of the file, which is released when this value ends, if not earlier; throws `busy`
  /// after `milliseconds`.
  package func lock(waiting milliseconds: Int) throws(FileFault) { try lock(until: Deadline(after: milliseconds)) }

  package func lock(until deadline: Deadline) throws(FileFault) {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw FileFault(errno: errno) }
      guard !deadline.hasPassed else { throw .busy }
      usleep(2000)
    }
  }

  /// Releases the lock before this value ends.
  package func unlock() { _ = flock(descriptor, LOCK_UN) }
}

/// The owners that we trust for a file, and the mode bits that it must not have.
package struct FileTrust: Equatable {
  package var owners: [UInt32]
  package var forbiddenMode: UInt32
  /// The mode bits that a file of root's must not have.
  package var forbiddenModeOfRoots: UInt32

  package init(owners: [UInt32], forbiddenMode: UInt32, forbiddenModeOfRoots: UInt32? = nil) {
    (self.owners, self.forbiddenMode) = (owners, forbiddenMode)
    self.forbiddenModeOfRoots = forbiddenModeOfRoots ?? forbiddenMode
  }

  /// For secrets: owned by us or root, and inaccessible to everyone else.
  package static func secret(user: UInt32 = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077)
  }

  /// For a credential that the system provides: ours and inaccessible to everyone else, or root's and readable by one
  /// Unix group.
  ///
  /// Kubernetes makes a Secret readable by the pod's group. systemd adds the service's user to the access list of
  /// root's file, and the group bits of the mode then show the list's maximum. Either way, root alone decided who may
  /// read it.
  package static func handedOver(user: UInt32 = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077, forbiddenModeOfRoots: 0o037)
  }

  /// For files that others may read but not change.
  package static func visible(user: UInt32 = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o022)
  }

  /// For the state folder and its contents: owned by us, and writable by nobody else.
  package static func state(user: UInt32 = geteuid()) -> FileTrust { FileTrust(owners: [user], forbiddenMode: 0o022) }

  package func check(_ status: stat) throws(FileFault) {
    guard owners.contains(status.st_uid) else { throw .foreignOwner }
    let mode = status.st_mode & 0o7777
    guard mode & (status.st_uid == 0 ? forbiddenModeOfRoots : forbiddenMode) == 0 else {
      throw .openToOthers(mode: mode)
    }
  }
}

/// Identifies a file by device and inode, so that two paths of one file are recognized as the same.
package struct FileIdentity: Hashable, Sendable {
  package let device, inode: UInt64

  package init(_ status: stat) { (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino)) }

  /// Identifies the file at `path`, without following a link; `nil` if it cannot be examined, with the reason in `errno`.
  package init?(_ path: String, in folder: CInt = AT_FDCWD) {
    var (device, inode): (UInt64, UInt64) = (0, 0)
    guard unsafe csystem_identity(folder, path, &device, &inode) == 0 else { return nil }
    (self.device, self.inode) = (device, inode)
  }
}

/// The time of the last change of a file or folder (its ctime), which no program can set.
package struct ChangeTime: Equatable, Sendable {
  private let seconds, nanoseconds: Int

  package init(_ status: stat) { (seconds, nanoseconds) = (status.st_ctim.tv_sec, status.st_ctim.tv_nsec) }

  /// Whether a later change is sure to have another time, and this one is very probably complete. The clock of these
  /// times advances in steps of milliseconds, and a file's time is set before its new bytes, for which a writer may wait
  /// on a busy disk.
  package var isSettled: Bool { age > 1_000_000_000 }

  package var age: Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_REALTIME_COARSE, &now)
    // A file system may say any time, and more nanoseconds than a century's are more than a number holds.
    let passed = max(-1 << 32, min(1 << 32, now.tv_sec - max(-1 << 40, min(1 << 40, seconds))))
    return passed * 1_000_000_000 + now.tv_nsec &- nanoseconds
  }
}

/// A moment on the monotonic clock, which cannot be set back.
package struct Deadline: Sendable {
  private let nanoseconds: Int

  package init(after milliseconds: Int) { nanoseconds = Deadline.now() + milliseconds * 1_000_000 }

  package var hasPassed: Bool { Deadline.now() >= nanoseconds }

  /// Rounded up; 0 once it has passed.
  package var millisecondsLeft: Int32 { Int32(clamping: (max(0, nanoseconds - Deadline.now()) + 999_999) / 1_000_000) }

  package var time: timespec { timespec(tv_sec: nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000) }

  package static func now() -> Int {
    var now = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1_000_000_000 + now.tv_nsec
  }
}
