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
}
