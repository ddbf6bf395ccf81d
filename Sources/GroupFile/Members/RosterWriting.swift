import Sealing

/// How far a change of a group's key has come.
package enum RotationStep: Sendable {
  /// So many items were proved and sealed under the new key.
  case sealed(UInt64)
  /// So many items were written.
  case written(UInt64)
}

extension AccessGroupFile {
  /// Changes who is in the group, and its key, in one transaction with a manifest that the owner signs.
  ///
  /// With a new key every version of every item is proved and sealed again; a process killed at any moment leaves the group
  /// wholly old or wholly new.
  ///
  /// - Parameter progress: called now and then while a new key is given.
  /// - Returns: the new state; the present one if there was nothing to change.
  /// - Throws: `ownerOnly` for anybody but the owner, `superseded`, `overLimit`, and what a writer's checks find; nothing is changed then.
  @discardableResult
  package func changeRoster(
    _ change: RosterChange, by authority: any RosterAuthority, progress: (RotationStep) -> Void = { _ in }
  ) throws(GroupFileError) -> VerifiedState {
    guard context.kind == .owner else { throw .ownerOnly }
    let session = try beginSession()
    let view = try snapshot(session.connection, witness.read(), strict: true)
    try view.state.confirmRoster(session.connection)
    guard change.isStillWanted() else { throw .superseded }
    let writing = try RosterWriting(view, session, context, authority)
    guard let state = try writing.write(change, at: now(), progress) else {
      session.end()
      return view.state
    }
    view.raise(witness, to: state)
    session.end(state)
    return state
  }
}

/// Writes a new roster, and all that follows from it, in the transaction of a session.
struct RosterWriting {
  private let view: Snapshot
  private let session: WriteSession
  private let context: GroupContext
  private let authority: any RosterAuthority

  private var connection: Connection { session.connection }
  private var old: VerifiedState { view.state }

  /// - Parameter view: the verified state of the session's transaction; what it was compared with is the caller's business.
  init(
    _ view: Snapshot, _ session: WriteSession, _ context: GroupContext, _ authority: any RosterAuthority
  ) throws(GroupFileError) {
    try view.state.requireWriter()
    self.view = view
    self.session = session
    self.context = context
    self.authority = authority
  }

  /// Makes the change durable; `nil` if there is nothing to change.
  func write(
    _ change: RosterChange, at time: UInt64, _ progress: (RotationStep) -> Void
  ) throws(GroupFileError) -> VerifiedState? {
    let plan = try RosterPlan(change, on: old.roster, authority)
    guard plan.isChange else { return nil }
    var roster = old.roster
    var manifest = old.successor(
      root: old.manifest.root, itemCount: old.manifest.itemCount, versionRowCount: old.manifest.versionRowCount,
      time: time, above: change.above.epoch)
    roster.revision = max(roster.revision, change.above.revision) + 1
    roster.previous = old.signedRoster.digest
    roster.firstEpoch = manifest.epoch
    roster.note(plan.leaving, at: manifest.epoch)
    var keys = old.keys
    if plan.rotates {
      roster.generation = max(roster.generation, change.above.generation) + 1
      keys = try newKeys(of: roster)
      roster.keyCommitment = keys.commitment
      manifest.root = try Rotation.run(view, under: keys, progress)
      try connection.empty("DELETE FROM wrap")
      roster.members = try wrapped(plan.members, keys)
      session.frees = true
    } else {
      let joined = try wrapped(plan.joining, keys)
      roster.members =
        plan.members.filter { member in !joined.contains { $0.signingKey == member.signingKey } } + joined
    }
    roster.members.sort { $0.signingKey < $1.signingKey }
    guard [roster.revision, roster.generation, manifest.epoch].allSatisfy({ $0 < ByteReader.counterLimit }) else {
      throw .overLimit("2^53 states")
    }
    return try sign(roster, manifest, keys)
  }

  private func sign(
    _ roster: Roster, _ successor: Manifest, _ keys: GroupKeys
  ) throws(GroupFileError) -> VerifiedState {
    let signed = SignedRoster(roster, by: authority.rosterSigningKey())
    var manifest = successor
    manifest.rosterDigest = signed.digest
    manifest.rosterRevision = roster.revision
    manifest.generation = roster.generation
    let sealedRoster = signed.sealed(with: keys)
    guard sealedRoster.count <= GroupLimits.rosterByteCount else { throw .overLimit("a roster of 1 MiB") }
    let header = StateHeader(of: roster).serialized()
    try connection.storePart(.header, header)
    try connection.storePart(.roster, sealedRoster)
    let sealedManifest = SignedManifest.seal(manifest, by: context.seed.signingKey(), with: keys)
    try connection.storePart(.manifest, sealedManifest)
    try connection.appendChain(manifest.epoch, manifest.rest())
    try session.commit()
    guard let member = roster.member(signing: context.seed.signingPublicKey) else { throw .ownerOnly }
    return VerifiedState(
      keys: keys, signedRoster: signed, manifest: manifest, member: member, sealedManifest: sealedManifest,
      sealedRoster: sealedRoster, header: header)
  }

  private func newKeys(of roster: Roster) throws(GroupFileError) -> GroupKeys {
    let deviceKey = roster.flags.contains(.thisDeviceOnly) ? try context.deviceKey(roster.deviceKeyID) : nil
    do {
      return try GroupKeys(
        groupKey: Key.random(), groupID: roster.groupID, generation: roster.generation, deviceKey: deviceKey)
    } catch {
      throw GroupFileError(error)
    }
  }

  /// Wraps the group's key for `members`, and stores the wraps.
  private func wrapped(_ members: [Member], _ keys: GroupKeys) throws(GroupFileError) -> [Member] {
    var wrapped: [Member] = []
    for var member in members {
      do {
        let seed =
          member.kind == .owner
          ? context.seed : try authority.seed(application: member.application, issue: member.issue)
        guard seed.signingPublicKey == member.signingKey else { throw GroupFileError.damaged(.roster, "member's key") }
        let wrap = try Wrap.seal(keys.groupKey, for: seed, groupID: keys.groupID, generation: keys.generation)
        member.slotID = seed.slotID(group: keys.groupID, generation: keys.generation)
        member.wrapDigest = Wrap.digest(wrap, slotID: member.slotID)
        try connection.storeWrap(member.slotID, wrap)
      } catch let error as GroupFileError {
        throw error
      } catch {
        throw .storage(.memory)
      }
      wrapped.append(member)
    }
    return wrapped
  }
}

extension Roster {
  /// Notes those who leave at `epoch`, in the order that the format asks for.
  fileprivate mutating func note(_ leaving: [Member], at epoch: UInt64) {
    for member in leaving {
      removed.append(
        RemovedMember(
          issue: member.issue, application: member.application, lastGeneration: generation, epoch: epoch))
    }
    removed.sort { RemovedMember.rises(from: $0, to: $1) }
  }
}
