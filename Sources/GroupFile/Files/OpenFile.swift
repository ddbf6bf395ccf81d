package import Glibc
package import Sealing

/// An open file or folder; closed when the value ends.
package struct OpenFile: ~Copyable {
  package let descriptor: CInt

  /// Opens `path` without following a link at its end and without blocking on a FIFO.
  ///
  /// - Parameter folder: the open folder that a relative path starts from.
  package init(_ path: String, in folder: CInt = AT_FDCWD, _ flags: CInt, mode: mode_t = 0) throws(FileFault) {
    // The system would end the path at the zero byte, and open another file than the one that was checked.
    guard !path.utf8.contains(0) else { throw .missing }
    let flags = flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
    var descriptor: CInt
    repeat { descriptor = unsafe openat(folder, path, flags, mode) } while descriptor < 0 && errno == EINTR
    guard descriptor >= 0 else { throw FileFault(errno: errno) }
    self.descriptor = descriptor
  }

  deinit { _ = close(descriptor) }

  package func status() throws(FileFault) -> stat {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw FileFault(errno: errno) }
    return status
  }

  /// Checks that this is a regular file that `trust` accepts and whose size is in the range.
  ///
  /// - Returns: its size in bytes.
  package func requireRegular(_ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> Int {
    let status = try status()
    guard status.st_mode & S_IFMT == S_IFREG else { throw .wrongKind }
    try trust.check(status)
    guard size.contains(status.st_size) else { throw .wrongSize }
    return status.st_size
  }

  /// Reads from `offset` until `buffer` is full or the file ends.
  ///
  /// - Returns: how many bytes were read.
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

  /// Reads at most `limit` bytes from the beginning.
  package func read(limit: Int) throws(FileFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    var span = bytes.mutableSpan
    let count = try unsafe span.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe read(into: buffer)
    }
    return Array(bytes.prefix(count))
  }

  /// Writes all of `bytes` at `offset`.
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

  /// Waits until all written data is on the disk.
  package func synchronize() throws(FileFault) {
    guard fsync(descriptor) == 0 else { throw FileFault(errno: errno) }
  }

  /// Sets the mode, whatever the umask.
  package func setMode(_ mode: mode_t) throws(FileFault) {
    guard fchmod(descriptor, mode) == 0 else { throw FileFault(errno: errno) }
  }

  /// Takes the exclusive `flock` of the file, which is released when this value ends, if not earlier.
  ///
  /// - Throws: `busy` after `milliseconds`.
  package func lock(waiting milliseconds: Int) throws(FileFault) {
    let deadline = Deadline(after: milliseconds)
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw FileFault(errno: errno) }
      guard !deadline.hasPassed else { throw .busy }
      usleep(2000)
    }
  }

  /// Releases the lock before this value ends.
  package func unlock() { _ = flock(descriptor, LOCK_UN) }
}

/// Files that hold a secret: they are read straight into guarded memory.
package enum SecretFile {
  /// Reads the file at `path`, which must be a regular file that belongs to us or root and that nobody else may read.
  ///
  /// - Throws: the reason why the file cannot be used.
  package static func read(_ path: String, _ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> GuardedBytes
  {
    let file = try OpenFile(path, O_RDONLY)
    let count = try file.requireRegular(trust, size: size)
    let bytes: GuardedBytes
    do { bytes = try GuardedBytes(count: count) } catch { throw .storage(.memory) }
    let read = try unsafe bytes.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe file.read(into: buffer)
    }
    // The file was truncated between the two calls.
    guard read == count else { throw .wrongSize }
    return bytes
  }

  /// A file with mode 0600 that is written under a temporary name, so that a killed process never leaves half a file
  /// under the final name.
  package struct Draft: ~Copyable {
    private let path: String
    private let draft: String
    private let parent: OpenFile
    private let file: OpenFile

    /// Checks that the file can be created, before anything depends on it.
    ///
    /// - Throws: `taken` if something exists at `path`; `missing` if `path` is empty or its folder does not exist.
    package init(_ path: String) throws(FileFault) {
      guard !path.isEmpty, !path.hasSuffix("/") else { throw .missing }
      let folder = CanonicalPath.split(path).folder
      let parent = try OpenFile(folder + "/", O_RDONLY | O_DIRECTORY)
      var status = stat()
      guard unsafe lstat(path, &status) != 0 else { throw .taken }
      guard errno == ENOENT else { throw FileFault(errno: errno) }
      let number = String(UInt64.random(in: .min ... .max), radix: 16)
      let draft = "\(folder)/.vault-\(number).new"
      file = try OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      self.path = path
      self.draft = draft
      self.parent = parent
    }

    deinit { unsafe unlink(draft) }

    /// Writes the file and gives it its name, durably.
    ///
    /// - Throws: `taken` if something exists at the path by now. No new file is left then.
    package func place(_ bytes: UnsafeRawBufferPointer) throws(FileFault) {
      try unsafe file.write(bytes)
      try file.synchronize()
      try NewName.give(path, to: draft)
      do throws(FileFault) { try parent.synchronize() } catch {
        unsafe unlink(path)
        throw error
      }
    }

    /// As `place(_:)`, for the bytes of a key.
    package func place(_ key: borrowing Key) throws(FileFault) {
      try unsafe key.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe place(bytes) }
    }
  }
}

