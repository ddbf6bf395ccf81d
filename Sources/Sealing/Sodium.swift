internal import CSodium
internal import Glibc

/// The one place that initializes libsodium.
enum Sodium {
  /// Accessed before every call into libsodium. Once per process, it selects the fastest code for the processor.
  ///
  /// Without it, `sodium_malloc` aborts and every primitive runs its slowest code. It fails only if the system has no
  /// randomness at all, and then nothing in this module could be secure.
  static let ready: Void = {
    guard sodium_init() >= 0 else { preconditionFailure("libsodium cannot start: the system provides no random bytes") }
  }()
}

/// The versions of the libraries that this module calls, for `vault --version` and bug reports.
package enum LibraryVersions {
  /// libsodium's own version string: `1.0.18`.
  package static var sodium: String { unsafe String(cString: sodium_version_string()) }
}

/// Random bytes that are not secret: salts, identifiers, file names.
///
/// Secret random bytes are created in guarded memory: ``Key/random()``.
package enum Randomness {
  /// Makes `count` random bytes.
  package static func bytes(_ count: Int) -> [UInt8] {
    Sodium.ready
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      if let base = buffer.baseAddress { unsafe randombytes_buf(base, count) }
      initialized = count
    }
  }

  /// Draws a number from 0 to `bound` - 1, each as likely as any other.
  ///
  /// - Parameter bound: 1 to 2^32 - 1.
  package static func number(below bound: Int) -> Int {
    Sodium.ready
    return Int(randombytes_uniform(UInt32(bound)))
  }
}

/// The errors of this module. No case carries bytes.
package enum SealingError: Error, Equatable {
  /// The system has no more memory, guarded or for passphrase stretching.
  case outOfMemory
  /// A sealed box does not open. A wrong key, a wrong binding, altered bytes and a box that is too short all give this
  /// error.
  case doesNotOpen
  /// The format does not allow these costs. Nothing was allocated for them.
  case overLimit
  /// The length, size or zeros of opened bytes do not follow the padding rule.
  case wrongPadding
  /// A key or a salt has the wrong number of bytes.
  case wrongCount(Int, expected: Int)
}

/// A value that one thread at a time can use.
///
/// Like `Synchronization.Mutex`, but with a lock that Thread Sanitizer can see. On Linux, the sanitizer reports a race
/// for everything that the standard library's mutex protects.
@safe package final class Locked<Value: ~Copyable>: @unchecked Sendable {
  @usableFromInline let mutex = Mutex()
  @usableFromInline var value: Value

  @inlinable
  package init(_ value: consuming sending Value) { self.value = value }

  deinit { mutex.destroy() }

  /// Lends the value while other threads wait. `body` must not call this method again.
  // Inlinable, so that each use is specialized for its types: every get calls it a dozen times.
  @inlinable
  package func withLock<Result: ~Copyable, Failure>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    mutex.lock()
    defer { mutex.unlock() }
    return try body(&value)
  }
}

/// A pthread mutex at a fixed address.
@safe @usableFromInline struct Mutex {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>

  @usableFromInline init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe pthread_mutex_init(mutex, nil)
  }

  @usableFromInline func destroy() {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }

  @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
