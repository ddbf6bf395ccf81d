import Foundation

/// An empty folder for one test, removed when the test ends.
final class TemporaryFolder {
  let path: String

  init(at path: String = NSTemporaryDirectory() + "vault-test-" + UUID().uuidString) {
    self.path = path
    try! FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }

  /// The path of the group's file.
  var group: String { file("group.vault") }

  /// The sorted names of the files in it.
  func names() -> [String] { try! FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  func exists(_ name: String) -> Bool { (try? FileManager.default.attributesOfItem(atPath: file(name))) != nil }

  func write(_ bytes: [UInt8], to name: String) {
    precondition(
      FileManager.default.createFile(
        atPath: file(name), contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
  }

  func bytes(of name: String) -> [UInt8] { [UInt8](FileManager.default.contents(atPath: file(name))!) }

  func remove(_ name: String) { try! FileManager.default.removeItem(atPath: file(name)) }

  /// Writes `bytes` at `offset` into a file that nobody has open.
  func patch(_ name: String, at offset: Int, _ bytes: [UInt8]) {
    var all = self.bytes(of: name)
    all.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    let handle = FileHandle(forWritingAtPath: file(name))!
    handle.write(Data(all))
    handle.closeFile()
  }
}
