package import Sealing

/// Creates a new group's file: revision, generation and epoch 1, no items, the owner as its only member.
package struct GroupCreation: Sendable {
  package var name: String
  package var flags: Roster.Flags = []
  /// How many versions of each item are kept: 1...1,000.
  package var keep: UInt16 = 10
  /// The only device on which the group opens; `nil` for any.
  package var device: DeviceKey?
  /// The shape of the folder; the files are created in the same shape.
  package var shape = ContainerShape.closed
  /// Milliseconds since 1970-01-01 UTC.
  package var time: UInt64

  package init(name: String, time: UInt64) { (self.name, self.time) = (name, time) }

  /// Writes the file under a temporary name in `folder` and then moves it into place; an existing group file stays.
  /// Returns the record for the witness.
  package func write(
    to folder: String, groupID: GroupID, owner: SigningKey, seed: MemberSeed
  ) throws(VaultError) -> WitnessRecord {
    guard GroupLimits.keptVersions.contains(keep) else { throw .overLimit("1 to 1,000 versions") }
    let writer = try GroupWriter(in: folder, fileMode: shape.fileMode)
    var flags = flags
    if device != nil { flags.insert(.thisDeviceOnly) }
    let keys = try sealing(
      GroupKeys(groupKey: Key.random(), groupID: groupID, generation: 1, deviceKey: device?.key.copy()))
    let slotID = seed.slotID(group: groupID, generation: 1)
    let wrap = try sealing(Wrap.seal(keys.groupKey, for: seed, groupID: groupID, generation: 1))
    let member = Member(
      kind: .owner, rights: .write, issue: 0, application: "", signingKey: try sealing(seed.signingPublicKey),
      slotID: slotID, wrapDigest: Wrap.digest(wrap, slotID: slotID))
    let roster = Roster(
      groupID: groupID, ownerKey: owner.publicKey, revision: 1, generation: 1, keyCommitment: keys.commitment,
      previous: .zero, firstEpoch: 1, flags: flags, deviceKeyID: device?.id ?? DeviceKey.noID, keep: keep,
      groupName: name, members: [member], removed: [])
    let manifest = Manifest(
      version: flags.version, groupID: groupID, rosterDigest: .zero, rosterRevision: 1, generation: 1, epoch: 1,
      itemCount: 0, versionRowCount: 0, root: TreeNode.emptyRoot, previousLink: .zero, writerKey: member.signingKey,
      time: time)
    try writer.connection.storeWrap(slotID, wrap)
    let state = try writer.connection.store(roster, manifest, under: keys, owner: owner, writer: seed)
    try writer.complete()
    return state.witnessRecord()
  }
}
