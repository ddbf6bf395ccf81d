internal import Sealing

/// What the identity, the credential and the settings have in common: a label first, a hash of all before it last.
enum CheckedFile {
  /// The bytes before the hash.
  ///
  /// - Returns: `nil` if the label or the hash is wrong.
  /// - Throws: `newerFormat` if the label is one of a later format.
  static func covered(
    _ bytes: [UInt8], _ label: Label, hash: Label, level: IdentityError.Level
  ) throws(IdentityError) -> [UInt8]? {
    if isNewer(bytes.prefix(16), than: label) { throw .newerFormat(level) }
    guard bytes.count >= 16 + Digest.byteCount, bytes.starts(with: label.padded) else { return nil }
    let covered = Array(bytes.dropLast(Digest.byteCount))
    return Hash.digest(hash, covered) == Digest(bytes.suffix(Digest.byteCount)) ? covered : nil
  }

  /// Whether `found` is `label` with a higher number after `vault`.
  static func isNewer(_ found: some Collection<UInt8>, than label: Label) -> Bool {
    let name = label.padded.drop { $0 != UInt8(ascii: ".") }.prefix { $0 != 0 }
    let foundName = found.drop { $0 != UInt8(ascii: ".") }.prefix { $0 != 0 }
    guard found.starts(with: "vault".utf8), foundName.elementsEqual(name) else { return false }
    let number = String(decoding: found.dropFirst(5).prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
    return number.utf8.allSatisfy { (48...57).contains($0) } && Int(number) ?? 0 > 1
  }
}
