internal import CSodium

/// HMAC (RFC 2104) with the hashes that one-time codes use.
package enum MessageCode: Sendable {
  case sha1, sha256, sha512

  /// The code of `message` under a key of any length.
  package func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    Sodium.ready
    switch self {
    case .sha1: return Self.sha1Code(of: message, key: key)
    case .sha256:
      var state = crypto_auth_hmacsha256_state()
      var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
      unsafe crypto_auth_hmacsha256_init(&state, key, key.count)
      unsafe crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
      unsafe crypto_auth_hmacsha256_final(&state, &code)
      unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
      return code
    case .sha512:
      var state = crypto_auth_hmacsha512_state()
      var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha512_BYTES))
      unsafe crypto_auth_hmacsha512_init(&state, key, key.count)
      unsafe crypto_auth_hmacsha512_update(&state, message, UInt64(message.count))
      unsafe crypto_auth_hmacsha512_final(&state, &code)
      unsafe sodium_memzero(&state, MemoryLayout.size(ofValue: state))
      return code
    }
  }

  private static func sha1Code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > SHA1.blockByteCount ? SHA1.digest(key) : key
    block += [UInt8](repeating: 0, count: SHA1.blockByteCount - block.count)
    var inner = block.map { $0 ^ 0x36 } + message
    var outer = block.map { $0 ^ 0x5C } + SHA1.digest(inner)
    defer {
      block.wipe()
      inner.wipe()
      outer.wipe()
    }
    return SHA1.digest(outer)
  }
}

extension [UInt8] {
  /// Overwrites the bytes with zeros.
  mutating func wipe() {
    unsafe withUnsafeMutableBytes { unsafe sodium_memzero($0.baseAddress, $0.count) }
  }
}
