internal import CSodium

/// The one place that initializes libsodium.
enum Sodium {
  /// Accessed before every call into libsodium. Once per process, it selects the fastest code for the processor.
  ///
  /// Without it, `sodium_malloc` aborts and every primitive runs its slowest code. It fails only if the system has no
  /// randomness at all, and then nothing in this module could be secure.
  static let ready: Void = {
    guard sodium_init() >= 0 else { preconditionFailure("libsodium does not start: the system gives no random bytes") }
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
