package import Sealing

/// A state of a group whose wrap, roster and manifest were all verified.
///
/// It is immutable, so a process keeps the newest one: a transaction that finds the same sealed manifest is in this state.
package final class VerifiedState: Sendable {
  package let keys: GroupKeys
  package let signedRoster: SignedRoster
  package let manifest: Manifest
  /// The opening member's own entry.
  package let member: Member
  /// The link of this state.
  package let link: Digest
  /// The stored bytes that were verified.
  let sealedManifest: [UInt8]
  let sealedRoster: [UInt8]
  let header: [UInt8]

  package var roster: Roster { signedRoster.roster }

  private init(
    keys: GroupKeys, signedRoster: SignedRoster, manifest: Manifest, member: Member, sealedManifest: [UInt8],
    sealedRoster: [UInt8], header: [UInt8]
  ) {
    self.keys = keys
    self.signedRoster = signedRoster
    self.manifest = manifest
    self.member = member
    self.sealedManifest = sealedManifest
    self.sealedRoster = sealedRoster
    self.header = header
    link = manifest.link()
  }
}

extension VerifiedState {
  /// Reads and verifies the state in `connection`'s transaction, in the order of the format's rule 10.
  ///
  /// - Parameter known: a state verified before; what did not change since is not opened again.
  static func open(
    _ connection: Connection, as context: GroupContext, known: VerifiedState?
  ) throws(GroupFileError) -> VerifiedState {
    if let known, try connection.part(.manifest, equals: known.sealedManifest) { return known }
    let header = try connection.part(.header)
    let sealedRoster = try connection.part(.roster)
    let keys: GroupKeys
    let roster: SignedRoster
    let member: Member
    if let known, header == known.header, sealedRoster == known.sealedRoster {
      (keys, roster, member) = (known.keys, known.signedRoster, known.member)
    } else {
      (keys, roster, member) = try openRoster(connection, header: header, sealedRoster, as: context)
    }
    let sealedManifest = try connection.part(.manifest)
    let manifest = try SignedManifest.open(sealedManifest, with: keys, roster: roster)
    guard connection.versions.read == manifest.readVersion, connection.versions.write == manifest.writeVersion else {
      throw .damaged(.manifest, "format version")
    }
    return VerifiedState(
      keys: keys, signedRoster: roster, manifest: manifest, member: member, sealedManifest: sealedManifest,
      sealedRoster: sealedRoster, header: header)
  }

  /// The state that this process made of this one by signing `manifest`.
  func followed(by manifest: Manifest, _ sealedManifest: [UInt8]) -> VerifiedState {
    VerifiedState(
      keys: keys, signedRoster: signedRoster, manifest: manifest, member: member, sealedManifest: sealedManifest,
      sealedRoster: sealedRoster, header: header)
  }

  /// Verifies that the stored roster is still the one of this state: a writer checks all that a reader does.
  func confirmRoster(_ connection: Connection) throws(GroupFileError) {
    guard try connection.part(.header, equals: header), try connection.part(.roster, equals: sealedRoster) else {
      throw .damaged(.roster, "changed without its manifest")
    }
  }

  private static func openRoster(
    _ connection: Connection, header bytes: [UInt8], _ sealedRoster: [UInt8], as context: GroupContext
  ) throws(GroupFileError) -> (GroupKeys, SignedRoster, Member) {
    let header = try StateHeader(parsing: bytes)
    let slotID = context.seed.slotID(group: header.groupID, generation: header.generation)
    guard let wrap = try connection.wrap(slotID) else { throw .notAMember }
    let groupKey = try Wrap.open(wrap, for: context.seed, groupID: header.groupID, generation: header.generation)
    let keys = try GroupKeys(opened: groupKey, header: header, context: context)
    let roster = try SignedRoster(opening: sealedRoster, with: keys, ownerKey: context.ownerKey)
    guard StateHeader(of: roster.roster) == header else { throw .damaged(.roster, "header") }
    guard roster.roster.groupName == context.groupName else { throw .damaged(.roster, "another group's file") }
    guard roster.roster.keyCommitment == keys.commitment else { throw .damaged(.roster, "key commitment") }
    guard let member = roster.roster.member(signing: context.seed.signingPublicKey), member.slotID == slotID,
      member.wrapDigest == Wrap.digest(wrap, slotID: slotID)
    else { throw .damaged(.roster, "own entry") }
    return (keys, roster, member)
  }
}

extension GroupKeys {
  /// Derives the keys of an opened group key, with the device key where the group is bound to one.
  fileprivate convenience init(
    opened groupKey: consuming Key, header: StateHeader, context: GroupContext
  ) throws(GroupFileError) {
    var deviceKey: Key?
    if header.flags.contains(.thisDeviceOnly) {
      deviceKey = context.deviceKey(header.deviceKeyID)
      guard deviceKey != nil else { throw .otherDevice }
    }
    do {
      try self.init(
        groupKey: groupKey, groupID: header.groupID, generation: header.generation, deviceKey: deviceKey)
    } catch {
      throw GroupFileError(error)
    }
  }
}

extension GroupFileError {
  /// What failed sealing means where nothing from outside was opened.
  init(_ error: SealingError) {
    switch error {
    case .outOfMemory: self = .storage(.memory)
    default: self = .damaged(.row, "seal")
    }
  }
}
