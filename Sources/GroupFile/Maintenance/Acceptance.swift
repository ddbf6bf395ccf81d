package import Sealing

/// The result of accepting a group's current state.
@nonexhaustive
public enum AcceptedState: Sendable, Equatable {
  /// The state did not need to be accepted.
  case nothingToAccept
  /// The group continues from a state with this number: the one that was found, or one above everything seen, from
  /// which every machine's chain can continue.
  case accepted(epoch: UInt64)
  /// The group's file is gone and the removal has been recorded; a group of this name can be created again.
  case removal
  /// The confirmation was refused; nothing is changed.
  case declined
}

/// Why a state is not accepted without confirmation.
@nonexhaustive
public enum AcceptanceReason: Sendable, Equatable {
  /// An older state with the same members and key, or one of another branch.
  case older
  /// A state with an older roster or key: members that were removed since come back.
  case olderRoster
  /// The owner removed the group.
  case removed
  /// Another group than the one known by this name.
  case anotherGroup
  /// The owner's registry does not name the group, because it is an older one or is lost.
  case unregistered
  /// The owner's registry is gone, or nothing in it can be proved, and a new one takes its place.
  case lost
}

/// A state that is about to be accepted, and what it was compared with.
package struct OfferedState {
  package let state: VerifiedState
  /// The newest state that was seen of the group; `nil` if none was.
  package let known: WitnessRecord?
  package let reason: AcceptanceReason

  package init(state: VerifiedState, known: WitnessRecord?, reason: AcceptanceReason) {
    (self.state, self.known, self.reason) = (state, known, reason)
  }
}

/// Acceptance by the owner, who alone can give a state a roster and a key that are newer than everything seen.
package struct OwnersAcceptance {
  /// Receives a state that a change of the roster would accept, before anything is changed; `false` changes nothing.
  package var confirm: (OfferedState) -> Bool
  package var authority: any RosterAuthority
  package var revokes: @Sendable (Member) -> Bool
  package var registration: Registration
  /// As `RosterChange.formerReaders`, of the group that the registry names.
  package var formerReaders: [String: UInt32] = [:]
  /// Whether a change is superseded if nothing needs to be accepted.
  package var isRequired = false

  package enum Registration: Equatable {
    /// This group is the registry, which lists all others.
    case notNeeded
    case present(GroupID)
    case removed(GroupID)
    case missing
    /// The registry cannot be read. A state that this machine never saw must be accepted then.
    case unknown

    package var groupID: GroupID? {
      switch self {
      case .present(let id), .removed(let id): id
      case .notNeeded, .missing, .unknown: nil
      }
    }

    /// Why a state of the group with this id must be accepted, whatever else is known of it; `nil` if it need not.
    func reason(toAccept id: GroupID, isSeen: Bool) -> AcceptanceReason? {
      switch self {
      case .present(let known), .removed(let known): id != known ? .anotherGroup : self == .removed(id) ? .removed : nil
      case .missing: .unregistered
      case .unknown: isSeen ? nil : .unregistered
      case .notNeeded: nil
      }
    }
  }

  package init(
    authority: any RosterAuthority, _ registration: Registration = .notNeeded,
    confirm: @escaping (OfferedState) -> Bool = { _ in true }, revokes: @escaping @Sendable (Member) -> Bool
  ) {
    (self.confirm, self.authority, self.registration, self.revokes) = (confirm, authority, registration, revokes)
  }
}

