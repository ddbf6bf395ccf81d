import Glibc
internal import Vault

/// The file that an import reads, or standard input for `-`.
struct ImportFile {
  /// The maximum size of most files in bytes.
  static let usualLimit = 64 << 20
  /// The maximum size of an env file in bytes.
  static let environmentLimit = 4 << 20

  let path: String
  /// The maximum size of the file in bytes.
  var limit = Self.usualLimit

  /// Its name in messages about its content. Only a file that could be opened is named, because a mistyped word may be
  /// a secret.
  var name: String { path == "-" ? "stdin" : UTF8Text.onOneLine(path) }

  /// - Throws: `usage` or `denied` if it cannot be opened, `overLimit`, `storage`.
  func read(_ streams: Streams) throws(Failure) -> WipedBytes {
    let descriptor = try open(streams)
    defer { if descriptor != streams.input { close(descriptor) } }
    return try contents(of: descriptor, path == "-" ? name : "the file")
  }

  /// - Returns: the file's descriptor, which the caller closes; for `-` the descriptor of stdin.
  /// - Throws: `usage` or `denied` if it cannot be opened.
  func open(_ streams: Streams) throws(Failure) -> Int32 {
    guard path != "-" else { return streams.input }
    let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw DescriptorInput.failure("the file", errno) }
    return descriptor
  }

  /// - Throws: the errors of ``read(_:)``; `usage` if it is not UTF-8.
  func text(_ streams: Streams) throws(Failure) -> String {
    let bytes = try read(streams)
    guard let text = bytes.exportInsecurelyAsString() else {
      throw Failure(.usage, "\(name) is not UTF-8")
    }
    return text
  }

  private func contents(of descriptor: Int32, _ source: String) throws(Failure) -> WipedBytes {
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: limit)
    guard bytes.count <= limit else { throw Failure(.overLimit, "\(name) is longer than \(limit >> 20) MiB") }
    return bytes
  }
}
