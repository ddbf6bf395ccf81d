import Glibc
internal import Vault

/// The source of the key that the command line named. If one is named, no other is tried.
struct KeySource: Equatable {
  var keyFile: String?
  var passphraseDescriptor: Int32?
  var recoveryDescriptor: Int32?
  var credential: String?
  var credentialDescriptor: Int32?

  /// The longest passphrase, in bytes.
  static let passphraseLimit = 1_024

  enum Named: Equatable {
    case keyFile(String)
    case passphrase(descriptor: Int32)
    case recoveryCode(descriptor: Int32)
    case credential(String)
    case credentialBytes(descriptor: Int32)
  }

  /// The source of a sealed credential's passphrase; nil for the terminal.
  var credentialPassphrase: Int32? { credential != nil || credentialDescriptor != nil ? passphraseDescriptor : nil }

  /// - Returns: nil if nothing was named.
  /// - Throws: `usage` if more than one was.
  func named() throws(Failure) -> Named? {
    let sources = [
      keyFile.map { ("--key-file", Named.keyFile($0)) },
      credentialPassphrase != nil
        ? nil : passphraseDescriptor.map { ("--passphrase-fd", Named.passphrase(descriptor: $0)) },
      recoveryDescriptor.map { ("--recovery-fd", Named.recoveryCode(descriptor: $0)) },
      credential.map { ("--credential", Named.credential($0)) },
      credentialDescriptor.map { ("--credential-fd", Named.credentialBytes(descriptor: $0)) },
    ].compactMap { $0 }
    guard sources.count < 2 else { throw .usage("\(sources[0].0) and \(sources[1].0) exclude each other") }
    return sources.first?.1
  }

  static func passphrase(descriptor: Int32) throws -> Secret {
    try passphraseLine(descriptor: descriptor).secret()
  }

  /// Like `passphrase`, for callers that need it more than once.
  static func passphraseLine(descriptor: Int32) throws -> WipedBytes {
    try firstLine(of: descriptor, namedBy: "--passphrase-fd")
  }

  static func newPassphrase(descriptor: Int32) throws -> Secret {
    try firstLine(of: descriptor, namedBy: "--new-passphrase-fd").secret()
  }

  static func recoveryCode(descriptor: Int32) throws -> Secret {
    try firstLine(of: descriptor, namedBy: "--recovery-fd").secret()
  }

  /// The bytes of a credential. Whoever opened the descriptor decided who may read them.
  static func credential(descriptor: Int32) throws -> Secret {
    let source = "the descriptor named by --credential-fd"
    let bytes = try DescriptorInput(descriptor, source).readAll(limit: 131_072)
    if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return try bytes.secret()
  }

  static func firstLine(of descriptor: Int32, namedBy option: String) throws -> WipedBytes {
    let source = "the descriptor of \(option)"
    let line = try DescriptorInput(descriptor, source).readLine(limit: passphraseLimit)
    // A program that we start must not be able to read it again.
    if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    return line
  }
}

extension WipedBytes {
  /// The bytes in the library's guarded memory.
  func secret() throws(VaultError) -> Secret {
    try unsafe withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }
  }
}

extension KeySource {
  /// The options that name the key to the store, on every command.
  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    self.init(
      keyFile: arguments.option(
        "--key-file", value: "file", "Open the store with this key file (else VAULT_KEY_FILE).", completes: .files),
      passphraseDescriptor: try arguments.number(
        "--passphrase-fd", value: "n",
        "Read the passphrase of the store or credential from the first line of this descriptor."),
      recoveryDescriptor: try arguments.number(
        "--recovery-fd", value: "n", "Read the recovery code from this descriptor: its first line."),
      credential: arguments.option(
        "--credential", value: "file", "Act as the application with this credential (else VAULT_CREDENTIAL).",
        completes: .files),
      credentialDescriptor: try arguments.number(
        "--credential-fd", value: "n", "Read an application's credential from this descriptor."))
  }
}
