import CVaultSystem
import Glibc
internal import Vault

/// A folder in an in-memory file system that contains a value's text while it is edited. Only its user can access it.
///
/// It is wiped and removed with this object, unless it is kept. The next process removes the folder of a killed one.
final class EditingFolder {
  private(set) var path: String
  /// Locked while this process lives, so that others know that the folder is in use.
  private let descriptor: Int32
  private var isKept = false

  private static let prefix = "vault-edit-"

  /// Makes a folder below the first of `places` that is in memory.
  ///
  /// - Throws: `storage` if none is.
  init(below places: [String]) throws(Failure) {
    guard let place = places.first(where: Self.isInMemory) else {
      throw Failure(
        .storage, "there is no file system in memory for editing, neither in XDG_RUNTIME_DIR nor at /dev/shm",
        hint: "vault set takes the new value from a pipe")
    }
    Self.removeAbandoned(in: place)
    // Before the folder is locked, another process may mistake it for an abandoned one.
    for _ in 0..<100 {
      var template = Array("\(place)/\(Self.prefix)XXXXXX".utf8CString)
      guard unsafe mkdtemp(&template) != nil else { throw Self.failure(errno) }
      let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      if descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0, Self.isStillThere(path, descriptor) {
        (self.path, self.descriptor) = (path, descriptor)
        return
      }
      if descriptor >= 0 { close(descriptor) }
    }
    throw Self.failure(EBUSY)
  }

  deinit {
    if !isKept { Self.remove(path) }
    close(descriptor)
  }

  /// Leaves the folder to the user, under a name that later processes do not remove.
  func keep() {
    isKept = true
    let kept = path.exchanging(Self.prefix, for: "vault-kept-")
    if unsafe rename(path, kept) == 0 { path = kept }
  }

  /// Writes a file of mode 0600.
  func write(_ bytes: UnsafeRawBufferPointer, to name: String) throws(Failure) {
    let file = unsafe open("\(path)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Self.failure(errno) }
    defer { close(file) }
    try unsafe Descriptor.write(bytes, to: file)
  }

  /// Reads a file. Editors may have replaced it by another one with the same name.
  ///
  /// - Returns: the content, but at most one byte more than `limit`.
  func read(_ name: String, limit: Int) throws(Failure) -> WipedBytes {
    let file = unsafe open("\(path)/\(name)", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else {
      throw Failure(.unexpected, "the edited file cannot be read: \(SystemReason.text(errno))")
    }
    defer { close(file) }
    return try DescriptorInput(file, "what the editor left").readAll(limit: limit)
  }

  // MARK: Places

  private static func isInMemory(_ place: String) -> Bool {
    var status = stat()
    // tmpfs and ramfs.
    guard place.hasPrefix("/"), unsafe [0x0102_1994, 0x8584_58F6].contains(csystem_file_system(place)),
      unsafe stat(place, &status) == 0,
      status.st_mode & S_IFMT == S_IFDIR, unsafe access(place, W_OK | X_OK) == 0
    else { return false }
    // A world-writable folder is safe only with the sticky bit.
    return status.st_uid == geteuid() || status.st_mode & S_ISVTX != 0
  }

  /// Whether a folder that was locked was not removed just before.
  private static func isStillThere(_ path: String, _ descriptor: Int32) -> Bool {
    var (atPath, opened) = (stat(), stat())
    return unsafe lstat(path, &atPath) == 0 && fstat(descriptor, &opened) == 0 && atPath.st_ino == opened.st_ino
      && atPath.st_dev == opened.st_dev
  }

  private static func removeAbandoned(in place: String) {
    for name in names(in: place) where name.hasPrefix(prefix) {
      let path = "\(place)/\(name)"
      let folder = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard folder >= 0 else { continue }
      defer { close(folder) }
      var status = stat()
      guard unsafe fstat(folder, &status) == 0, status.st_uid == geteuid(), flock(folder, LOCK_EX | LOCK_NB) == 0 else {
        continue
      }
      remove(path)
    }
  }

  /// Wipes the files in one of our folders, and removes it with everything that editors left in it.
  private static func remove(_ folder: String) {
    for name in names(in: folder) {
      let path = "\(folder)/\(name)"
      var status = stat()
      guard unsafe lstat(path, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR { remove(path) } else { wipe(path, status) }
    }
    unsafe rmdir(folder)
  }

  private static func wipe(_ path: String, _ status: stat) {
    let file = unsafe open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    if file >= 0, status.st_mode & S_IFMT == S_IFREG {
      let zeros = [UInt8](repeating: 0, count: 65_536)
      var rest = Int(status.st_size)
      while rest > 0 {
        let taken = unsafe Glibc.write(file, zeros, min(rest, zeros.count))
        if taken <= 0 { break }
        rest -= taken
      }
    }
    if file >= 0 { close(file) }
    unsafe unlink(path)
  }

  private static func names(in folder: String) -> [String] {
    guard let stream = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
        unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  private static func failure(_ code: Int32) -> Failure {
    Failure(.storage, "cannot make a file in memory: \(SystemReason.text(code))")
  }
}
