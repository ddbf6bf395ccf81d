internal import VaultStore

/// What the command line named to open the store with. A source that is named is final: nothing else is tried.
struct KeySource: Equatable {
  var keyFile: String?
  var passphraseDescriptor: Int32?
  var credential: String?

  /// The longest passphrase, in bytes.
  static let passphraseLimit = 1_024

  enum Named: Equatable {
    case keyFile(String)
    case passphrase(descriptor: Int32)
    case credential(String)
  }

  /// - Returns: nil if nothing was named.
  /// - Throws: `usage` if more than one was.
  func named() throws(Failure) -> Named? {
    let named: [Named] =
      (keyFile.map { [.keyFile($0)] } ?? []) + (passphraseDescriptor.map { [.passphrase(descriptor: $0)] } ?? [])
      + (credential.map { [.credential($0)] } ?? [])
    guard named.count <= 1 else { throw .usage("--key-file, --passphrase-fd and --credential exclude each other") }
    return named.first
  }

  static func passphrase(descriptor: Int32) throws -> Secret {
    let source = "the descriptor named by --passphrase-fd"
    return try DescriptorInput(descriptor, source).readLine(limit: passphraseLimit).secret()
  }
}

extension WipedBytes {
  /// The bytes in the guarded memory of the library.
  func secret() throws(VaultError) -> Secret {
    try unsafe withUnsafeBytes { (bytes) throws(VaultError) in try unsafe Secret(copying: bytes) }
  }
}
