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

  /// Writes a file. One that can be executed is written by another process: a process that another thread starts
  /// meanwhile would have it open for writing for a while, and the system would not execute it.
  func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) -> String {
    if mode & 0o111 != 0 {
      let script = #"umask 077; cat >"$0" && chmod "$1" "$0""#
      let written = Executable(
        ["-c", script, file(name), String(mode, radix: 8)], program: "/bin/sh", input: bytes,
        environment: ["PATH": Machine.path]
      ).wait()
      precondition(written.status == 0)
      return file(name)
    }
    let descriptor = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
    precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    return file(name)
  }

  func read(_ name: String) -> [UInt8] {
    let descriptor = unsafe open(file(name), O_RDONLY | O_CLOEXEC)
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
