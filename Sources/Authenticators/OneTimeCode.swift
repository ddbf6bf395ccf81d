internal import Sealing
package import Vault

/// A time-based one-time code (TOTP, RFC 6238).
package struct OneTimeCode: Sendable {
  /// The digits, with leading zeros; the letters and digits of a code of Steam.
  package let text: String
  /// How many more seconds the code is valid, from 1.
  package let secondsLeft: Int

  /// The hash function that HMAC uses.
  package enum Algorithm: String, Sendable {
    case sha1 = "SHA1"
    case sha256 = "SHA256"
    case sha512 = "SHA512"

    fileprivate func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
      switch self {
      case .sha1: SHA1.code(of: message, key: key)
      case .sha256: MessageCode.sha256.code(of: message, key: key)
      case .sha512: MessageCode.sha512.code(of: message, key: key)
      }
    }
  }

  /// - Parameters:
  ///   - key: the secret's bytes, which the service knows too.
  ///   - digits: how many digits, 1 to 9; nil for a code of Steam.
  ///   - period: for how many seconds a code is valid, from 1.
  package init(key: [UInt8], algorithm: Algorithm, digits: Int?, period: Int, at time: Timestamp) {
    let seconds = time.milliseconds / 1_000
    let counter = seconds / UInt64(period)
    text = OneTimeCode.text(key: key, algorithm: algorithm, digits: digits, counter: counter)
    secondsLeft = period - Int(seconds % UInt64(period))
  }

  /// The code for one counter value (HOTP, RFC 4226, section 5.3), or Steam's, which writes the same number with 26
  /// letters and digits, the last place first, as KeePassXC does.
  static func text(key: [UInt8], algorithm: Algorithm, digits: Int?, counter: UInt64) -> String {
    let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * $0)) }
    let code = algorithm.code(of: message, key: key)
    let offset = Int(code[code.count - 1] & 0xF)
    let word = code[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    guard let digits else {
      var rest = Int(word)
      return String(
        (0..<5).map { _ in
          defer { rest /= steamAlphabet.count }
          return steamAlphabet[rest % steamAlphabet.count]
        })
    }
    let limit = (0..<digits).reduce(UInt32(1)) { power, _ in power * 10 }
    let text = String(word % limit)
    return String(repeating: "0", count: digits - text.count) + text
  }

  private static let steamAlphabet = Array("23456789BCDFGHJKMNPQRTVWXY")
}
