import CVaultSystem
import Glibc
internal import Vault

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
      throw Failure(.storage, "there is too little memory")
    }
    unsafe pages = UnsafeMutableRawBufferPointer(start: address, count: max(capacity, 1))
    self.capacity = capacity
    _ = unsafe madvise(address, pages.count, MADV_DONTDUMP)
    _ = unsafe csystem_lock_on_fault(address, pages.count)
  }

  /// A copy with room for `spare` bytes more.
  convenience init(copying bytes: UnsafeRawBufferPointer, spare: Int = 0) throws(Failure) {
    try self.init(capacity: bytes.count + spare)
    unsafe appendBytes { free in
      unsafe free.copyBytes(from: bytes)
      return bytes.count
    }
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

  /// Removes and wipes everything from `newCount` on.
  func truncate(to newCount: Int) {
    precondition(newCount <= count)
    unsafe explicit_bzero(pages.baseAddress! + newCount, count - newCount)
    count = newCount
  }

  /// Whether there is no line break except at the end.
  var isOneLine: Bool { unsafe withUnsafeBytes { unsafe !$0.dropLast().contains(0x0A) } }

  var isText: Bool { unsafe withUnsafeBytes { unsafe UTF8Text.isValid($0) } }
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
