import Foundation
package import Glibc

/// A temporary folder, mode 0700, that is removed when this object is released.
package final class TemporaryFolder {
  package let path: String

  package init() {
    var template = Array((NSTemporaryDirectory() + "vault-test-XXXXXX").utf8CString)
    path = unsafe template.withUnsafeMutableBufferPointer { unsafe String(cString: mkdtemp($0.baseAddress!)) }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of `name` in the folder.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Makes or overwrites a file, and returns its path.
  @discardableResult
  package func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) -> String {
    let descriptor = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    precondition(unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    precondition(fchmod(descriptor, mode) == 0)
    close(descriptor)
    return file(name)
  }

  /// The bytes of a file; `nil` if it cannot be read.
  package func read(_ name: String) -> [UInt8]? { FileManager.default.contents(atPath: file(name)).map { Array($0) } }

  @discardableResult
  package func makeFolder(_ name: String, mode: mode_t = 0o700) -> String {
    precondition(unsafe mkdir(file(name), 0o700) == 0 && chmod(file(name), mode) == 0)
    return file(name)
  }

  @discardableResult
  package func makeFIFO(_ name: String) -> String {
    precondition(unsafe mkfifo(file(name), 0o600) == 0)
    return file(name)
  }

  /// Makes a symbolic link `name` to `target`.
  @discardableResult
  package func makeLink(_ name: String, to target: String) -> String {
    precondition(unsafe symlink(target, file(name)) == 0)
    return file(name)
  }

  package func setMode(_ name: String, _ mode: mode_t) { precondition(unsafe chmod(file(name), mode) == 0) }

  package func mode(_ name: String) -> mode_t? {
    var status = stat()
    return unsafe lstat(file(name), &status) == 0 ? status.st_mode & 0o7777 : nil
  }

  package func remove(_ name: String) { try? FileManager.default.removeItem(atPath: file(name)) }

  /// The names in a folder, sorted.
  package func names(in folder: String = ".") -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: file(folder)).sorted()) ?? []
  }

  /// Changes the owner of `name` if we are root. Returns a user id that does not own it.
  package func giveAway(_ name: String) -> uid_t {
    guard geteuid() == 0 else { return geteuid() + 1 }
    precondition(unsafe lchown(file(name), 65_533, 65_533) == 0)
    return 0
  }
}

/// The files inside `folder` that this process has open, as paths from there.
package func openFiles(inside folder: String) throws -> [String] {
  guard let real = unsafe realpath(folder, nil) else { throw CocoaError(.fileNoSuchFile) }
  defer { unsafe free(real) }
  let start = unsafe String(cString: real) + "/"
  let all = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
  return all.filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
}
