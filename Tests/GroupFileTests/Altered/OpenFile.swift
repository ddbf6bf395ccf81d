import Foundation
import Ground

/// A file whose bytes are changed in place. It stays open, because closing it would release the locks that SQLite holds on it.
final class OpenFile {
  let count: Int
  private let descriptor: Int32

  init(_ path: String) throws {
    descriptor = unsafe open(path, O_RDWR)
    var status = stat()
    guard descriptor >= 0, unsafe fstat(descriptor, &status) == 0 else { throw CocoaError(.fileReadUnknown) }
    count = Int(status.st_size)
  }

  deinit { close(descriptor) }

  subscript(_ offset: Int) -> UInt8 {
    get {
      var byte: UInt8 = 0
      precondition(unsafe pread(descriptor, &byte, 1, offset) == 1)
      return byte
    }
    set {
      var byte = newValue
      precondition(unsafe pwrite(descriptor, &byte, 1, offset) == 1)
    }
  }
}
