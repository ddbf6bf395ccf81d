package import Sealing

/// What the owner can do and no member: sign rosters, and derive every application's seed, so that a group's key can be
/// wrapped for it.
package protocol RosterAuthority: Sendable {
  /// The key that signs rosters.
  func rosterSigningKey() -> SigningKey

  /// An application as a member.
  ///
  /// - Throws: `outOfMemory`.
  func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed
}
