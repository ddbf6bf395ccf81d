import Sealing

/// A value's bytes while they are open: a range of guarded memory, wiped when the last reference goes.
package struct OpenedSecret: Sendable {
  let bytes: GuardedBytes
  let range: Range<Int>

  /// Takes a copy of `value`, at most 1 MiB; the caller wipes its own.
  ///
  /// - Throws: `overLimit`, or `storage` where there is no guarded memory left.
  package init(copying value: UnsafeRawBufferPointer) throws(GroupFileError) {
    guard value.count <= GroupLimits.secretByteCount else { throw .overLimit("a value of 1 MiB") }
    do {
      bytes = try unsafe GuardedBytes(copying: value)
    } catch {
      throw GroupFileError(error)
    }
    range = 0..<value.count
  }

  init(bytes: GuardedBytes, range: Range<Int>) {
    self.bytes = bytes
    self.range = range
  }

  package var count: Int { range.count }

  /// Lends the value.
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe bytes.withUnsafeBytes { (all) throws(Failure) in
      try unsafe body(UnsafeRawBufferPointer(rebasing: all[range]))
    }
  }

  /// Lends the value in the padded form that is sealed.
  func withPadded<Result>(_ body: (UnsafeRawBufferPointer) -> Result) throws(SealingError) -> Result {
    let padded = try unsafe withUnsafeBytes { (value) throws(SealingError) in try unsafe Padding.pad(value) }
    return unsafe padded.withUnsafeBytes { unsafe body($0) }
  }
}
