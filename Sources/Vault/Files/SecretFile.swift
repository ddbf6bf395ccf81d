internal import Glibc
internal import GroupFile
internal import Sealing

/// Files that hold a secret: read straight into guarded memory.
enum SecretFile {
  /// Reads the file at `path`, a regular one of ours or root's that nobody else may read.
  ///
  /// - Throws: what keeps it from being used; nothing was read then.
  static func read(_ path: String, _ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> GuardedBytes {
    let file = try OpenFile(path, O_RDONLY)
    let count = try file.requireRegular(trust, size: size)
    let bytes: GuardedBytes
    do { bytes = try GuardedBytes(count: count) } catch { throw .storage(.memory) }
    let read = try unsafe bytes.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe file.read(into: buffer)
    }
    // It was cut short between the two calls.
    guard read == count else { throw .wrongSize }
    return bytes
  }

  /// A file in the making, mode 0600, beside the name that it will get: a process that is killed meanwhile leaves no half of
  /// it under that name.
  struct Draft: ~Copyable {
    private let path: String
    private let draft: String
    private let parent: OpenFile
    private let file: OpenFile

    /// Shows that the file can be made, before anything depends on it.
    ///
    /// - Throws: `taken` if anything is there; `missing` for an empty path or a folder that is not there.
    init(_ path: String) throws(FileFault) {
      guard !path.isEmpty, !path.hasSuffix("/") else { throw .missing }
      let parent = try SecretFile.folder(of: path)
      var status = stat()
      guard unsafe lstat(path, &status) != 0 else { throw .taken }
      guard errno == ENOENT else { throw FileFault(errno: errno) }
      let number = String(UInt64.random(in: .min ... .max), radix: 16)
      let draft = "\(CanonicalPath.split(path).folder)/.vault-\(number).new"
      file = try OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      self.path = path
      self.draft = draft
      self.parent = parent
    }

    deinit { unsafe unlink(draft) }

    /// Gives the file its content and its name, durably.
    ///
    /// - Throws: `taken` if anything is there by now; there is no new file then.
    func place(_ bytes: UnsafeRawBufferPointer) throws(FileFault) {
      try unsafe file.write(bytes)
      try file.synchronize()
      let code = NewName.give(path, to: draft)
      guard code == 0 else { throw FileFault(errno: code) }
      do throws(FileFault) { try parent.synchronize() } catch {
        unsafe unlink(path)
        throw error
      }
    }

    /// As `place(_:)`, with the bytes of a key.
    func place(_ key: borrowing Key) throws(FileFault) {
      try unsafe key.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe place(bytes) }
    }
  }

  /// Opens the folder of a file that is to be made.
  static func folder(of path: String) throws(FileFault) -> OpenFile {
    try OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY)
  }
}
