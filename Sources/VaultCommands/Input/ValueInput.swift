import Glibc
internal import Vault

/// The source of the value of `set`. It is never an argument.
enum ValueInput: Equatable {
  case standardInput
  case descriptor(Int32)
  case file(String)

  /// The maximum size of a value in bytes.
  static let limit = 1_048_576

  /// Whether the terminal prompts for the value.
  func isTyped(_ streams: Streams) -> Bool { self == .standardInput && isatty(streams.input) == 1 }

  /// Reads the value.
  ///
  /// - Parameter exact: keeps the newline at the end of piped text. A file, and piped bytes that are not UTF-8, always
  ///   stay unchanged.
  /// - Parameter isDumb: whether the terminal has no control sequences.
  /// - Throws: `overLimit` above `limit` bytes, without reading much more; `usage` if there is nothing to read from;
  ///   `interrupted`; `storage` if reading fails.
  func read(exact: Bool, streams: Streams, isDumb: Bool = false) throws(Failure) -> WipedBytes {
    switch self {
    case .standardInput where isatty(streams.input) == 1:
      guard let terminal = Terminal(path: streams.terminal) else {
        throw .usage("no value was given", hint: "pipe the value, or name --fd or --file")
      }
      return try terminal.askValue("value: ", isDumb: isDumb)
    case .standardInput: return try piped(streams.input, "stdin", exact)
    case .descriptor(let number): return try piped(number, "the descriptor of --fd", exact)
    case .file(let path): return try contents(of: path)
    }
  }

  private func piped(_ descriptor: Int32, _ source: String, _ exact: Bool) throws(Failure) -> WipedBytes {
    // Two bytes more, because a value of the maximum size may end in a newline.
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: Self.limit + 2)
    if !exact && bytes.isText && bytes.isOneLine { bytes.removeTrailingNewline() }
    return try Self.limited(bytes)
  }

  private func contents(of path: String) throws(Failure) -> WipedBytes {
    let source = "the file of --file"
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw DescriptorInput.failure(source, errno) }
    defer { close(descriptor) }
    return try Self.limited(DescriptorInput(descriptor, source).readAll(limit: Self.limit))
  }

  /// - Throws: `overLimit` above the maximum size.
  static func limited(_ bytes: WipedBytes) throws(Failure) -> WipedBytes {
    guard bytes.count <= Self.limit else {
      throw Failure(.overLimit, "the value is larger than 1048576 bytes (1 MiB)")
    }
    return bytes
  }
}
