import Glibc
internal import Vault

/// Reads secrets from a descriptor directly into memory that is wiped.
struct DescriptorInput {
  private let descriptor: Int32
  private let source: String

  /// - Parameter source: the name of the descriptor in error messages.
  /// - Throws: `usage` if it is not open.
  init(_ descriptor: Int32, _ source: String) throws(Failure) {
    guard descriptor >= 0, Descriptor.isOpen(descriptor) else { throw Self.failure(source, EBADF) }
    self.descriptor = descriptor
    self.source = source
  }

  /// Reads a whole file, or at most one byte more than `limit`.
  static func contents(of path: String, _ source: String, limit: Int) throws(Failure) -> WipedBytes {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw failure(source, errno) }
    defer { close(descriptor) }
    return try DescriptorInput(descriptor, source).readAll(limit: limit)
  }

  /// Reads to the end, or at most one byte more than `limit`.
  func readAll(limit: Int) throws(Failure) -> WipedBytes {
    let bytes = try WipedBytes(capacity: limit + 1)
    while try append(to: bytes, atMost: bytes.capacity - bytes.count) {}
    return bytes
  }

  /// Reads the first line without its newline, and nothing after it, because a value may follow a passphrase.
  ///
  /// - Throws: `overLimit` if it is longer than `limit` bytes.
  func readLine(limit: Int) throws(Failure) -> WipedBytes {
    let line = try WipedBytes(capacity: limit + 2)
    while try append(to: line, atMost: 1) {
      if unsafe line.withUnsafeBytes({ unsafe $0.last == 0x0A }) { break }
    }
    line.removeTrailingNewline()
    guard line.count <= limit else { throw Failure(.overLimit, "\(source) has a line of more than \(limit) bytes") }
    return line
  }

  /// - Returns: false at the end, or if there is no room.
  private func append(to bytes: WipedBytes, atMost count: Int) throws(Failure) -> Bool {
    guard min(count, bytes.capacity - bytes.count) > 0 else { return false }
    while true {
      var code: Int32 = 0
      let before = bytes.count
      unsafe bytes.appendBytes { free in
        let taken = unsafe read(descriptor, free.baseAddress, count)
        if taken < 0 { code = errno }
        return max(taken, 0)
      }
      switch code {
      case 0: return bytes.count > before
      case EINTR: continue
      case EAGAIN: Descriptor.wait(for: Int16(POLLIN), on: descriptor)
      default: throw Self.failure(source, code)
      }
    }
  }

  static func failure(_ source: String, _ code: Int32) -> Failure {
    Failure(SystemReason.status(code), "\(source) cannot be read: \(SystemReason.text(code))")
  }
}
