import CVaultProcess
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

/// The file before it gets its name. As long as it may have a temporary one, signals wait.
private final class Draft {
  private let path: String
  private var file: DraftFile?
  private var heldSignals: HeldSignals?
  let descriptor: Int32

  init(beside path: String) throws(Failure) {
    self.path = path
    heldSignals = HeldSignals()
    do throws(FileFault) {
      let file = try DraftFile(beside: path)
      descriptor = file.file.descriptor
      if file.isNameless { heldSignals = nil }
      self.file = consume file
    } catch {
      guard error != .missing else { throw Failure(.usage, "the folder of --output does not exist") }
      throw OutputFile.failure(errno)
    }
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
    if heldSignals == nil { heldSignals = HeldSignals() }
    do throws(FileFault) { try file?.replace(path) } catch { throw OutputFile.failure(errno) }
    // The new name is durable only with its folder, which not every writer may read.
    let parent = unsafe open(CanonicalPath.split(path).folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard parent >= 0 else { return }
    defer { close(parent) }
    guard fsync(parent) == 0 || errno == EINVAL else {
      throw Failure(.storage, "the file of --output was written, but may be lost if the power fails")
    }
  }

  func discard() {
    file = nil
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
      unsafe cprocess_is_ignored(signal) == 0 && sigismember(&before, signal) == 0
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
