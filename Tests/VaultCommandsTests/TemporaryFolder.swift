import Foundation
import Glibc

/// A folder for one test, removed when the test ends.
final class TemporaryFolder {
  let path: String

  init() {
    var template = Array("/tmp/vault-test-XXXXXX".utf8CString)
    path = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe String(cString: mkdtemp(buffer.baseAddress!))
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) -> String {
    let descriptor = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC, mode)
    precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    return file(name)
  }

  func read(_ name: String) -> [UInt8] {
    let descriptor = unsafe open(file(name), O_RDONLY)
    defer { close(descriptor) }
    return Pipe.readAll(descriptor)
  }

  func mode(_ name: String) -> mode_t {
    var status = stat()
    precondition(unsafe lstat(file(name), &status) == 0)
    return status.st_mode & 0o7777
  }

  func exists(_ name: String) -> Bool {
    var status = stat()
    return unsafe lstat(file(name), &status) == 0
  }

  /// The sorted names in the folder.
  func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }
}
