internal import Sealing

/// A digest by which a program recognizes bytes later without keeping them. It is part of no format.
package enum Fingerprint {
  /// 64 hexadecimal digits.
  ///
  /// - Parameter salt: random bytes, for a digest that others might compare with those of values they guess.
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
