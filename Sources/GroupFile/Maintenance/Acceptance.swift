import Sealing

/// What accepting a group's present state came to.
package enum Acceptance: Equatable, Sendable {
  /// The state was in order already.
  case nothingToAccept
  /// The witness was replaced by this state.
  case newWitness(epoch: UInt64)
  /// The state was signed anew above all that was seen, so that every machine's chain can go on from it.
  case newState(epoch: UInt64)
  /// The group's file is gone, and the witness says so now.
  case removal
}

/// What only the owner can do about a group whose roster is older than one that was seen: a roster and a key that are newer
/// than both.
package struct OwnersAcceptance {
  package var authority: any RosterAuthority
  /// Says which members of the older roster stay out.
  package var revokes: @Sendable (Member) -> Bool
  /// Gets the older state before anything is changed.
  package var announce: (VerifiedState) -> Void

  package init(
    authority: any RosterAuthority, revokes: @escaping @Sendable (Member) -> Bool,
    announce: @escaping (VerifiedState) -> Void
  ) {
    self.authority = authority
    self.revokes = revokes
    self.announce = announce
  }
}

extension AccessGroupFile {
  /// Takes the group as it is now, although this machine has verified another state before.
  ///
  /// The file must verify in everything but the witness. A writer signs its state anew under the next epoch above both; a
  /// reader only replaces his own witness. A state with an older roster or key would bring removed members back, so only the
  /// owner takes it, and gives it a new roster and a new key at once (format article, rule 5).
  ///
  /// - Parameter owner: given by the owner.
  /// - Throws: `rolledBack` for an older roster or key; what a reader finds otherwise.
  package func accept(_ owner: OwnersAcceptance? = nil) throws(GroupFileError) -> Acceptance {
    guard AccessGroupFile.exists(in: folder) else { return try acceptRemoval() }
    let session = try beginSession()
    let state = try VerifiedState.open(session.connection, as: context, known: nil)
    let reading = witness.read()
    guard let record = known(reading) else {
      return reading == .invalid ? try replaceWitness(state) : .nothingToAccept
    }
    do {
      _ = try WitnessRule.check(state, against: .valid(record), strict: true, session.connection)
      return .nothingToAccept
    } catch {
      if record.groupID != state.manifest.groupID || record.ownerKey != state.roster.ownerKey {
        return try replaceWitness(state)
      }
      guard let kind = AccessGroupFile.olderRoster(state, record) else {
        return try signAnew(state, above: record.epoch, session)
      }
      guard let owner else { throw .rolledBack(found: state.manifest.epoch, known: record.epoch, kind) }
      let view = Snapshot(session.connection, state, cache, witnessed: reading)
      return try renew(view, above: record, owner, session)
    }
  }

  /// The newest state that was seen, by this machine or by whoever issued the credential.
  private func known(_ reading: WitnessReading) -> WitnessRecord? {
    if let floor = floor(beside: reading) { return floor }
    guard case .valid(let record) = reading else { return nil }
    return record
  }

  /// How the state contradicts the roster or the key that was seen; `nil` if it does not.
  private static func olderRoster(
    _ state: VerifiedState, _ record: WitnessRecord
  ) -> GroupFileError.RollbackKind? {
    if state.manifest.rosterRevision < record.rosterRevision { return .roster }
    if state.manifest.generation < record.generation { return .generation }
    let isSameRevision = state.manifest.rosterRevision == record.rosterRevision && record.rosterDigest != .zero
    return isSameRevision && state.signedRoster.digest != record.rosterDigest ? .roster : nil
  }

