import Glibc
internal import Vault

/// `vault-exchange`, which reads and writes what other programs' stores hold: it lies beside this executable, or below
/// `libexec` where both are installed. It is never looked for in PATH, because it gets passphrases.
enum ExchangeProgram {
  /// The most bytes that it may write.
  static let limit = 256 << 20

  /// Runs it to its end.
  ///
  /// - Parameters:
  ///   - input: its stdin.
  ///   - passphrase: what it reads from a descriptor of its own; nil for none.
  ///   - keyFile: a descriptor that it reads a key from.
  /// - Returns: how it ended, and what it wrote on its stdout.
  /// - Throws: `usage` where it is not installed; `overLimit`, `storage`.
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
        .usage, "vault-exchange, which reads and writes this format, is not installed beside vault",
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
