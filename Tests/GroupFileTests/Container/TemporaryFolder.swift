import Foundation

/// An empty folder of its own for one test, removed with it.
final class TemporaryFolder {
  let path: String

  init() {
    path = NSTemporaryDirectory() + "vault-test-" + UUID().uuidString
    try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  /// The names of what is in it, sorted.
  func names() -> [String] { try! FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}
