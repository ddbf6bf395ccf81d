internal import VaultStore

/// What the command line named to open the store with. A source that is named is final: nothing else is tried.
struct KeySource: Equatable {
  var keyFile: String?
  var passphraseDescriptor: Int32?

  /// The longest passphrase, in bytes.
  static let passphraseLimit = 1_024

  enum Named: Equatable {
    case keyFile(String)
    case passphrase(descriptor: Int32)
  }

  /// - Returns: nil if nothing was named.
  /// - Throws: `usage` if two were.
  func named() throws(Failure) -> Named? {
    switch (keyFile, passphraseDescriptor) {
    case (_?, _?): throw .usage("--key-file and --passphrase-fd exclude each other")
    case (let path?, nil): .keyFile(path)
    case (nil, let descriptor?): .passphrase(descriptor: descriptor)
    case (nil, nil): nil
    }
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