extension AccessGroupFile {
  /// Accepts the group in its current state, which must pass all checks but that of the witness. A writer signs it
  /// again, with an epoch above those of both states; a reader, or a writer that may not sign that epoch, only replaces
  /// the witness. An older roster or key would bring removed members back, so only the owner can accept it, and the
  /// state gets a new roster and key at once (format article, "Writing"). If `confirm` says no, nothing is changed.
  package func accept(
    _ owner: (acceptance: OwnersAcceptance, places: DraftPlaces)? = nil, another takesAnother: Bool = false,
    confirm: (OfferedState) -> Bool = { _ in true }
  ) throws(VaultError) -> AcceptedState {
    guard AccessGroupFile.exists(in: folder) else { return try acceptRemoval() }
    let session = try beginSession()
    let state = try VerifiedState.open(session.connection, as: context, known: nil)
    let reading = witness.read()
    var record = known(reading)
    var reason = try reason(of: state, against: record, owner?.acceptance, session.connection)
    // What a newer credential knows does not contradict it, but what this machine has seen may.
    if reason == nil, let seen = reading.record, seen != record {
      reason = try self.reason(of: state, against: seen, owner?.acceptance, session.connection)
      record = seen
    }
    guard let reason else {
      // Nothing contradicts it; a witness that cannot be read is made anew.
      return record != nil || reading != .invalid ? .nothingToAccept : try replaceWitness(state)
    }
    switch reason {
    case .anotherGroup where !takesAnother: throw .anotherGroup("")
    case .olderRoster where owner == nil:
      let kind = record.flatMap { AccessGroupFile.olderRoster(state, $0) } ?? .olderRoster
      throw .rolledBack(found: state.manifest.epoch, known: record?.epoch ?? 0, reason: kind)
    default: break
    }
    let offered = OfferedState(state: state, known: record, reason: reason)
    guard confirm(offered) else { return .declined }
    if let owner {
      let view = Snapshot(session.connection, state, cache, witnessed: reading)
      return try renew(view, offered, owner.acceptance, session, at: owner.places)
    }
    let above = record.flatMap { state.isSameGroup($0) ? $0.epoch : nil } ?? 0
    let isInRange = state.permits(epoch: max(state.manifest.epoch, above) + 1)
    if reason == .anotherGroup || !isInRange || state.member.rights < .write {
      return try replaceWitness(state)
    }
    let manifest = state.successor(time: now(), above: above)
    try state.requirePermitted(epoch: manifest.epoch)
    try requireWitness()
    try session.prepare(after: state)
    let signed = try session.commit(manifest, after: state)
    session.end(signed)
    return try replaceWitness(signed, or: .unconfirmed)
  }

  /// The state of `view`, if it must be accepted explicitly in place of `live`; `nil` if it need not be.
  package func offer(_ view: Snapshot, insteadOf live: VerifiedState?) throws(VaultError) -> OfferedState? {
    let record = witness.read().record ?? live?.witnessRecord()
    let reason = try reason(of: view.state, against: record, nil, view.connection)
    return reason.map { OfferedState(state: view.state, known: record, reason: $0) }
  }

  /// The state in `connection`'s transaction, if the owner must accept it explicitly; `nil` if it needs no acceptance.
  ///
  /// - Throws: `anotherGroup`; the errors of a reader, except those about the witness and about versions that the owner
  ///   did not sign.
  func offer(
    _ connection: Connection, _ reading: WitnessReading, to owner: OwnersAcceptance
  ) throws(VaultError) -> OfferedState? {
    let state = try VerifiedState.open(connection, as: context, known: nil, mending: true)
    if connection.version != state.roster.flags.version { try connection.compareTables() }
    let record = known(reading)
    let reason = try reason(of: state, against: record, owner, connection)
    if reason == .anotherGroup { throw .anotherGroup("") }
    guard let reason = reason ?? (reading == .invalid ? .older : nil) else { return nil }
    return OfferedState(state: state, known: record, reason: reason)
  }

  /// A state from a damaged file, if the owner must accept it explicitly; `nil` if it needs no acceptance.
  ///
  /// - Throws: `anotherGroup`.
  func offer(
    salvaged state: VerifiedState, _ reading: WitnessReading, isRefused: Bool, to owner: OwnersAcceptance
  ) throws(VaultError) -> OfferedState? {
    let record = known(reading)
    var reason = owner.registration.reason(toAccept: state.manifest.groupID, isSeen: record != nil)
    if reason == .anotherGroup { throw .anotherGroup("") }
    if isRefused, reason == nil || reason == .unregistered {
      let isOlderRoster = record.map { AccessGroupFile.olderRoster(state, $0) != nil } ?? false
      reason = record?.flags.contains(.removed) == true ? .removed : isOlderRoster ? .olderRoster : .older
    }
    return reason.map { OfferedState(state: state, known: record, reason: $0) }
  }

  /// Why the state is not accepted without confirmation; `nil` if nothing prevents it.
  private func reason(
    of state: VerifiedState, against record: WitnessRecord?, _ owner: OwnersAcceptance?, _ connection: Connection
  ) throws(VaultError) -> AcceptanceReason? {
    let registered = owner?.registration.reason(toAccept: state.manifest.groupID, isSeen: record != nil)
    guard let record, registered == nil || registered == .unregistered else { return registered }
    // Even if the registry names it: that may be an older one, and the group have members who were removed since.
    guard state.isSameGroup(record) else { return .anotherGroup }
    do {
      _ = try WitnessRule.check(state, against: .valid(record), strict: true, connection)
      return registered
    } catch {
      if record.flags.contains(.removed) { return .removed }
      return AccessGroupFile.olderRoster(state, record) == nil ? .older : .olderRoster
    }
  }

