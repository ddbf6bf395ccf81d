import CVaultProcess
import Glibc
internal import Vault

/// A descriptor for output, with one buffer that is wiped, because the data may be secret.
final class Output {
  let descriptor: Int32
  // Cached, because a table asks for each of its times.
  private(set) lazy var isTerminal = isatty(descriptor) == 1
  private let buffer: WipedBytes
  private var flushedCount = 0
  /// Called before bytes are written to the system. If it throws, they are not.
  var willWrite: () throws(Failure) -> Void = {}

  /// The number of bytes written so far.
  var byteCount: Int { flushedCount + buffer.count }

  init(descriptor: Int32) throws(Failure) {
    self.descriptor = descriptor
    buffer = try WipedBytes(capacity: 16_384)
  }

  /// - Throws: `usage`, with `hint`, if this is a terminal that would not show the bytes unchanged.
  func requireTextIfTerminal(_ bytes: UnsafeRawBufferPointer, hint: String) throws(Failure) {
    guard isTerminal, unsafe !UTF8Text.isPrintable(bytes) else { return }
    throw Failure(.usage, "the value is not text and is not written to a terminal", hint: hint)
  }

  func requireTextIfTerminal(_ bytes: [UInt8], hint: String) throws(Failure) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(Failure) in
      try unsafe requireTextIfTerminal(bytes, hint: hint)
    }
  }

  /// - Throws: `Failure.readerGone` if the pipe's reader has closed it; `storage` if the bytes cannot be written.
  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var rest = unsafe bytes
    while rest.count > buffer.capacity - buffer.count {
      let count = buffer.capacity - buffer.count
      unsafe buffer.append(UnsafeRawBufferPointer(rebasing: rest[..<count]))
      try flush()
      unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    unsafe buffer.append(rest)
  }

  func write(_ bytes: [UInt8]) throws(Failure) {
    try unsafe bytes.span.withUnsafeBytes { (bytes) throws(Failure) in try unsafe write(bytes) }
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
    if buffer.count > 0 { try willWrite() }
    try unsafe buffer.withUnsafeBytes { bytes throws(Failure) in
      try unsafe Descriptor.write(bytes, to: descriptor)
    }
    flushedCount += buffer.count
  }

  /// Writes what a command tells about a change after it was made. If that fails, the error says that it was made.
  ///
  /// - Parameter change: what was done, as the first half of a sentence.
  func tell(of change: String, _ write: () throws(Failure) -> Void) throws(Failure) {
    do throws(Failure) {
      try write()
      try flush()
    } catch {
      guard !error.isSilent else { throw error }
      throw Failure(error.status, "\(change), but \(error.message)")
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

/// A buffer for bytes that may be secret. It has its own pages, which are left out of core dumps and wiped before they
/// are returned to the system.
///
/// The pages are only reserved until something is written. They are locked if the machine allows it.
@safe final class WipedBytes {
  let capacity: Int
  private(set) var count = 0
  private let pages: UnsafeMutableRawBufferPointer

  /// - Throws: `storage`, if the system has no memory left.
  init(capacity: Int) throws(Failure) {
    let address = unsafe mmap(nil, max(capacity, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard unsafe address != MAP_FAILED, let address = unsafe address else {
      throw Failure(.storage, "there is not enough memory")
    }
    unsafe pages = UnsafeMutableRawBufferPointer(start: address, count: max(capacity, 1))
    self.capacity = capacity
    _ = unsafe madvise(address, pages.count, MADV_DONTDUMP)
    _ = unsafe cprocess_lock_on_fault(address, pages.count)
  }

  /// A copy with room for `spare` bytes more.
  convenience init(copying bytes: UnsafeRawBufferPointer, spare: Int = 0) throws(Failure) {
    try self.init(capacity: bytes.count + spare)
    unsafe append(bytes)
  }

  deinit {
    unsafe explicit_bzero(pages.baseAddress!, count)
    unsafe munmap(pages.baseAddress!, pages.count)
  }

  func withUnsafeBytes<R: ~Copyable, E>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try unsafe body(UnsafeRawBufferPointer(rebasing: pages[..<count]))
  }

  /// Lends the free space. `body` returns how many bytes of it are now used.
  func appendBytes<E>(_ body: (UnsafeMutableRawBufferPointer) throws(E) -> Int) throws(E) {
    count += try unsafe body(UnsafeMutableRawBufferPointer(rebasing: pages[count..<capacity]))
  }

  func append(_ byte: UInt8) {
    precondition(count < capacity)
    unsafe pages[count] = byte
    count += 1
  }

  func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= capacity - count)
    unsafe UnsafeMutableRawBufferPointer(rebasing: pages[count...]).copyMemory(from: bytes)
    count += bytes.count
  }

  /// Removes and wipes everything from `newCount` on.
  func truncate(to newCount: Int) {
    precondition(newCount <= count)
    unsafe explicit_bzero(pages.baseAddress! + newCount, count - newCount)
    count = newCount
  }

  /// Whether there is no line break except at the end.
  var isOneLine: Bool { unsafe withUnsafeBytes { unsafe !$0.dropLast().contains(0x0A) } }

  var isText: Bool { unsafe withUnsafeBytes { unsafe $0.isUTF8 } }

  /// The bytes in ordinary memory, which is not wiped.
  func exportInsecurely() -> [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }

  /// The bytes as text in ordinary memory, which is not wiped; nil if they are not UTF-8.
  func exportInsecurelyAsString() -> String? {
    unsafe withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) }
  }
}

extension Secret {
  /// The bytes in ordinary memory, which is not wiped.
  func exportInsecurely() -> [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}

extension WipedBytes {
  /// Removes one final newline, `\n` or `\r\n`, as `echo` and editors write it.
  func removeTrailingNewline() {
    let kept = unsafe withUnsafeBytes { bytes in
      if unsafe bytes.suffix(2).elementsEqual([0x0D, 0x0A]) { return bytes.count - 2 }
      return unsafe bytes.last == 0x0A ? bytes.count - 1 : bytes.count
    }
    truncate(to: kept)
  }
}

extension WipedBytes {
  /// Whether the bytes are the same. The time does not reveal where they differ.
  func equals(_ other: WipedBytes) -> Bool {
    guard count == other.count else { return false }
    return unsafe withUnsafeBytes { mine in
      unsafe other.withUnsafeBytes { theirs in
        unsafe zip(mine, theirs).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
      }
    }
  }
}

/// Texts as a terminal gets them.
extension UTF8Text {
  /// Whether a terminal shows the bytes as they are: UTF-8 without the control characters that could move its cursor,
  /// recolour it or type on the user's behalf.
  static func isPrintable(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let text = unsafe try? UTF8Span(validating: Span(_unsafeBytes: bytes)) else { return false }
    var scalars = text.makeUnicodeScalarIterator()
    while let scalar = scalars.next() {
      if isControl(scalar) && !["\t", "\n", "\r"].contains(scalar) { return false }
    }
    return true
  }

  /// The text for one line of a terminal or a pipe. Characters that could break the line become `\u{…}`.
  static func onOneLine(_ text: String) -> String {
    if text.isPrintableASCII { return text }
    guard text.unicodeScalars.contains(where: { isControl($0) || isDeceptive($0) }) else { return text }
    var line = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isControl(scalar) || isDeceptive(scalar) {
        line.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars)
      } else {
        line.append(scalar)
      }
    }
    return String(line)
  }
}
