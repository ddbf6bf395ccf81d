import Glibc
internal import Vault

/// A value that is read key by key, because a terminal that edits lines silently truncates them at 4,095 bytes.
struct TypedValue {
  enum Step { case more, entered, ended, interrupted, suspended, pasted }

  private let bytes: WipedBytes
  /// The beginning of a sequence from the terminal, such as `ESC [ 2 0 0 ~`.
  private var sequence: [UInt8] = []
  private var isPasting = false
  private var endedLine = false
  private var isTooLong = false
  /// How many times in a row Ctrl-C came within pasted text.
  private var interruptions = 0

  /// Terminals put these around pasted text if they were asked to.
  private static let pasteBegins = Array("\u{1B}[200~".utf8)
  private static let pasteEnds = Array("\u{1B}[201~".utf8)

  init() throws(Failure) { bytes = try WipedBytes(capacity: ValueInput.limit + 2) }

  /// Takes one byte from the terminal.
  mutating func take(_ byte: UInt8) -> Step {
    if isPasting { return takePasted(byte) }
    if !sequence.isEmpty || byte == 0x1B { return takeSequence(byte) }
    switch byte {
    case 0x0D, 0x0A: return .entered
    case 0x03, 0x1C: return .interrupted
    case 0x04: return .ended
    case 0x1A: return .suspended
    case 0x08, 0x7F: removeCharacter()
    case 0x15: bytes.truncate(to: 0)
    default: append(byte)
    }
    return .more
  }

  var isEmpty: Bool { bytes.count == 0 }

  /// The number of lines.
  var lineCount: Int {
    let ends = unsafe bytes.withUnsafeBytes { unsafe $0.dropLast().count { $0 == 0x0A } }
    return ends + 1
  }

  /// The value. A single line loses its newline; text of several lines keeps its last one.
  ///
  /// - Throws: `overLimit`.
  func value() throws(Failure) -> WipedBytes {
    guard !isTooLong else { throw Failure(.overLimit, "the value is larger than 1048576 bytes (1 MiB)") }
    if lineCount == 1 { bytes.removeTrailingNewline() }
    return bytes
  }

  private mutating func takePasted(_ byte: UInt8) -> Step {
    // The end mark of a paste may be lost, and then only Ctrl-C can leave the prompt. A single Ctrl-C may be part of
    // the text.
    interruptions = byte == 0x03 ? interruptions + 1 : 0
    if interruptions == 3 { return .interrupted }
    sequence.append(byte)
    if sequence == Self.pasteEnds {
      (sequence, isPasting) = ([], false)
      return .pasted
    }
    guard !Self.pasteEnds.starts(with: sequence) else { return .more }
    // Only ESC begins an end mark, and it may directly follow an incomplete one.
    let kept = byte == 0x1B ? sequence.dropLast() : sequence[...]
    for byte in kept { appendPasted(byte) }
    sequence = byte == 0x1B ? [byte] : []
    return .more
  }

  /// Terminals send the line ends of pasted text as the Enter key.
  private mutating func appendPasted(_ byte: UInt8) {
    defer { endedLine = byte == 0x0D }
    if byte == 0x0A && endedLine { return }
    append(byte == 0x0D ? 0x0A : byte)
  }

  /// Keys that type no text, such as arrows, are ignored. Everything else is text.
  private mutating func takeSequence(_ byte: UInt8) -> Step {
    sequence.append(byte)
    let isOpen =
      switch sequence.count {
      case 1: true
      case 2: byte == UInt8(ascii: "[") || byte == UInt8(ascii: "O")
      default: sequence[1] == UInt8(ascii: "[") && (0x20...0x3F).contains(byte) && sequence.count < 32
      }
    guard !isOpen else { return .more }
    if sequence == Self.pasteBegins {
      (isPasting, endedLine) = (true, false)
    } else if sequence.count == 2 || !(0x40...0x7E).contains(byte) {
      for byte in sequence { append(byte) }
    }
    sequence = []
    return .more
  }

  private mutating func append(_ byte: UInt8) {
    guard bytes.count < bytes.capacity - 1 else {
      isTooLong = true
      return
    }
    bytes.append(byte)
    if bytes.count > ValueInput.limit + 1 { isTooLong = true }
  }

  private func removeCharacter() {
    let kept = unsafe bytes.withUnsafeBytes { bytes in
      // In UTF-8, all bytes of a character but the first begin with the bits 10.
      unsafe bytes.dropLast(unsafe bytes.reversed().prefix { $0 & 0xC0 == 0x80 }.count).count
    }
    bytes.truncate(to: max(kept - 1, 0))
  }
}

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
    case .file(let path):
      return try Self.limited(DescriptorInput.contents(of: path, "the file of --file", limit: Self.limit))
    }
  }

  private func piped(_ descriptor: Int32, _ source: String, _ exact: Bool) throws(Failure) -> WipedBytes {
    // Two bytes more, because a value of the maximum size may end in a newline.
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: Self.limit + 2)
    if !exact && bytes.isText && bytes.isOneLine { bytes.removeTrailingNewline() }
    return try Self.limited(bytes)
  }

  /// - Throws: `overLimit` above the maximum size.
  static func limited(_ bytes: WipedBytes) throws(Failure) -> WipedBytes {
    guard bytes.count <= Self.limit else {
      throw Failure(.overLimit, "the value is larger than 1048576 bytes (1 MiB)")
    }
    return bytes
  }
}
