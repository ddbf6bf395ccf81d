package import Sealing

/// A roster with its signature, and the form in which it is stored.
///
/// `N 24 ‖ seal(meta key, N, binding, u32 length ‖ body ‖ signature ‖ zeros to a multiple of 256)`: the padding hides how
/// many members there are to within a few (format article, "The roster").
package struct SignedRoster: Sendable, Equatable {
  package let roster: Roster
  let signed: [UInt8]

  /// `H("vault1.ros.hash", body ‖ signature)`: what manifests name.
  package let digest: Digest

  /// Signs `roster`.
  package init(_ roster: Roster, by owner: borrowing SigningKey) {
    let body = roster.body()
    self.roster = roster
    signed = body + owner.sign(body)
    digest = Hash.digest(.rosterHash, signed)
  }

  /// Opens a stored roster and checks that `ownerKey` signed it.
  init(opening stored: [UInt8], with keys: GroupKeys, ownerKey: PublicKey) throws(GroupFileError) {
    guard let content = keys.openMeta(stored, .rosterBinding) else { throw .damaged(.roster, "seal") }
    var reader = ByteReader(content)
    guard content.count % SignedRoster.block == 0,
      let signed = try? reader.readCounted32(limit: GroupLimits.rosterByteCount), signed.count > 64,
      (try? reader.expectZeros(reader.remaining)) != nil,
      content.count == SignedRoster.paddedCount(signed.count)
    else { throw .damaged(.roster, "padding") }
    let body = Array(signed.dropLast(64))
    // Who the owner is never comes from the file: the caller's key decides.
    guard ownerKey.verifies(Array(signed.suffix(64)), of: body) else { throw .damaged(.roster, "signature") }
    roster = try Roster(parsing: body)
    guard roster.ownerKey == ownerKey else { throw .damaged(.roster, "owner") }
    self.signed = signed
    digest = Hash.digest(.rosterHash, signed)
  }

  /// The stored form under `keys`.
  func sealed(with keys: GroupKeys, nonce: Nonce = Nonce()) -> [UInt8] {
    var content = ByteWriter(reservingCapacity: SignedRoster.paddedCount(signed.count))
    content.writeCounted32(signed)
    content.writeZeros(SignedRoster.paddedCount(signed.count) - 4 - signed.count)
    return keys.sealMeta(content.bytes, .rosterBinding, nonce: nonce)
  }

  private static let block = 256

  private static func paddedCount(_ count: Int) -> Int { (4 + count + block - 1) / block * block }
}

extension Label {
  fileprivate static let rosterBinding = Label("vault1.meta.ros")
}
