internal import CSodium
internal import Glibc
package import Ground

/// A fixed number of bytes in guarded memory: locked if the system allows it, left out of core dumps, wiped on release.
///
/// Up to 4,096 bytes come from a pool of slots that all threads share; larger sizes get an allocation of their own.
/// There is no `description`, no `==` and no subscript. Bytes are lent by closure, and the pointer must not leave it.
///
/// It is `Sendable` on one condition, which the owner must keep: bytes are written before the value is shared, never
/// after.
@safe package final class GuardedBytes: @unchecked Sendable {
  package let count: Int

  @usableFromInline let memory: UnsafeMutableRawPointer
  // Nil if the memory is an allocation of its own.
  private let pool: SlotPool?

  /// Makes `count` zero bytes.
  package convenience init(count: Int) throws(SealingError) {
    try self.init(count: count, pool: SlotPool.fitting(count))
  }

  init(count: Int, pool: SlotPool?) throws(SealingError) {
    precondition(count >= 0 && count <= pool?.slotSize ?? .max)
    guard let memory = unsafe pool?.take() ?? SlotPool.allocate(count) else { throw .outOfMemory }
    unsafe self.memory = unsafe memory
    self.count = count
    self.pool = pool
  }

  deinit {
    guard let pool else { return unsafe sodium_free(memory) }
    // The compiler cannot optimize this away.
    unsafe sodium_memzero(memory, count)
    unsafe pool.giveBack(memory)
  }

  /// Copies `bytes`. The caller wipes the original.
  package convenience init(copying bytes: UnsafeRawBufferPointer) throws(SealingError) {
    try self.init(count: bytes.count)
    unsafe UnsafeMutableRawBufferPointer(start: memory, count: count).copyMemory(from: bytes)
  }

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
}

/// A pool of reusable slots of guarded memory, because `sodium_malloc` and its free cost 24–40 µs.
///
/// Each `sodium_malloc` makes one slab, with guard pages around it, locked into memory if the system allows it, and
/// left out of core dumps. Slots are adjacent inside a slab, so a guard page catches an overrun of the slab but not of
/// a slot. A slot in the pool is all zeros. Slabs stay until the process ends: their number depends on the largest
/// number of slots in use at once.
final class SlotPool: Sendable {
  let slotSize: Int
  private let slotsPerSlab: Int
  private let free = Locked(FreeSlots())

  // Pointers to free slots, which nothing else refers to. The lock passes them safely between threads.
  @safe private struct FreeSlots: @unchecked Sendable {
    var addresses: [UnsafeMutableRawPointer] = unsafe []
    var slabCount = 0
  }

  init(slotSize: Int, slotsPerSlab: Int) { (self.slotSize, self.slotsPerSlab) = (slotSize, slotsPerSlab) }

  static let shared = [
    SlotPool(slotSize: 64, slotsPerSlab: 64),
    SlotPool(slotSize: 256, slotsPerSlab: 32),
    SlotPool(slotSize: 1024, slotsPerSlab: 16),
    SlotPool(slotSize: 4096, slotsPerSlab: 8),
  ]

  /// The pool with the smallest slots that hold `count` bytes; `nil` if they need an allocation of their own.
  static func fitting(_ count: Int) -> SlotPool? { shared.first { count <= $0.slotSize } }

  var slabCount: Int { free.withLock { $0.slabCount } }

  func take() -> UnsafeMutableRawPointer? {
    unsafe free.withLock { free in
      if unsafe free.addresses.isEmpty, let slab = unsafe SlotPool.allocate(slotSize * slotsPerSlab) {
        free.slabCount += 1
        unsafe free.addresses.reserveCapacity(free.slabCount * slotsPerSlab)
        for number in (0..<slotsPerSlab).reversed() { unsafe free.addresses.append(slab + number * slotSize) }
      }
      return unsafe free.addresses.popLast()
    }
  }

  /// - Parameter slot: all zeros.
  func giveBack(_ slot: UnsafeMutableRawPointer) { free.withLock { free in unsafe free.addresses.append(slot) } }

  /// Allocates `count` zero bytes between guard pages, for `sodium_free`; `nil` if the system has no more memory.
  ///
  /// Memory that the system refuses to lock (`RLIMIT_MEMLOCK`) is used anyway. It may reach swap space, as SECURITY.md
  /// says.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    Sodium.ready
    guard let memory = unsafe sodium_malloc(count) else { return nil }
    unsafe sodium_memzero(memory, count)
    return unsafe memory
  }
}

