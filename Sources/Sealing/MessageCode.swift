internal import CSodium

/// SHA-256, for what others identify by it.
package enum SHA256 {
  package static func digest(_ bytes: [UInt8]) -> [UInt8] {
    Sodium.ready
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
    unsafe crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
    return digest
  }
}

/// HMAC (RFC 2104).
package enum MessageCode: Sendable {
  case sha256, sha512

  /// The code of `message` under a key of any length.
  package func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    Sodium.ready
    switch self {
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
}
