internal import Exchange
internal import Ground

/// The encryption of an export with its own passphrase: a key from PBKDF2 or Argon2id, AES-256-CBC and HMAC-SHA-256.
struct BitwardenSeal {
  private let export: JSONValue

  /// This many take about two seconds.
  static let mostRounds = 10_000_000

  init(_ export: JSONValue) { self.export = export }

  /// - Throws: `wrongKey`, `damaged`, `overLimit`, `unsupported`.
  func opened(_ passphrase: [UInt8]?) throws(ImportFault) -> [UInt8] {
    guard export["passwordProtected"] == .bool(true) else {
      throw ImportFault(
        "only the account that wrote it can open it; export it as JSON, or encrypted with a password", .unsupported)
    }
    guard let passphrase, !passphrase.isEmpty else { throw ImportFault("the passphrase is missing", .wrongKey) }
    let key = try key(passphrase)
    // A text that proves the key, which distinguishes a wrong passphrase from a damaged file.
    guard try BitwardenText(export.text("encKeyValidation_DO_NOT_EDIT")).opened(key) != nil else {
      throw ImportFault("the passphrase is wrong", .wrongKey)
    }
    guard let content = try BitwardenText(export.text("data")).opened(key) else {
      throw ImportFault("its content is damaged", .damaged)
    }
    return content
  }

  private func key(_ passphrase: [UInt8]) throws(ImportFault) -> [UInt8] {
    let salt = Array(export.text("salt").utf8)
    guard let rounds = export.count("kdfIterations"), rounds >= 1, !salt.isEmpty else {
      throw ImportFault("its key derivation is damaged", .damaged)
    }
    switch export.count("kdfType") {
    case 0:
      guard rounds <= Self.mostRounds else {
        throw ImportFault("its key derivation has more than \(Self.mostRounds) rounds", .overLimit)
      }
      return try Gcrypt.pbkdf2(passphrase, salt: salt, rounds: rounds)
    case 1:
      guard let memory = export.count("kdfMemory"), let lanes = export.count("kdfParallelism") else {
        throw ImportFault("its key derivation is damaged", .damaged)
      }
      let argon2 = Gcrypt.Argon2(
        isArgon2id: true, passes: rounds, kibibytes: min(memory, 1 << 20) * 1_024, lanes: lanes)
      return try argon2.key(passphrase, salt: Gcrypt.sha256(salt))
    default: throw ImportFault("its key derivation is not PBKDF2 or Argon2id", .unsupported)
    }
  }
}

/// An encrypted text: `2.vector|content|code`, each in base64.
struct BitwardenText {
  private var parts: [[UInt8]] = []

  init(_ text: String) throws(ImportFault) {
    guard text.hasPrefix("2.") else { throw ImportFault("its encryption is not known here", .unsupported) }
    for part in text.dropFirst(2).split(separator: "|") {
      var bytes: [UInt8] = []
      guard Base64.append(decoding: Array(part.utf8), to: &bytes) else {
        throw ImportFault("an encrypted text is damaged", .damaged)
      }
      parts.append(bytes)
    }
    guard parts.count == 3, parts[0].count == 16, parts[2].count == 32 else {
      throw ImportFault("an encrypted text is damaged", .damaged)
    }
  }

  /// - Returns: nil if the key is wrong or a byte was altered.
  func opened(_ key: [UInt8]) throws(ImportFault) -> [UInt8]? {
    let code = try Gcrypt.hmac(key: Self.expanded(key, "mac"), parts[0] + parts[1])
    guard Gcrypt.areEqual(code, parts[2]) else { return nil }
    return try Cipher.opened(parts[1], .aes256, key: Self.expanded(key, "enc"), vector: parts[0])
  }

  /// HKDF-Expand (RFC 5869) to one block.
  private static func expanded(_ key: [UInt8], _ purpose: String) throws(ImportFault) -> [UInt8] {
    try Gcrypt.hmac(key: key, Array(purpose.utf8) + [1])
  }
}