  /// The newest state that was seen, by this machine or by the owner who issued the credential.
  private func known(_ reading: WitnessReading) -> WitnessRecord? { floor(beside: reading) ?? reading.record }

  /// How the state contradicts the newest roster or key seen; `nil` if it does not.
  private static func olderRoster(_ state: VerifiedState, _ record: WitnessRecord) -> RollbackReason? {
    if state.manifest.rosterRevision < record.rosterRevision { return .olderRoster }
    if state.manifest.generation < record.generation { return .olderKey }
    let isSameRevision = state.manifest.rosterRevision == record.rosterRevision && record.rosterDigest != .zero
    return isSameRevision && state.signedRoster.digest != record.rosterDigest ? .olderRoster : nil
  }

  private func renew(
    _ view: Snapshot, _ offered: OfferedState, _ owner: OwnersAcceptance, _ session: WriteSession,
    at places: DraftPlaces
  ) throws(VaultError) -> AcceptedState {
    try requireWitness()
    try view.state.confirmRoster(session.connection)
    try session.prepare(after: view.state)
    let change = RosterChange().taking(offered, owner)
    let writing = RosterWriting(view: view, context: context, authority: owner.authority)
    var left = GroupRepair()
    guard let renewed = try writing.write(change, at: now(), to: places, for: session, &left, { _ in }) else {
      return .nothingToAccept
    }
    session.end(renewed)
    return try replaceWitness(renewed, or: .unconfirmed)
  }

  private func replaceWitness(
    _ state: VerifiedState, or failure: StorageFailure = .stateFolder
  ) throws(VaultError) -> AcceptedState {
    guard noteAccepted(state) else { throw .storage(failure) }
    return .accepted(epoch: state.manifest.epoch)
  }

  /// Checks that the witness can be written, by writing its record again: a change that accepts a state must fail before
  /// anything is changed, or else each repetition would change the group again.
  package func requireWitness() throws(VaultError) {
    guard witness.raise(\.record) else { throw .storage(.stateFolder) }
  }

  /// Replaces the witness by one of a state that was accepted; returns `false` if it cannot be written.
  package func noteAccepted(_ state: VerifiedState) -> Bool {
    witness.raiseDurably { _ in state.witnessRecord(flags: .acceptedByHand) }
  }

  private func acceptRemoval() throws(VaultError) -> AcceptedState {
    let reading = witness.read()
    switch (floor(beside: reading), reading) {
    case (let floor?, _): try markRemoved(floor)
    case (nil, .valid(let record)) where !record.flags.contains(.removed): try markRemoved(record)
    case (nil, .invalid): try markRemoved(nil)
    default: throw .notFound(.group)
    }
    return .removal
  }

  func markRemoved(_ record: WitnessRecord?) throws(VaultError) {
    var removed =
      record
      ?? WitnessRecord(
        groupID: .zero, ownerKey: context.ownerKey, rosterRevision: 0, generation: 0, epoch: 0, link: .zero,
        flags: .acceptedByHand)
    removed.flags.insert(.removed)
    guard !witness.raiseDurably({ _ in removed }) else { return }
    throw .storage(witness.read().record?.flags.contains(.removed) == true ? .unconfirmed : .stateFolder)
  }
}

extension RosterChange {
  /// This change with a roster, a key and an epoch above everything seen, and without the members who are left out.
  func taking(_ offered: OfferedState, _ owner: OwnersAcceptance) -> RosterChange {
    let (revokes, staysOut) = (revokes, owner.revokes)
    var change = self
    change.revokes = { revokes($0) || staysOut($0) }
    change.rotates = true
    if owner.registration.groupID == offered.state.manifest.groupID { change.formerReaders = owner.formerReaders }
    if let known = offered.known, offered.state.isSameGroup(known) {
      change.above = Numbers(
        revision: max(above.revision, known.rosterRevision), generation: max(above.generation, known.generation),
        epoch: max(above.epoch, known.epoch))
    }
    return change
  }
}

extension VerifiedState {
  func isSameGroup(_ record: WitnessRecord) -> Bool {
    record.groupID == manifest.groupID && record.ownerKey == roster.ownerKey
  }
}
