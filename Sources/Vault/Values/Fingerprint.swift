internal import Sealing

/// A digest by which a program recognizes bytes later without keeping them. No format uses it.
package enum Fingerprint {
  /// 64 hexadecimal digits.
  ///
  /// - Parameter salt: random bytes, which keep others from confirming a guessed value by its digest.
  package static func of(_ bytes: UnsafeRawBufferPointer, salt: [UInt8] = []) -> String {
    var hash = Hash(.fingerprint)
    hash.update([UInt8(salt.count)])
    hash.update(salt)
    unsafe hash.update(bytes)
    let digits = Array("0123456789abcdef")
    let digest = hash.finish()
    return unsafe digest.withUnsafeBytes { unsafe String($0.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) }
  }

  package static func of(_ bytes: [UInt8]) -> String { unsafe bytes.withUnsafeBytes { unsafe of($0) } }
}

extension Label {
  fileprivate static let fingerprint = Label("vault1.same")
}
