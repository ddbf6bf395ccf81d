import Sealing

/// Compares a verified state with what this machine has verified before (format article, "The witness").
enum WitnessRule {
  /// What a comparison found besides errors.
  struct Outcome {
    /// The witness should be raised to this state.
    var isAhead = false
    /// More manifests were missed than the chain keeps, so descent could not be proved.
    var gapSeen = false
    var notice: GroupNotice?
  }

  /// Checks `state` against `reading`.
  ///
  /// - Parameter strict: whether an invalid witness is refused, as for every write, or only noticed.
  /// - Throws: `rolledBack`, or `damaged(.witness, …)`.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool, _ connection: Connection
  ) throws(GroupFileError) -> Outcome {
    try check(state, against: reading, strict: strict) { (record) throws(GroupFileError) in
      try descends(state, from: record, connection)
    }
  }

  /// As above, where the chain does not lie in a file: `descends` says whether it leads from the record's link to the
  /// state's.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool,
    descends: (WitnessRecord) throws(GroupFileError) -> Bool
  ) throws(GroupFileError) -> Outcome {
    switch reading {
    case .absent: return Outcome(isAhead: true)
    case .unavailable(let reason): return Outcome(notice: .witnessUnavailable(reason))
    case .invalid:
      if strict { throw .damaged(.witness, "neither record is valid") }
      return Outcome(notice: .witnessInvalid)
    case .valid(let record): return try check(state, against: record, descends)
    }
  }

  private static func check(
    _ state: VerifiedState, against record: WitnessRecord,
    _ descends: (WitnessRecord) throws(GroupFileError) -> Bool
  ) throws(GroupFileError) -> Outcome {
    let manifest = state.manifest
    if record.epoch == manifest.epoch, record.link == state.link, record.rosterDigest == state.signedRoster.digest,
      !record.flags.contains(.removed)
    {
      return Outcome()
    }
    guard record.ownerKey == state.roster.ownerKey else { throw .damaged(.witness, "another owner's group") }
    guard record.groupID == manifest.groupID else { throw .anotherGroup }
    func rolledBack(_ kind: GroupFileError.RollbackKind) -> GroupFileError {
      .rolledBack(found: manifest.epoch, known: record.epoch, kind)
    }
    if record.flags.contains(.removed) { throw rolledBack(.removed) }
    if manifest.rosterRevision < record.rosterRevision { throw rolledBack(.roster) }
    if manifest.generation < record.generation { throw rolledBack(.generation) }
    if manifest.epoch < record.epoch { throw rolledBack(.epoch) }
    // A floor does not know the roster's digest.
    if manifest.rosterRevision == record.rosterRevision, manifest.rosterDigest != record.rosterDigest,
      record.rosterDigest != .zero
    {
      throw rolledBack(.fork)
    }
    if manifest.epoch == record.epoch {
      guard state.link == record.link else { throw rolledBack(.fork) }
      return Outcome()
    }
    return try descends(record)
      ? Outcome(isAhead: true) : gap(state, record, rolledBack(.fork))
  }

  /// Whether the chain leads from the witnessed link to this state's.
  private static func descends(
    _ state: VerifiedState, from record: WitnessRecord, _ connection: Connection
  ) throws(GroupFileError) -> Bool {
    var link = record.link
    for row in try connection.chain(after: record.epoch) where row.epoch <= state.manifest.epoch {
      link = Manifest.link(after: link, rest: row.rest)
    }
    return link == state.link
  }

  /// A gap is accepted only where the chain cannot reach back so far.
  private static func gap(
    _ state: VerifiedState, _ record: WitnessRecord, _ error: GroupFileError
  ) throws(GroupFileError) -> Outcome {
    guard state.manifest.epoch - record.epoch > GroupLimits.chainLength else { throw error }
    return Outcome(
      isAhead: true, gapSeen: true, notice: .gap(from: record.epoch, to: state.manifest.epoch))
  }
}

/// What a caller should tell the user although the operation went well.
package enum GroupNotice: Hashable, Sendable {
  /// No state is kept outside the store, so an older copy of a group would not be noticed.
  case witnessUnavailable(String)
  /// The witness is damaged; writing is refused until it is replaced.
  case witnessInvalid
  /// Too many states were missed to prove that this one descends from the last one seen.
  case gap(from: UInt64, to: UInt64)
}

extension VerifiedState {
  /// The record that says "this state was verified".
  package func witnessRecord(sequence: UInt64, flags: WitnessRecord.Flags = []) -> WitnessRecord {
    WitnessRecord(
      sequence: sequence, groupID: manifest.groupID, ownerKey: roster.ownerKey, rosterRevision: manifest.rosterRevision,
      generation: manifest.generation, epoch: manifest.epoch, link: link, rosterDigest: signedRoster.digest,
      flags: flags)
  }

  /// Raises `witness` to this state; it is never lowered.
  ///
  /// - Parameter checked: what this state, or the one it was made of, was compared with. A record that another process
  ///   wrote since is compared now: of two forks that are shown in turn only one may ever raise the witness.
  /// - Returns: a notice where it cannot be written.
  func raise(
    _ witness: any Witnessing, from checked: WitnessReading, gapSeen: Bool, _ connection: Connection
  ) -> GroupNotice? {
    let written = witness.raise { reading in
      switch reading {
      case .absent: return self.witnessRecord(sequence: 1)
      case .invalid, .unavailable: return nil
      case .valid(let record):
        guard record.epoch < self.manifest.epoch,
          reading == checked || (try? WitnessRule.check(self, against: reading, strict: true, connection)) != nil
        else { return nil }
        var flags = record.flags
        if gapSeen { flags.insert(.gapSeen) }
        return self.witnessRecord(sequence: record.sequence + 1, flags: flags)
      }
    }
    return written ? nil : .witnessUnavailable("the witness cannot be written")
  }
}
