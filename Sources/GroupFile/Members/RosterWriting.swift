import Sealing

package struct DraftPlaces: Sendable {
  /// An unused path on the store's file system; those that begin with it must be unused too.
  package let draft: String
  /// An unused path for the replaced files. Files that need not be kept are moved to the draft's path instead, from
  /// where the caller removes them.
  package let kept: String

  /// Part of the names of folders that were replaced because somebody kept the lock.
  package static let lockedMark = "+locked"
  /// The end of the names of folders that were moved out of a group's place, for as long as another one is moved there.
  package static let movedMark = ".old"

  package init(draft: String, kept: String) { (self.draft, self.kept) = (draft, kept) }
}

extension AccessGroupFile {
  /// Changes the group's members and its key, in one transaction with a manifest that the owner signs; returns the
  /// state afterwards. With a new key, every version that the signed root proves is sealed again into a new file, and
  /// all other rows are left behind. If the process is killed, the group is either in its old or in its new state.
  /// `acceptance` is part of the same step, so that a member whom it removes cannot act in between. On an error nothing
  /// is changed; if it `isRepairable`, the file is too damaged to be changed in place.
  @discardableResult
  package func changeRoster(
    _ change: RosterChange, accepting acceptance: OwnersAcceptance? = nil, at places: DraftPlaces,
    by authority: any RosterAuthority, progress: (MaintenanceProgress) -> Void = { _ in }
  ) throws(VaultError) -> (state: VerifiedState, left: GroupRepair) {
    guard context.kind == .owner else { throw .denied(.ownerOnly) }
    // A new key makes a new file. Others who may write this one could cut its index short, which ends whoever maps it.
    if change.mayOnlyRotate, isWritableByOthers { try ConnectionPool.closeIdle(at: resolvedPlace()) }
    let isAlone = change.mayOnlyRotate && isReadAlone
    let session = try beginSession(alone: isAlone)
    // SQLite would take memory for a key of any length up to the size that the file claims, again for each search.
    let file = try resolvedPlace().file()
    guard file.byteCount <= file.storedByteCount else {
      throw .damaged(.container, "it claims more bytes than it stores")
    }
    let reading = witness.read()
    var change = change
    let view: Snapshot
    var isTaken = false
    if let acceptance, let offered = try offer(session.connection, reading, to: acceptance) {
      guard change.isStillWanted() else { throw .contradiction(.superseded) }
      guard acceptance.confirm(offered) else { throw .declined }
      try requireWitness()
      change = change.taking(offered, acceptance)
      view = Snapshot(session.connection, offered.state, cache, witnessed: reading)
      isTaken = true
    } else {
      view = try snapshot(session.connection, reading, strict: true, mending: true)
    }
    try view.state.confirmRoster(session.connection, mending: true)
    if isAlone { try view.state.roster.flags.version.check(.writing) }
    guard change.isStillWanted() else { throw .contradiction(.superseded) }
    try session.prepare(after: view.state, publishing: change.publishes == true)
    let writing = RosterWriting(view: view, context: context, authority: authority)
    var left = GroupRepair()
    guard let state = try writing.write(change, at: now(), to: places, for: session, &left, progress) else {
      session.end()
      return (state: view.state, left: left)
    }
    left.isUnwitnessed = isTaken ? !noteAccepted(state) : !view.raise(witness, to: state)
    session.end(state)
    return (state: state, left: left)
  }
}

/// Writes a new roster and its consequences in an open transaction.
struct RosterWriting {
  /// The verified state of the transaction, which the caller has compared with the witness.
  let view: Snapshot
  let context: GroupContext
  let authority: any RosterAuthority
  /// What was salvaged, in a file that only this process wrote; `nil` if the signed root counts.
  var salvaged: SalvagedGroup?

  private var connection: Connection { view.connection }
  private var old: VerifiedState { view.state }

