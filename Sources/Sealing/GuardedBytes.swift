internal import CSodium

/// A fixed number of bytes in guarded memory: locked if the system allows it, left out of core dumps, wiped on release.
///
/// Up to 4,096 bytes come from a pool of slots that all threads share; larger sizes get an allocation of their own.
/// There is no `description`, no `==` and no subscript. Bytes are lent by closure, and the pointer must not leave it.
///
/// It is `Sendable` on one condition, which the owner must keep: bytes are written before the value is shared, never
/// after.
@safe package final class GuardedBytes: @unchecked Sendable {
  /// The number of bytes.
  package let count: Int

  @usableFromInline let memory: UnsafeMutableRawPointer
  // Nil if the memory is an allocation of its own.
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

  /// Copies `bytes`. The caller wipes the original.
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

  /// Lends the bytes for writing. Writing must end before another thread may see them.
  @inlinable
  package func withUnsafeMutableBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { extendLifetime(self) }
    return try unsafe body(UnsafeMutableRawBufferPointer(start: memory, count: count))
  }

  /// Whether both hold the same bytes, in a time that depends only on their number.
  package func equals(_ other: GuardedBytes) -> Bool {
    guard count == other.count else { return false }
    defer { extendLifetime((self, other)) }
    return unsafe sodium_memcmp(memory, other.memory, count) == 0
  }
}
