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

  /// Makes a file of `bytes`, mode 0600, durably, where nothing is yet. A process that is killed meanwhile leaves no half of
  /// it under the name.
  ///
  /// - Parameter parent: the file's folder, open.
  /// - Throws: `taken` if anything is there; there is no new file then.
  static func make(
    _ path: String, in parent: borrowing OpenFile, _ bytes: UnsafeRawBufferPointer
  ) throws(FileFault) {
    let number = String(UInt64.random(in: .min ... .max), radix: 16)
    let draft = "\(CanonicalPath.split(path).folder)/.vault-\(number).new"
    let file = try OpenFile(draft, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
    defer { unsafe unlink(draft) }
    try unsafe file.write(bytes)
    try file.synchronize()
    let code = NewName.give(path, to: draft)
    guard code == 0 else { throw FileFault(errno: code) }
    do throws(FileFault) { try parent.synchronize() } catch {
      unsafe unlink(path)
      throw error
    }
  }

  /// Opens the folder of a file that is to be made.
  static func folder(of path: String) throws(FileFault) -> OpenFile {
    try OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY)
  }
}
