internal import Glibc
package import Ground
package import Sealing

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
