internal import CSodium

/// A fixed number of bytes in guarded memory: locked where the system allows it, left out of core dumps, wiped on release.
///
/// Up to 4,096 bytes come from a pool of slots that all threads share, more get an allocation of their own. There is no
/// `description`, no `==` and no subscript: bytes are lent by closure, and the pointer must not leave it.
///
/// It is `Sendable` on one condition that the owner keeps: bytes are written before the value is shared, never after.
@safe package final class GuardedBytes: @unchecked Sendable {
  /// The number of bytes.
  package let count: Int

  @usableFromInline let memory: UnsafeMutableRawPointer
  // Nil where the memory is an allocation of its own.
  private let pool: SlotPool?

  /// Makes `count` zero bytes.
  ///
  /// - Throws: ``SealingError/outOfMemory``.
  package convenience init(count: Int) throws(SealingError) {
    try self.init(count: count, pool: SlotPool.fitting(count))
  }

  init(count: Int, pool: SlotPool?) throws(SealingError) {
    precondition(count >= 0 && count <= pool?.slotSize ?? .max)
    guard let memory = unsafe pool?.take() ?? GuardedMemory.allocate(count) else { throw .outOfMemory }
    unsafe self.memory = unsafe memory
    self.count = count
    self.pool = pool
  }

  deinit {
    guard let pool else { return unsafe GuardedMemory.release(memory) }
    unsafe GuardedMemory.wipe(memory, count: count)
    unsafe pool.giveBack(memory)
  }

  /// Makes a copy of `bytes`; the caller wipes its own.
  ///
  /// - Throws: ``SealingError/outOfMemory``.
  package convenience init(copying bytes: UnsafeRawBufferPointer) throws(SealingError) {
    try self.init(count: bytes.count)
    unsafe UnsafeMutableRawBufferPointer(start: memory, count: count).copyMemory(from: bytes)
  }

  /// Lends the bytes for reading.
  @inlinable
  package func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { extendLifetime(self) }
    return try unsafe body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// Lends the bytes for writing, which ends before another thread may see them.
  @inlinable
  package func withUnsafeMutableBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { extendLifetime(self) }
    return try unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  /// Whether both hold the same bytes, in a time that depends on their number only.
  package func equals(_ other: GuardedBytes) -> Bool {
    guard count == other.count else { return false }
    defer { extendLifetime((self, other)) }
    return unsafe sodium_memcmp(memory, other.memory, count) == 0
  }
}
