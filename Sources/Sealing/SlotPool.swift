internal import CSodium

/// A pool of reusable slots of guarded memory, because `sodium_malloc` and its free cost 24–40 µs.
///
/// Each `sodium_malloc` makes one slab, with guard pages around it, locked into memory if the system allows it, and
/// left out of core dumps. Slots are adjacent inside a slab, so a guard page catches an overrun of the slab but not of
/// a slot. A slot in the pool is all zeros. Slabs stay until the process ends: their number depends on the largest
/// number of slots in use at once.
final class SlotPool: Sendable {
  /// The number of bytes in a slot.
  let slotSize: Int
  private let slotsPerSlab: Int
  private let free = Locked(FreeSlots())

  // Pointers to free slots, which nothing else refers to. The lock passes them safely between threads.
  @safe private struct FreeSlots: @unchecked Sendable {
    var addresses: [UnsafeMutableRawPointer] = unsafe []
    var slabCount = 0
  }

  init(slotSize: Int, slotsPerSlab: Int) {
    self.slotSize = slotSize
    self.slotsPerSlab = slotsPerSlab
  }

  /// The pools that the process shares, smallest slots first.
  static let shared = [
    SlotPool(slotSize: 64, slotsPerSlab: 64),
    SlotPool(slotSize: 256, slotsPerSlab: 32),
    SlotPool(slotSize: 1024, slotsPerSlab: 16),
    SlotPool(slotSize: 4096, slotsPerSlab: 8),
  ]

  /// The pool with the smallest slots that hold `count` bytes; `nil` if they need an allocation of their own.
  static func fitting(_ count: Int) -> SlotPool? {
    switch count {
    case ...64: shared[0]
    case ...256: shared[1]
    case ...1024: shared[2]
    case ...4096: shared[3]
    default: nil
    }
  }

  /// The number of slabs allocated so far.
  var slabCount: Int { free.withLock { $0.slabCount } }

  /// Takes a slot, all zeros; `nil` if the system has no more memory.
  func take() -> UnsafeMutableRawPointer? {
    unsafe free.withLock { free in
      if unsafe free.addresses.isEmpty { addSlab(to: &free) }
      return unsafe free.addresses.popLast()
    }
  }

  /// Gives back a slot that the caller has wiped.
  func giveBack(_ slot: UnsafeMutableRawPointer) {
    free.withLock { free in unsafe free.addresses.append(slot) }
  }

  private func addSlab(to free: inout FreeSlots) {
    guard let slab = unsafe GuardedMemory.allocate(slotSize * slotsPerSlab) else { return }
    free.slabCount += 1
    unsafe free.addresses.reserveCapacity(free.slabCount * slotsPerSlab)
    for number in (0..<slotsPerSlab).reversed() { unsafe free.addresses.append(slab + number * slotSize) }
  }
}

/// `sodium_malloc`, zero-filled.
enum GuardedMemory {
  /// Allocates `count` zero bytes between guard pages; `nil` if the system has no more memory.
  ///
  /// Memory that the system refuses to lock (`RLIMIT_MEMLOCK`) is used anyway. It may reach swap space, as SECURITY.md
  /// says.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    Sodium.ready
    guard let memory = unsafe sodium_malloc(count) else { return nil }
    unsafe sodium_memzero(memory, count)
    return unsafe memory
  }

  /// Wipes and releases memory from `allocate`.
  static func release(_ memory: UnsafeMutableRawPointer) { unsafe sodium_free(memory) }

  /// Sets `count` bytes to zero. The compiler cannot optimize this away.
  static func wipe(_ memory: UnsafeMutableRawPointer, count: Int) { unsafe sodium_memzero(memory, count) }
}
