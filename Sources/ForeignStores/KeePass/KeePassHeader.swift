internal import Exchange

/// The unencrypted header of a KeePass database.
struct KeePassHeader {
  private(set) var seed: [UInt8] = []
  private(set) var isCompressed = false
  /// Only in version 3: the first bytes of the content, and the stream that hides texts in it.
  private(set) var startBytes: [UInt8] = []
  private(set) var streamKey: [UInt8] = []
  private(set) var streamNumber: UInt32 = 0
  private var cipher: Cipher.Algorithm?
  private var vector: [UInt8] = []
  /// The key derivation. Version 3 has its parameters here.
  private var transformSeed: [UInt8] = []
  private var transformRounds: UInt64?
  private var parameters: [UInt8]?

  /// The ciphers by their UUIDs.
  static let ciphers: [[UInt8]: Cipher.Algorithm] = [
    [0x31, 0xC1, 0xF2, 0xE6, 0xBF, 0x71, 0x43, 0x50, 0xBE, 0x58, 0x05, 0x21, 0x6A, 0xFC, 0x5A, 0xFF]: .aes256,
    [0xD6, 0x03, 0x8A, 0x2B, 0x8B, 0x6F, 0x4C, 0xB5, 0xA5, 0x24, 0x33, 0x9A, 0x31, 0xDB, 0xB5, 0x9A]: .chacha20,
    [0xAD, 0x68, 0xF2, 0x9F, 0x57, 0x6F, 0x4B, 0xB9, 0xA3, 0x6A, 0xD4, 0x7A, 0xF9, 0x65, 0x34, 0x6C]: .twofish,
  ]

  /// Reads up to and including the field that ends the header.
  ///
  /// - Parameter field: reads a field's length and content, whose form differs between the versions.
  init(
    _ cursor: inout ByteCursor, field: (inout ByteCursor) throws(ImportFault) -> [UInt8]
  ) throws(ImportFault) {
    fields: while true {
      let kind = try cursor.number(UInt8.self)
      let content = try field(&cursor)
      switch kind {
      case 0: break fields
      case 2:
        guard let cipher = Self.ciphers[content] else {
          throw ImportFault("its cipher is not AES, ChaCha20 or Twofish", .unsupported)
        }
        self.cipher = cipher
      case 3: isCompressed = content.littleEndian(UInt32.self) == 1
      case 4: seed = content
      case 5: transformSeed = content
      case 6: transformRounds = content.littleEndian()
      case 7: vector = content
      case 8: streamKey = content
      case 9: startBytes = content
      case 10: streamNumber = content.littleEndian() ?? .max
      case 11: parameters = content
      // A comment, or an application's own data.
      default: break
      }
    }
    guard cipher != nil, seed.count == 32 else { throw ImportFault("its header is damaged", .damaged) }
  }

  /// - Returns: nil if the key is wrong.
  func opened(_ sealed: [UInt8], key: [UInt8]) throws(ImportFault) -> [UInt8]? {
    try Cipher.opened(sealed, cipher ?? .aes256, key: key, vector: vector)
  }

  func transformation(version: Int) throws(ImportFault) -> KeePassTransformation {
    if version == 3 {
      guard let transformRounds else { throw ImportFault("its header is damaged", .damaged) }
      return try .aes(seed: transformSeed, rounds: transformRounds)
    }
    guard let parameters else { throw ImportFault("its header is damaged", .damaged) }
    return try KeePassTransformation(parameters)
  }
}

/// How a database makes guessing its passphrase expensive.
enum KeePassTransformation {
  case aes(seed: [UInt8], rounds: UInt64)
  case argon2(Gcrypt.Argon2, salt: [UInt8])

  /// This many take about half a minute.
  static let mostRounds: UInt64 = 1 << 30

  static let aesNumbers: [[UInt8]] = [
    [0xC9, 0xD9, 0xF3, 0x9A, 0x62, 0x8A, 0x44, 0x60, 0xBF, 0x74, 0x0D, 0x08, 0xC1, 0x8A, 0x4F, 0xEA],
    [0x7C, 0x02, 0xBB, 0x82, 0x79, 0xA7, 0x4A, 0xC0, 0x92, 0x7D, 0x11, 0x4A, 0x00, 0x64, 0x82, 0x38],
  ]
  static let argon2d: [UInt8] = [
    0xEF, 0x63, 0x6D, 0xDF, 0x8C, 0x29, 0x44, 0x4B, 0x91, 0xF7, 0xA9, 0xA4, 0x03, 0xE3, 0x0A, 0x0C,
  ]
  static let argon2id: [UInt8] = [
    0x9E, 0x29, 0x8B, 0x19, 0x56, 0xDB, 0x47, 0x73, 0xB2, 0x3D, 0xFC, 0x3E, 0xC6, 0xF0, 0xA1, 0xE6,
  ]

  /// Reads the parameters of version 4: a table of names and values.
  init(_ table: [UInt8]) throws(ImportFault) {
    let damaged = ImportFault("its key derivation is damaged", .damaged)
    var cursor = ByteCursor(table)
    guard try cursor.number(UInt16.self) >> 8 == 1 else { throw damaged }
    var values: [String: [UInt8]] = [:]
    while try cursor.number(UInt8.self) != 0 {
      let name = String(decoding: try cursor.field(), as: UTF8.self)
      values[name] = try cursor.field()
    }
    func number(_ name: String) -> UInt64? {
      values[name].flatMap { $0.littleEndian(UInt64.self) ?? $0.littleEndian(UInt32.self).map(UInt64.init) }
    }
    guard let kind = values["$UUID"], let salt = values["S"] else { throw damaged }
    if Self.aesNumbers.contains(kind) {
      guard let rounds = number("R") else { throw damaged }
      self = .aes(seed: salt, rounds: rounds)
      return
    }
    guard kind == Self.argon2d || kind == Self.argon2id else {
      throw ImportFault("its key derivation is not AES-KDF or Argon2", .unsupported)
    }
    guard number("V") == 0x13 else { throw ImportFault("its version of Argon2 is not 1.3", .unsupported) }
    guard let passes = number("I").map(Int.init(clamping:)), let lanes = number("P").map(Int.init(clamping:)),
      let memory = number("M").map(Int.init(clamping:)), salt.count >= 8
    else { throw damaged }
    let argon2 = Gcrypt.Argon2(
      isArgon2id: kind == Self.argon2id, passes: passes, kibibytes: memory / 1_024, lanes: lanes,
      secret: values["K"] ?? [], associated: values["A"] ?? [])
    self = .argon2(argon2, salt: salt)
  }

  func applied(to key: [UInt8]) throws(ImportFault) -> [UInt8] {
    switch self {
    case .argon2(let argon2, let salt): return try argon2.key(key, salt: salt)
    case .aes(let seed, let rounds):
      guard seed.count == 32 else { throw ImportFault("its key derivation is damaged", .damaged) }
      guard rounds <= Self.mostRounds else {
        throw ImportFault("its key derivation has more than \(Self.mostRounds) rounds", .overLimit)
      }
      let left = try Cipher.repeatedAES(Array(key[..<16]), key: seed, rounds: rounds)
      let right = try Cipher.repeatedAES(Array(key[16...]), key: seed, rounds: rounds)
      return try Gcrypt.sha256(left, right)
    }
  }
}
