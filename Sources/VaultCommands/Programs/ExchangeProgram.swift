import Glibc
internal import Vault

/// The programs `vault-exchange`, which reads and writes the stores of other programs, and `vaultd`. They are in the
/// folder of this executable; an installed `vault-exchange` is below `libexec`. PATH is never searched, because the
/// programs receive passphrases and secrets.
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
    guard let path = try path(of: "vault-exchange") else {
      throw Failure(
        .usage, "vault-exchange, which reads and writes this format, is not installed next to vault",
        hint: "install both: tools/install")
    }
    return try ChildProcess.output(of: path, arguments, input: input, limit: limit)
  }

  /// The contents of this session's Secret Service, as JSON that `vaultd` writes.
  ///
  /// - Throws: `usage` if vaultd is not installed; `unexpected` if it reports that it cannot read them.
  static func secretService(errors: Int32) throws(Failure) -> WipedBytes {
    guard let path = try path(of: "vaultd") else {
      throw Failure(
        .usage, "vaultd, which speaks to the Secret Service, is not installed next to vault",
        hint: "install it: tools/install --daemon, or the package vault-keychain-service")
    }
    let nothing = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer { close(nothing) }
    let (end, bytes) = try ChildProcess.output(
      of: path, ["vaultd", "--read-secret-service"], input: nothing, errors: errors, limit: limit)
    guard end == .exited(0) else { throw Failure(.unexpected, "the Secret Service was not read") }
    return bytes
  }

  /// - Returns: nil if it is not there.
  /// - Throws: `usage` if the folder of this executable is not known.
  private static func path(of file: String) throws(Failure) -> String? {
    guard let executable = ResolvedPath.of("/proc/self/exe") else {
      throw Failure(
        .usage, "\(file) is next to vault, but /proc/self/exe does not say where that is",
        hint: "mount /proc; if vault was just replaced, repeat the command")
    }
    guard let slash = executable.lastIndex(of: "/") else { return nil }
    let folder = executable[..<slash]
    let name = executable[executable.index(after: slash)...]
    let places = ["\(folder)/\(file)", "\(folder)/../libexec/\(name)/\(file)"]
    return places.first { unsafe access($0, X_OK) == 0 }
  }
}
