internal import GroupFile

/// A value's bytes while they are open in memory: locked, lent for the length of a call, and wiped when it is let go.
///
/// It cannot be copied, printed or encoded: `print(secret)` does not compile.
public struct Secret: ~Copyable, Sendable {
  let opened: OpenedSecret

  init(_ opened: OpenedSecret) { self.opened = opened }

  /// Takes a copy of `bytes` into guarded memory; the caller wipes its own.
  ///
  /// - Throws: ``VaultError/overLimit(_:)`` beyond 1 MiB, ``VaultError/storage(_:)`` without memory.
  public init(copying bytes: UnsafeRawBufferPointer) throws(VaultError) {
    do {
      opened = unsafe try OpenedSecret(copying: bytes)
    } catch {
      throw VaultError(error, group: "")
    }
  }

  /// Takes a copy of `value`'s bytes into guarded memory.
  ///
  /// - Throws: as ``init(copying:)``.
  public init(_ value: some SecretValue) throws(VaultError) { opened = try OpenedSecret(value) }

  /// The number of bytes.
  public var count: Int { opened.count }

  /// Lends the bytes; they are wiped later, so keep no copy.
  public func withBytes<Result: ~Copyable, Failure>(
    _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe opened.withUnsafeBytes { (bytes) throws(Failure) in
      try unsafe body(Span(_unsafeBytes: bytes))
    }
  }

  /// Lends the bytes as a buffer, for C.
  public func withUnsafeBytes<Result: ~Copyable, Failure>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe opened.withUnsafeBytes { (bytes) throws(Failure) in try unsafe body(bytes) }
  }

  /// The value as text in ordinary memory, which nobody wipes; `nil` if it is not UTF-8.
  public func exportInsecurelyAsString() -> String? {
    unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
  }
}