  /// Makes the change durable; `nil` if there is nothing to change. A new key makes a new file, which takes the place of
  /// the one that `session` has locked.
  ///
  /// - Parameter left: the counts of what a new key drops are added to it.
  func write(
    _ change: RosterChange, at time: UInt64, to places: DraftPlaces, for session: WriteSession,
    _ left: inout GroupRepair, _ progress: (MaintenanceProgress) -> Void
  ) throws(VaultError) -> VerifiedState? {
    var draft: GroupDraft?
    let written = try write(
      change, at: time, &left, progress,
      makingNew: { () throws(VaultError) in
        let place = connection.location
        let new = try GroupDraft(in: places.draft, for: place.folder, shape: place.containerShape().attainable)
        draft = new
        return try GroupWriter(in: new.folder, fileMode: new.fileMode)
      })
    guard let written else { return nil }
    if let writer = written.writer, let draft {
      try writer.complete()
      try session.exchange(for: draft, holding: written.state, after: old, keeping: places.kept)
    } else {
      try session.publish(written.state, after: old)
      try session.commit()
    }
    return written.state
  }

  /// As the other `write`, without committing the change; `makeNew` makes the file for a new key. What was salvaged
  /// always gets a new roster.
  func write(
    _ change: RosterChange, at time: UInt64, _ left: inout GroupRepair, _ progress: (MaintenanceProgress) -> Void,
    makingNew makeNew: () throws(VaultError) -> GroupWriter
  ) throws(VaultError) -> (state: VerifiedState, writer: GroupWriter?)? {
    let plan = try RosterPlan(change, on: old.roster, authority)
    guard
      plan.isChange || salvaged != nil || !old.hasOwnersVersion || connection.version != old.roster.flags.version
    else { return nil }
    try change.prepare(plan.leaving.filter { left in !plan.members.contains { $0.application == left.application } })
    var roster = old.roster
    var manifest = old.successor(time: time, above: change.above.epoch)
    roster.revision = max(roster.revision, change.above.revision) + 1
    roster.previous = old.signedRoster.digest
    roster.firstEpoch = manifest.epoch
    let known = old.roster.issues
    let former = change.formerReaders.filter { $0 != roster.groupName && $1 > known[$0] ?? 0 }.map { ($1, $0) }
    roster.removed += (plan.leaving.map { ($0.issue, $0.application) } + former).map { issue, application in
      RemovedMember(
        issue: issue, application: application, lastGeneration: old.roster.generation, epoch: manifest.epoch)
    }
    roster.removed.sort { RemovedMember.rises(from: $0, to: $1) }
    if let isPublished = change.publishes {
      roster.flags = roster.flags.with(isPublished ? .published : .unpublished)
      manifest.version = roster.flags.version
    }
    if plan.rotates {
      roster.generation = max(roster.generation, change.above.generation) + 1
      let deviceKey = roster.flags.contains(.thisDeviceOnly) ? try context.deviceKey(roster.deviceKeyID) : nil
      let keys = try sealing(
        GroupKeys(groupKey: Key.random(), groupID: roster.groupID, generation: roster.generation, deviceKey: deviceKey))
      roster.keyCommitment = keys.commitment
      var writer = try makeNew()
      let root = salvaged?.root ?? old.manifest.root
      func rotate() throws(VaultError) -> Digest {
        try Rotation.run(view, from: root, into: &writer, under: keys, dropping: change.drops, &left, progress)
      }
      // No check of the whole file first: whoever may write it could fail the check on purpose, while members go on
      // reading and writing. Each row counts by its digest alone. The tables may hold any number of unsigned rows.
      manifest.root = try salvaged != nil ? rotate() : connection.withBoundOfWholeFile(rotate)
      (manifest.itemCount, manifest.versionRowCount) = (writer.itemCount, writer.versionRowCount)
      roster.members = try wrapped(plan.members, keys, in: writer.connection)
      return (try store(roster, manifest, under: keys, in: writer.connection), writer)
    }
    if let salvaged {
      manifest.root = salvaged.root
      (manifest.itemCount, manifest.versionRowCount) = (salvaged.itemCount, salvaged.versionRowCount)
      roster.members = try wrapped(plan.members, old.keys, from: salvaged.wraps, in: connection)
    } else {
      let joined = try wrapped(plan.joining, old.keys, in: connection)
      roster.members =
        plan.members.filter { member in !joined.contains { $0.signingKey == member.signingKey } } + joined
    }
    return (try store(roster, manifest, under: old.keys, in: connection), nil)
  }

