import Glibc
internal import Vault

/// `vault-exchange`, which reads and writes the stores of other programs. It is in the folder of this executable or, if
/// both are installed, below `libexec`. PATH is never searched for it, because it receives passphrases.
enum ExchangeProgram {
  /// The maximum size of its output in bytes.
  static let limit = 256 << 20

  /// Runs it until it exits.
  ///
  /// - Parameters:
  ///   - input: its stdin.
  ///   - passphrase: the passphrase, which it reads from a separate descriptor; nil for none.
  ///   - keyFile: a descriptor of the key file.
  /// - Returns: how it ended, and its output.
  /// - Throws: `usage` if it is not installed; `overLimit`, `storage`.
  static func run(
    _ words: [String], input: Int32, passphrase: WipedBytes?, keyFile: Int32? = nil
  ) throws -> (end: ProgramEnd, bytes: WipedBytes) {
    var arguments = ["vault-exchange"] + words
    var passed: [Int32] = []
    defer { for descriptor in passed { close(descriptor) } }
    if let passphrase {
      let descriptor = try MemoryFile.sealed(try passphrase.secret())
      passed.append(descriptor)
      arguments += ["--passphrase", String(descriptor)]
    }
    if let keyFile {
      let descriptor = fcntl(keyFile, F_DUPFD, 60)
      guard descriptor >= 0 else { throw Failure(.storage, "no descriptor is left: \(SystemReason.text(errno))") }
      passed.append(descriptor)
      arguments += ["--key-file", String(descriptor)]
    }
    guard let path else {
      throw Failure(
        .usage, "vault-exchange, which reads and writes this format, is not installed next to vault",
        hint: "install both: tools/install")
    }
    return try ChildProcess.output(of: path, arguments, input: input, limit: limit)
  }

  private static var path: String? {
    guard let own = unsafe realpath("/proc/self/exe", nil) else { return nil }
    defer { unsafe free(own) }
    let executable = unsafe String(cString: own)
    guard let slash = executable.lastIndex(of: "/") else { return nil }
    let folder = executable[..<slash]
    let name = executable[executable.index(after: slash)...]
    let places = ["\(folder)/vault-exchange", "\(folder)/../libexec/\(name)/vault-exchange"]
    return places.first { unsafe access($0, X_OK) == 0 }
  }
}
