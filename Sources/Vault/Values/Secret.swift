internal import CVaultSystem
internal import Glibc
internal import Sealing

/// A value's bytes while they are open in memory: locked, lent for the duration of a call, and wiped at the end.
///
/// It has no type, and cannot be copied, printed or encoded: `print(secret)` does not compile.
public struct Secret: ~Copyable, Sendable {
  package let opened: OpenedSecret

  init(_ opened: OpenedSecret) { self.opened = opened }

  /// Copies `bytes` into guarded memory; the caller wipes the original.
  ///
  /// - Throws: ``VaultError/overLimit(_:)`` beyond 1 MiB, ``VaultError/storage(_:)`` if memory is short.
  public init(copying bytes: UnsafeRawBufferPointer) throws(VaultError) {
    opened = try unsafe OpenedSecret(copying: bytes)
  }

  /// Copies `value`'s bytes into guarded memory.
  ///
  /// - Throws: as ``init(copying:)``.
  public init(_ value: some SecretValue) throws(VaultError) { opened = try OpenedSecret(value) }

  /// The number of bytes.
  public var count: Int { opened.count }

  /// Lends the bytes. Do not copy them: the copy would not be wiped.
  public func withBytes<Result: ~Copyable, Failure>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe opened.withUnsafeBytes { (bytes) throws(Failure) in try unsafe body(Span(_unsafeBytes: bytes)) }
  }

  /// Lends the bytes as a buffer, for C.
  public func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe opened.withUnsafeBytes { (bytes) throws(Failure) in try unsafe body(bytes) }
  }

  /// The value as text in ordinary memory, which is not wiped; `nil` if it is not UTF-8.
  public func exportInsecurelyAsString() -> String? {
    unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
  }
}

/// A value that an item can hold: text, bytes, or a scalar, each with a kind that is stored in the sealed attributes.
public protocol SecretValue {
  /// The kind of the value.
  var secretKind: SecretKind { get }

  /// Lends the value's bytes.
  func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result
}

extension OpenedSecret {
  init(_ value: some SecretValue) throws(VaultError) {
    do {
      self = try unsafe value.withSecretBytes { unsafe try OpenedSecret(copying: $0) }
    } catch {
      throw error as? VaultError ?? .unexpected("a value that does not lend its bytes")
    }
  }
}

/// The kind of an item's value. Files contain these numbers, so they never change.
public struct SecretKind: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bytes of no declared type.
  public static let bytes = SecretKind(rawValue: 1)
  /// UTF-8 text.
  public static let string = SecretKind(rawValue: 2)
  /// `true` or `false`.
  public static let bool = SecretKind(rawValue: 3)
  /// A decimal integer of 64 bits.
  public static let int = SecretKind(rawValue: 4)
  /// A decimal number that reads back to the same bits.
  public static let double = SecretKind(rawValue: 5)

  /// A time in UTC in ISO 8601, with as many digits as it needs.
  public static let date = SecretKind(rawValue: 6)
  /// A URL's text.
  public static let url = SecretKind(rawValue: 7)
  /// A UUID's text, in upper case.
  public static let uuid = SecretKind(rawValue: 8)
  /// A JSON text.
  public static let json = SecretKind(rawValue: 9)
  /// A keyed archive, binary or XML.
  public static let archive = SecretKind(rawValue: 10)

  /// The kind's name, as `vault info` shows it; "data" is another name for bytes.
  public var name: String { SecretKind.names[self] ?? "kind \(rawValue)" }

  /// The kind with this name in `vault set --type`; nil if there is none, or if text cannot be of this kind.
  public init?(named name: String) {
    guard let kind = SecretKind.names.first(where: { $0.value == name })?.key ?? (name == "data" ? .bytes : nil),
      kind != .archive
    else { return nil }
    self = kind
  }

  private static let names: [SecretKind: String] = [
    .bytes: "bytes", .string: "string", .bool: "bool", .int: "int", .double: "double", .date: "date", .url: "url",
    .uuid: "uuid", .json: "json", .archive: "archive",
  ]
}

extension String: SecretValue {
  public var secretKind: SecretKind { .string }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    var copy = self
    return try copy.withUTF8 { try unsafe body(UnsafeRawBufferPointer($0)) }
  }
}

extension [UInt8]: SecretValue {
  public var secretKind: SecretKind { .bytes }

  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe withUnsafeBytes { try unsafe body($0) }
  }
}

extension SecretValue where Self: LosslessStringConvertible {
  /// Lends the bytes of the value's description.
  public func withSecretBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try unsafe String(self).withSecretBytes(body)
  }
}

extension Bool: SecretValue { public var secretKind: SecretKind { .bool } }
extension Int: SecretValue { public var secretKind: SecretKind { .int } }
extension Double: SecretValue { public var secretKind: SecretKind { .double } }

/// Keeps this process's memory out of core dumps and crash reports. A service that opens a store should call it first.
///
/// Turns off core dumps, keeps other processes of the same user from reading the memory, and gives the crash signals
/// their default action, because Swift's own crash handler prints memory that the registers point at. Cannot be undone.
public func hardenProcess() {
  _ = csystem_control_process(PR_SET_DUMPABLE, 0)
  var none = rlimit(rlim_cur: 0, rlim_max: 0)
  _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
  for signal in [SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS] {
    csystem_take_default_action(signal)
  }
}

package enum SystemClock {
  /// Milliseconds since 1970-01-01 UTC; 0 before that. This clock may be set back, so its times are only informative
  /// and decide nothing.
  static func milliseconds() -> UInt64 {
    var time = timespec()
    guard unsafe clock_gettime(CLOCK_REALTIME, &time) == 0, time.tv_sec >= 0 else { return 0 }
    return UInt64(time.tv_sec) * 1_000 + UInt64(time.tv_nsec) / 1_000_000
  }

  /// The time since some moment, by a clock that nobody can set.
  package static func monotonic() -> Duration { .nanoseconds(Deadline.now()) }
}

/// The version of this build, and of its libsodium; a static executable contains its own.
package enum BuildVersions {
  /// The version of the commands and of the daemon.
  package static let vault = "0.1.0"

  /// libsodium's version.
  package static var sodium: String { Sodium.version }
}
