import Glibc
internal import Vault

/// Where the value of `set` comes from. An argument is never one of the places.
enum ValueInput: Equatable {
  case standardInput
  case descriptor(Int32)
  case file(String)

  /// The largest value, in bytes.
  static let limit = 1_048_576

  /// Whether the value is asked for on the terminal.
  func isTyped(_ streams: Streams) -> Bool { self == .standardInput && isatty(streams.input) == 1 }

  /// Reads the value.
  ///
  /// - Parameter exact: keeps the newline at the end of piped text. A file's bytes are always kept as they are, and so
  ///   are piped bytes that are no UTF-8 text.
  /// - Parameter isDumb: whether the terminal has no sequences.
  /// - Throws: `overLimit` above `limit` bytes, of which no more than a few are read; `usage` if there is nothing to
  ///   read from; `interrupted`; `storage` if reading fails.
  func read(exact: Bool, streams: Streams, isDumb: Bool = false) throws(Failure) -> WipedBytes {
    switch self {
    case .standardInput where isatty(streams.input) == 1:
      guard let terminal = Terminal(path: streams.terminal) else {
        throw .usage("no value was given", hint: "pipe the value, or name --fd or --file")
      }
      return try terminal.askValue("value: ", isDumb: isDumb)
    case .standardInput: return try piped(streams.input, "stdin", exact)
    case .descriptor(let number): return try piped(number, "the descriptor named by --fd", exact)
    case .file(let path): return try contents(of: path)
    }
  }

  private func piped(_ descriptor: Int32, _ source: String, _ exact: Bool) throws(Failure) -> WipedBytes {
    // Two bytes more: a value of the full size may come with a newline.
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: Self.limit + 2)
    if !exact && bytes.isText && bytes.isOneLine { bytes.removeTrailingNewline() }
    return try Self.limited(bytes)
  }

  private func contents(of path: String) throws(Failure) -> WipedBytes {
    let source = "the file named by --file"
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw DescriptorInput.failure(source, errno) }
    defer { close(descriptor) }
    return try Self.limited(DescriptorInput(descriptor, source).readAll(limit: Self.limit))
  }

  /// - Throws: `overLimit` above the largest size.
  static func limited(_ bytes: WipedBytes) throws(Failure) -> WipedBytes {
    guard bytes.count <= Self.limit else {
      throw Failure(.overLimit, "the value is larger than 1048576 bytes (1 MiB)")
    }
    return bytes
  }
}
