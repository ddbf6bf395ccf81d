import Glibc
internal import Vault

/// A descriptor for output, with one buffer that is wiped, because the data may be secret.
final class Output {
  let descriptor: Int32
  // Asked once, because a table asks for each of its times.
  private(set) lazy var isTerminal = isatty(descriptor) == 1
  private let buffer: WipedBytes

  init(descriptor: Int32) throws(Failure) {
    self.descriptor = descriptor
    buffer = try WipedBytes(capacity: 16_384)
  }

  /// - Throws: `usage`, with `hint`, if this is a terminal that would not show the bytes unchanged.
  func requireTextIfTerminal(_ bytes: UnsafeRawBufferPointer, hint: String) throws(Failure) {
    guard isTerminal, unsafe !UTF8Text.isPrintable(bytes) else { return }
    throw Failure(.usage, "the value is not text and is not written to a terminal", hint: hint)
  }

  /// - Throws: `Failure.readerGone` if the pipe's reader has closed it; `storage` if the bytes cannot be written.
  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = unsafe bytes[...]
    while unsafe !rest.isEmpty {
      if buffer.count == buffer.capacity { try flush() }
      let taken = unsafe rest.prefix(buffer.capacity - buffer.count)
      unsafe buffer.appendBytes { free in
        unsafe free.copyBytes(from: taken)
        return unsafe taken.count
      }
      unsafe rest = rest.dropFirst(taken.count)
    }
  }

  func write(_ byte: UInt8) throws(Failure) {
    if buffer.count == buffer.capacity { try flush() }
    buffer.append(byte)
  }

  func write(_ text: String) throws(Failure) {
    try unsafe text.utf8Span.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe write(bytes) }
  }

  /// Writes everything to the system and wipes the buffer.
  func flush() throws(Failure) {
    defer { buffer.truncate(to: 0) }
    try unsafe buffer.withUnsafeBytes { bytes throws(Failure) in
      try unsafe Descriptor.write(bytes, to: descriptor)
    }
  }
}

enum Descriptor {
  /// Writes all of `bytes`, even if the system accepts only a part at a time.
  static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(Failure) {
    var rest = unsafe bytes[...]
    while unsafe !rest.isEmpty {
      let taken = unsafe Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if taken >= 0 {
        unsafe rest = rest.dropFirst(taken)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN: wait(for: Int16(POLLOUT), on: descriptor)
      case EPIPE: throw .readerGone
      case let code: throw Failure(.storage, "the output cannot be written: \(SystemReason.text(code))")
      }
    }
  }

  static func write(_ text: String, to descriptor: Int32) throws(Failure) {
    let bytes = Array(text.utf8)
    try unsafe bytes.span.withUnsafeBytes { bytes throws(Failure) in try unsafe write(bytes, to: descriptor) }
  }

  /// Waits for a descriptor that another process made non-blocking.
  static func wait(for events: Int16, on descriptor: Int32) {
    var request = pollfd(fd: descriptor, events: events, revents: 0)
    _ = unsafe poll(&request, 1, -1)
  }

  static func isOpen(_ descriptor: Int32) -> Bool { fcntl(descriptor, F_GETFD) != -1 }
}

/// Colour, used only on terminals that support it, and not if NO_COLOR (no-color.org) is set.
struct Style: Equatable {
  let hasColour: Bool

  init(descriptor: Int32, environment: [String: String]) {
    hasColour =
      isatty(descriptor) == 1 && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
  }

  func faint(_ text: String) -> String { hasColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
  func red(_ text: String) -> String { hasColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
  func yellow(_ text: String) -> String { hasColour ? "\u{1B}[33m\(text)\u{1B}[0m" : text }
}