  private func store(
    _ roster: Roster, _ manifest: Manifest, under keys: GroupKeys, in target: Connection
  ) throws(VaultError) -> VerifiedState {
    var roster = roster
    roster.members.sort { $0.signingKey < $1.signingKey }
    roster.dropRemoved()
    guard [roster.revision, roster.generation, manifest.epoch].allSatisfy({ $0 < ByteReader.counterLimit }) else {
      throw .overLimit("2^53 states")
    }
    return try target.store(roster, manifest, under: keys, owner: authority.rosterSigningKey(), writer: context.seed)
  }

  /// Wraps the group's key for `members`, and stores the wraps in `target`; those among `found` that are still right
  /// are kept.
  private func wrapped(
    _ members: [Member], _ keys: GroupKeys, from found: [[UInt8]: Set<[UInt8]>] = [:], in target: Connection
  ) throws(VaultError) -> [Member] {
    var wrapped: [Member] = []
    for var member in members {
      if let wrap = found[member.slotID]?.first(where: { Wrap.digest($0, slotID: member.slotID) == member.wrapDigest })
      {
        try target.storeWrap(member.slotID, wrap)
      } else {
        let seed =
          member.kind == .owner
          ? context.seed : try sealing(authority.seed(application: member.application, issue: member.issue))
        guard try sealing(seed.signingPublicKey) == member.signingKey else { throw .damaged(.roster, "member's key") }
        let wrap = try sealing(Wrap.seal(keys.groupKey, for: seed, groupID: keys.groupID, generation: keys.generation))
        member.slotID = seed.slotID(group: keys.groupID, generation: keys.generation)
        member.wrapDigest = Wrap.digest(wrap, slotID: member.slotID)
        try target.storeWrap(member.slotID, wrap)
      }
      wrapped.append(member)
    }
    return wrapped
  }
}

extension Connection {
  /// Signs a roster and the first manifest under it, and stores the whole state in the open transaction: header, roster,
  /// manifest, link and versions.
  ///
  /// - Parameter manifest: without the fields that follow from the roster.
  func store(
    _ roster: Roster, _ manifest: Manifest, under keys: GroupKeys, owner: SigningKey, writer: MemberSeed
  ) throws(VaultError) -> VerifiedState {
    let signed = SignedRoster(roster, by: owner)
    var manifest = manifest
    manifest.rosterDigest = signed.digest
    (manifest.rosterRevision, manifest.generation) = (roster.revision, roster.generation)
    let sealedRoster = signed.sealed(with: keys)
    guard sealedRoster.count <= GroupLimits.rosterByteCount else { throw .overLimit("a roster of 1 MiB") }
    let key = try sealing(writer.signingKey())
    guard let member = roster.member(signing: key.publicKey) else { throw .denied(.ownerOnly) }
    let sealedManifest = SignedManifest.seal(manifest, by: key, with: keys)
    try storePart(.header, StateHeader(of: roster).serialized())
    try storePart(.roster, sealedRoster)
    try storePart(.manifest, sealedManifest)
    try appendChain(manifest.epoch, manifest.rest())
    try storeVersion(roster.flags.version)
    return VerifiedState(
      keys: keys, signedRoster: signed, manifest: manifest, member: member, sealedManifest: sealedManifest,
      sealedRoster: sealedRoster, as: writer)
  }
}
