package import Sealing

/// Makes a new group's file: revision, generation and epoch 1, no items, the owner as its only member.
package struct GroupCreation: Sendable {
  package var name: String
  package var flags: Roster.Flags = []
  /// Versions kept of each item: 1...1,000.
  package var keep: UInt16 = 10
  /// The device that the group opens on and nowhere else; `nil` for any.
  package var device: DeviceKey?
  /// The shape of the folder, which the files are made in, too.
  package var shape = ContainerShape.closed
  /// Milliseconds since 1970-01-01 UTC.
  package var time: UInt64

  package init(name: String, time: UInt64) {
    self.name = name
    self.time = time
  }

  /// Writes the file under a temporary name in `folder` and then puts it in place.
  ///
  /// - Parameters:
  ///   - owner: signs the roster.
  ///   - seed: the owner as a member of this group; signs the manifest.
  /// - Returns: what the witness shall say.
  /// - Throws: `exists` if there is a group file, and then it is not changed; `overLimit` for `keep`; `storage`.
  package func write(
    to folder: String, groupID: GroupID, owner: borrowing SigningKey, seed: MemberSeed
  ) throws(GroupFileError) -> WitnessRecord {
    guard GroupLimits.keptVersions.contains(keep) else { throw .overLimit("1 to 1,000 versions") }
    let connection = try Connection.create(folder: folder, fileMode: shape.fileMode)
    do {
      try connection.begin(.immediate)
      let record = try fill(connection, groupID, owner: owner, seed)
      try connection.commit()
      try connection.place()
      // Made by whoever owns the folder, so that he can change its mode later.
      _ = try WriterLock(at: connection.location.sibling(ContainerPlace.groupFileName))
      return record
    } catch {
      connection.discard()
      throw error
    }
  }

  private func fill(
    _ connection: Connection, _ groupID: GroupID, owner: borrowing SigningKey, _ seed: MemberSeed
  ) throws(GroupFileError) -> WitnessRecord {
    var flags = flags
    if device != nil { flags.insert(.thisDeviceOnly) }
    do {
      let keys = try GroupKeys(
        groupKey: Key.random(), groupID: groupID, generation: 1, deviceKey: device?.key.copy())
      let slotID = seed.slotID(group: groupID, generation: 1)
      let wrap = try Wrap.seal(keys.groupKey, for: seed, groupID: groupID, generation: 1)
      let member = Member(
        kind: .owner, rights: .write, issue: 0, application: "", signingKey: seed.signingPublicKey,
        slotID: slotID, wrapDigest: Wrap.digest(wrap, slotID: slotID))
      let roster = SignedRoster(
        Roster(
          groupID: groupID, ownerKey: owner.publicKey, revision: 1, generation: 1, keyCommitment: keys.commitment,
          previous: .zero, firstEpoch: 1, flags: flags, deviceKeyID: device?.id ?? DeviceKey.noID, keep: keep,
          groupName: name,
          members: [member], removed: []),
        by: owner)
      let manifest = Manifest(
        version: flags.version, groupID: groupID,
        rosterDigest: roster.digest, rosterRevision: 1, generation: 1, epoch: 1, itemCount: 0, versionRowCount: 0,
        root: TreeNode.emptyRoot, previousLink: .zero, writerKey: member.signingKey, time: time)
      try connection.storeWrap(slotID, wrap)
      try connection.storePart(.header, StateHeader(of: roster.roster).serialized())
      try connection.storePart(.roster, roster.sealed(with: keys))
      try connection.storePart(.manifest, SignedManifest.seal(manifest, by: seed.signingKey(), with: keys))
      try connection.appendChain(1, manifest.rest())
      return WitnessRecord(
        sequence: 1, groupID: groupID, ownerKey: owner.publicKey, rosterRevision: 1, generation: 1, epoch: 1,
        link: manifest.link(), rosterDigest: roster.digest, flags: [])
    } catch let error as GroupFileError {
      throw error
    } catch {
      throw .storage(.memory)
    }
  }
}
