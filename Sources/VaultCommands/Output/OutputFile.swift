import CVaultSystem
import Glibc
internal import Vault

/// A file that a command writes for `--output`. It appears complete or not at all, and only this user can read it if
/// the file system keeps owners and modes.
enum OutputFile {
  /// Writes a new file in the same folder and renames it to `path`, replacing an existing file.
  ///
  /// - Parameters:
  ///   - warn: called if others can read the file.
  ///   - content: writes the bytes; they are flushed here.
  /// - Throws: `denied` for a symbolic link or anything else that is not a regular file, or without permission; `usage`
  ///   if the folder does not exist; `storage`. An existing file is unchanged then, unless only its folder could not be
  ///   synced.
  static func write(_ path: String, warning warn: (String) -> Void, content: (Output) throws -> Void) throws {
    try refuseWhatIsNoFile(path)
    let draft = try Draft(beside: path)
    defer { draft.discard() }
    let output = try Output(descriptor: draft.descriptor)
    output.willWrite = { () throws(Failure) in try draft.endIfSignalled() }
    try content(output)
    try output.flush()
    try draft.place()
    if draft.isOpenToOthers {
      warn("other users can read the file of --output, because its file system keeps no owners and modes")
    }
  }

  private static func refuseWhatIsNoFile(_ path: String) throws(Failure) {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else { return }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFLNK: throw Failure(.denied, "the file of --output is a symbolic link, which is not followed")
    default: throw Failure(.denied, "--output does not name a regular file")
    }
  }

  static func failure(_ code: Int32) -> Failure {
    Failure(SystemReason.status(code), "the file of --output cannot be written: \(SystemReason.text(code))")
  }
}

/// The file before it gets its name. If the file system allows it, it has no name, so that a killed process leaves
/// nothing; otherwise it has a temporary one, and signals wait until that is gone.
private final class Draft {
  let descriptor: Int32
  private let path: String
  private let temporaryPath: String
  private let isNameless: Bool
  private var isPlaced = false
  /// Not nil as long as there may be a temporary name.
  private var heldSignals: HeldSignals?

  /// O_TMPFILE, which Swift does not import.
  private static let nameless = 0o20_000_000 | O_DIRECTORY

  init(beside path: String) throws(Failure) {
    let number = UInt64.random(in: .min ... .max)
    let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
    self.path = path
    temporaryPath = "\(folder).vault-\(String(number, radix: 36)).tmp"
    let namelessDescriptor = Draft.openNameless(folder.isEmpty ? "." : String(folder))
    isNameless = namelessDescriptor >= 0
    heldSignals = isNameless ? nil : HeldSignals()
    descriptor =
      isNameless
      ? namelessDescriptor
      : unsafe open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      guard errno != ENOENT else { throw Failure(.usage, "the folder of --output does not exist") }
      throw OutputFile.failure(errno)
    }
    // Whatever the umask.
    fchmod(descriptor, 0o600)
  }

  private static func openNameless(_ folder: String) -> Int32 {
    // A nameless file gets its name through /proc.
    guard unsafe access("/proc/self/fd", X_OK) == 0 else { return -1 }
    return unsafe open(folder, O_WRONLY | nameless | O_CLOEXEC, 0o600)
  }

  /// As on FAT, where each file has the owner and the mode that its mount says.
  var isOpenToOthers: Bool {
    var status = stat()
    return unsafe fstat(descriptor, &status) == 0 && (status.st_mode & 0o077 != 0 || status.st_uid != geteuid())
  }

  /// - Throws: `interrupted` after a signal that waits. It ends this process in `discard()`.
  func endIfSignalled() throws(Failure) { if heldSignals?.hasWaiting == true { throw .interrupted } }

  func place() throws(Failure) {
    guard fsync(descriptor) == 0 else { throw OutputFile.failure(errno) }
    try endIfSignalled()
    if isNameless { heldSignals = HeldSignals() }
    guard isNameless ? link() == 0 : true, unsafe rename(temporaryPath, path) == 0 else {
      throw OutputFile.failure(errno)
    }
    isPlaced = true
    // The new name is durable only with its folder, which not every writer may read.
    let parent = unsafe open(CanonicalPath.split(path).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { return }
    defer { close(parent) }
    guard fsync(parent) == 0 || errno == EINVAL else {
      throw Failure(.storage, "the file of --output was written, but may be lost if the power fails")
    }
  }

  private func link() -> Int32 {
    unsafe linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, temporaryPath, AT_SYMLINK_FOLLOW)
  }

  func discard() {
    close(descriptor)
    if !isPlaced { _ = unsafe unlink(temporaryPath) }
    heldSignals = nil
  }
}

/// Signals that would end this process wait as long as this exists.
private struct HeldSignals: ~Copyable {
  private let numbers: [Int32]
  private var maskBefore = sigset_t()

  init() {
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_BLOCK, nil, &before)
    // The others end nothing: under `nohup`, for example, SIGHUP is ignored.
    numbers = (SignalRelay.ending + [SIGABRT]).filter { signal in
      unsafe csystem_is_ignored(signal) == 0 && sigismember(&before, signal) == 0
    }
    var mask = sigset_t()
    unsafe sigemptyset(&mask)
    for signal in numbers { unsafe sigaddset(&mask, signal) }
    unsafe pthread_sigmask(SIG_BLOCK, &mask, &maskBefore)
  }

  deinit {
    var mask = maskBefore
    unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  var hasWaiting: Bool {
    var waiting = sigset_t()
    unsafe sigpending(&waiting)
    return numbers.contains { unsafe sigismember(&waiting, $0) == 1 }
  }
}