  /// Gives an older state a roster, a key and an epoch above all that was seen.
  private func renew(
    _ view: Snapshot, above record: WitnessRecord, _ owner: OwnersAcceptance, _ session: WriteSession
  ) throws(GroupFileError) -> Acceptance {
    try view.state.confirmRoster(session.connection)
    owner.announce(view.state)
    let change = RosterChange(
      rotates: true,
      above: RosterChange.Numbers(
        revision: record.rosterRevision, generation: record.generation, epoch: record.epoch),
      revokes: owner.revokes)
    let writing = RosterWriting(view, context, owner.authority)
    var left = LeftBehind()
    guard let renewed = try writing.write(change, at: now(), &left, { _ in }) else { return .nothingToAccept }
    session.frees = true
    try session.commit()
    _ = try replaceWitness(renewed)
    session.end(renewed)
    return .newState(epoch: renewed.manifest.epoch)
  }

  private func signAnew(
    _ state: VerifiedState, above epoch: UInt64, _ session: WriteSession
  ) throws(GroupFileError) -> Acceptance {
    guard state.member.rights >= .write else { return try replaceWitness(state) }
    let manifest = state.successor(
      root: state.manifest.root, itemCount: state.manifest.itemCount,
      versionRowCount: state.manifest.versionRowCount, time: now(), above: epoch)
    guard state.permits(epoch: manifest.epoch) else { throw .overLimit("2^53 states") }
    let signed = try session.sign(manifest, after: state, by: context.seed)
    try session.commit()
    _ = try replaceWitness(signed)
    session.end(signed)
    return .newState(epoch: manifest.epoch)
  }

  private func replaceWitness(_ state: VerifiedState) throws(GroupFileError) -> Acceptance {
    try write { sequence in state.witnessRecord(sequence: sequence, flags: .acceptedByHand) }
    return .newWitness(epoch: state.manifest.epoch)
  }

  private func acceptRemoval() throws(GroupFileError) -> Acceptance {
    let reading = witness.read()
    if let floor = floor(beside: reading) {
      try markRemoved(floor)
      return .removal
    }
    switch reading {
    case .valid(let record) where !record.flags.contains(.removed):
      try markRemoved(record)
      return .removal
    case .invalid:
      try markRemoved(nil)
      return .removal
    default: throw .missing
    }
  }

  private func markRemoved(_ record: WitnessRecord?) throws(GroupFileError) {
    try write { sequence in
      var removed =
        record
        ?? WitnessRecord(
          sequence: 0, groupID: .zero, ownerKey: context.ownerKey, rosterRevision: 0, generation: 0, epoch: 0,
          link: .zero, rosterDigest: .zero, flags: .acceptedByHand)
      removed.sequence = sequence
      removed.flags.insert(.removed)
      return removed
    }
  }

  private func write(_ record: (UInt64) -> WitnessRecord) throws(GroupFileError) {
    let written = withoutActuallyEscaping(record) { record in
      witness.raise { reading in
        if case .valid(let old) = reading { return record(old.sequence + 1) }
        return record(1)
      }
    }
    guard written else { throw .storage(.stateFolder) }
  }

  /// Removes the group's file and flags its witness, so that the file cannot be brought back unnoticed.
  ///
  /// - Throws: what a writer's checks find; the file is not removed then.
  package func remove() throws(GroupFileError) {
    let transaction = try beginWriting()
    defer { transaction.rollback() }
    try markRemoved(transaction.view.state.witnessRecord(sequence: 0))
    try transaction.removeFiles()
  }

  /// Finishes a removal that was interrupted after the witness was flagged.
  ///
  /// The state is not proved: the owner decided, and what is left may be no whole group.
  ///
  /// - Returns: `false` if the witness is not flagged; nothing is removed then.
  package func finishRemoval() throws(GroupFileError) -> Bool {
    guard case .valid(let record) = witness.read(), record.flags.contains(.removed) else { return false }
    do throws(GroupFileError) {
      let place = try ContainerPlace(folder: folder)
      if AccessGroupFile.exists(in: folder) { try beginSession().removeFiles() } else { try place.removeFiles() }
    } catch {
      guard error == .missing else { throw error }
    }
    return true
  }
}