/// The one place that initializes libsodium.
package enum Sodium {
  /// Accessed before every call into libsodium. Once per process, it selects the fastest code for the processor.
  ///
  /// Without it, `sodium_malloc` aborts and every primitive runs its slowest code. It fails only if the system has no
  /// randomness at all, and then nothing in this module could be secure.
  static let ready: Void = {
    guard sodium_init() >= 0 else { preconditionFailure("libsodium cannot start: the system provides no random bytes") }
  }()

  /// libsodium's own version string, for `vault --version` and bug reports: `1.0.18`.
  package static var version: String { unsafe String(cString: sodium_version_string()) }
}

/// Random bytes that are not secret: salts, identifiers, file names.
///
/// Secret random bytes are created in guarded memory: ``Key/random()``.
package enum Randomness {
  package static func bytes(_ count: Int) -> [UInt8] {
    Sodium.ready
    return unsafe [UInt8](unsafeUninitializedCapacity: max(count, 1)) { buffer, initialized in
      if let base = buffer.baseAddress { unsafe randombytes_buf(base, count) }
      initialized = count
    }
  }

  /// Draws a number from 0 to `bound` - 1, each as likely as any other; `bound` is 1 to 2^32 - 1.
  package static func number(below bound: Int) -> Int {
    Sodium.ready
    return Int(randombytes_uniform(UInt32(bound)))
  }
}

/// The errors of this module. No case carries bytes.
package enum SealingError: Error, Equatable {
  /// The system has no more memory, guarded or for passphrase stretching: an error of all that makes guarded bytes.
  case outOfMemory
  /// A sealed box does not open. A wrong key, a wrong binding, altered bytes and a box that is too short all give this
  /// error.
  case doesNotOpen
  /// The format does not allow these costs. Nothing was allocated for them.
  case overLimit
  case wrongPadding
  case wrongCount(Int, expected: Int)
}

/// Files that hold a secret: they are read straight into guarded memory.
package enum SecretFile {
  /// Reads the file at `path`, which must be a regular file that belongs to us or root and that nobody else may read.
  package static func read(_ path: String, _ trust: FileTrust, size: ClosedRange<Int>) throws(FileFault) -> GuardedBytes
  {
    let file = try OpenFile(path, O_RDONLY)
    let count = try file.requireRegular(trust, size: size)
    guard let bytes = try? GuardedBytes(count: count) else { throw .storage(.memory) }
    let read = try unsafe bytes.withUnsafeMutableBytes { (buffer) throws(FileFault) in
      try unsafe file.read(into: buffer)
    }
    // The file was truncated between the two calls.
    guard read == count else { throw .wrongSize }
    return bytes
  }

  /// A new file that nobody else may read. A killed process never leaves half a file under its name.
  package struct Draft: ~Copyable {
    private let path: String
    private let parent: OpenFile
    private let draft: DraftFile

    /// Checks that the file can be created, before anything depends on it.
    ///
    /// - Throws: `taken` if something exists at `path`; `missing` if `path` is empty or its folder does not exist.
    package init(_ path: String) throws(FileFault) {
      guard !path.isEmpty, !path.hasSuffix("/") else { throw .missing }
      let parent = try OpenFile(CanonicalPath.split(path).folder + "/", O_RDONLY | O_DIRECTORY)
      var status = stat()
      guard unsafe lstat(path, &status) != 0 else { throw .taken }
      guard errno == ENOENT else { throw FileFault(errno: errno) }
      let draft = try DraftFile(beside: path)
      // As on FAT, where each file has the owner and the mode that its mount says.
      try FileTrust.secret().check(draft.file.status())
      self.path = path
      self.parent = parent
      self.draft = draft
    }

    /// Writes the file and gives it its name, durably.
    ///
    /// - Throws: `taken` if something exists at the path by now. No new file is left then.
    package func place(_ bytes: UnsafeRawBufferPointer) throws(FileFault) {
      try unsafe draft.file.write(bytes)
      try draft.place(at: path)
      do throws(FileFault) { try parent.synchronize() } catch {
        unsafe unlink(path)
        throw error
      }
    }

    package func place(_ key: borrowing Key) throws(FileFault) {
      try unsafe key.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe place(bytes) }
    }
  }
}
