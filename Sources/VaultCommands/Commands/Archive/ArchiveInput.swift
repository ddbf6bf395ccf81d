import Glibc
internal import KeyedArchives
internal import Vault

/// Where an archive is read from: a file, or standard input for `-`.
struct ArchiveInput: Equatable {
  let path: String

  /// Reads it whole.
  ///
  /// - Throws: `overLimit` above the limit of archives; a regular file is refused by its size, of anything else no more
  ///   than one byte over the limit is read. Otherwise `usage`, `denied` or `storage`, as for any file that is named.
  func read(_ streams: Streams) throws(Failure) -> [UInt8] {
    guard path != "-" else { return try contents(of: streams.input, "stdin") }
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw DescriptorInput.failure("the archive", errno) }
    defer { close(descriptor) }
    return try contents(of: descriptor, "the archive")
  }

  private func contents(of descriptor: Int32, _ source: String) throws(Failure) -> [UInt8] {
    let limit = ArchiveLimits.standard.inputBytes
    var status = stat()
    if unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > limit {
      throw Self.overLimit(limit)
    }
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: limit)
    guard bytes.count <= limit else { throw Self.overLimit(limit) }
    return unsafe bytes.withUnsafeBytes { unsafe Array($0) }
  }

  private static func overLimit(_ limit: Int) -> Failure {
    Failure(ArchiveError.overLimit(.inputBytes, allowed: limit, at: ArchivePath()))
  }
}

extension Failure {
  /// What an archive's error means on the command line: 13 for broken, 19 for a class, 20 for a limit. Names in its words
  /// come from the archive, and are escaped.
  init(_ error: ArchiveError) {
    let hint: String? =
      switch error {
      case .overLimit: "no option raises it; in Swift, a program can set ArchiveLimits"
      case .classRefused: "if you trust the class, name it with --allow"
      case .notAPropertyList: "it may be encrypted or compressed"
      default: error.hint
      }
    self.init(ExitStatus(rawValue: error.status) ?? .damaged, error.message, hint: hint)
  }
}