/// Why a file or folder cannot be used. Callers translate it into an error about the thing that the file holds.
@nonexhaustive
public enum FileFault: Error, Sendable, Equatable {
  /// Nothing exists at the path.
  case missing
  /// Something exists at the path already.
  case taken
  /// The last part of the path is a symbolic link.
  case link
  /// It is a folder, a FIFO, a device or a socket instead of a file, or not a folder where one is required.
  case wrongKind
  /// It belongs to a user whom we do not trust.
  case foreignOwner
  /// Its mode gives others a right that only its owner may have.
  case openToOthers(mode: UInt32)
  /// Its size is not in the allowed range.
  case wrongSize
  /// The system's permissions forbid it.
  case denied
  /// Another process held the lock for the whole waiting time.
  case busy
  /// The system failed.
  case storage(StorageFailure)

  /// The fault for a system call that failed with `number` as its `errno`.
  package init(errno number: CInt) {
    self =
      switch number {
      case ENOENT: .missing
      case EEXIST: .taken
      case ELOOP: .link
      case ENOTDIR, EISDIR, ENXIO, ENODEV: .wrongKind
      case EACCES, EPERM: .denied
      case EWOULDBLOCK: .busy
      case ENOSPC, EDQUOT: .storage(.full)
      case EROFS: .storage(.readOnly)
      case ENOMEM: .storage(.memory)
      case EMFILE, ENFILE: .storage(.tooManyFiles)
      case ENAMETOOLONG: .storage(.pathTooLong)
      default: .storage(.inputOutput)
      }
  }
}

/// The owners that we trust for a file, and the mode bits that it must not have.
package struct FileTrust: Equatable {
  package var owners: [uid_t]
  package var forbiddenMode: mode_t
  /// The mode bits that a file of root's must not have.
  package var forbiddenModeOfRoots: mode_t

  package init(owners: [uid_t], forbiddenMode: mode_t, forbiddenModeOfRoots: mode_t? = nil) {
    self.owners = owners
    self.forbiddenMode = forbiddenMode
    self.forbiddenModeOfRoots = forbiddenModeOfRoots ?? forbiddenMode
  }

  /// For secrets: owned by us or root, and inaccessible to everyone else.
  package static func secret(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077)
  }

  /// For a credential that the system provides: ours and inaccessible to everyone else, or root's and readable by one
  /// Unix group.
  ///
  /// Kubernetes makes a Secret readable by the pod's group. systemd adds the service's user to the access list of
  /// root's file, and the group bits of the mode then show the list's maximum. Either way, root alone decided who may
  /// read it.
  package static func handedOver(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o077, forbiddenModeOfRoots: 0o037)
  }

  /// For files that others may read but not change.
  package static func visible(user: uid_t = geteuid()) -> FileTrust {
    FileTrust(owners: [user, 0], forbiddenMode: 0o022)
  }

  /// For the state folder and its contents: owned by us, and writable by nobody else.
  package static func state(user: uid_t = geteuid()) -> FileTrust { FileTrust(owners: [user], forbiddenMode: 0o022) }

  package func check(_ status: stat) throws(FileFault) {
    guard owners.contains(status.st_uid) else { throw .foreignOwner }
    let mode = status.st_mode & 0o7777
    guard mode & (status.st_uid == 0 ? forbiddenModeOfRoots : forbiddenMode) == 0 else {
      throw .openToOthers(mode: mode)
    }
  }
}

extension FileFault {
  /// The fault as a predicate that follows the name of the thing: "the key file" … "is a symbolic link".
  package var reason: String {
    switch self {
    case .missing: "does not exist"
    case .taken: "exists already"
    case .link: "is a symbolic link"
    case .wrongKind: "is not the kind of file or folder that belongs here"
    case .foreignOwner: "belongs to another user"
    case .openToOthers(let mode): "is open to other users (mode \(String(mode, radix: 8)))"
    case .wrongSize: "has the wrong size"
    case .denied: "cannot be opened: permission denied"
    case .busy: "is locked by another process"
    case .storage(let failure): "cannot be used: \(failure.rawValue)"
    }
  }
}
