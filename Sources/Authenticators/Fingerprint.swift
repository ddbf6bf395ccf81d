internal import Ground
internal import Sealing

/// A digest by which a program recognizes bytes later without keeping them. No format uses it.
package enum Fingerprint {
  /// 64 hexadecimal digits for bytes that are not secret.
  package static func of(_ bytes: [UInt8]) -> String { Hash.digest(.fingerprint, [0] + bytes).hexadecimal }

  /// 64 hexadecimal digits for a secret, which is not copied.
  ///
  /// - Parameter salt: random bytes, which keep others from confirming a guessed value by its digest.
  package static func of(_ secret: UnsafeRawBufferPointer, salt: [UInt8]) -> String {
    let digest = unsafe Hash.digest(.fingerprint, secret)
    return Hash.digest(.fingerprint, [UInt8(salt.count)] + salt + digest.bytes).hexadecimal
  }
}

extension Label {
  fileprivate static let fingerprint = Label("vault1.same")
}
