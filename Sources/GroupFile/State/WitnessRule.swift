internal import Sealing

/// Compares a verified state with what this machine has verified before (format article, "The witness").
enum WitnessRule {
  /// The result of a comparison that found no error.
  struct Outcome {
    /// The witness should be raised to this state.
    var isAhead = false
    /// More manifests were missed than the chain keeps, so descent could not be proved.
    var gapSeen = false
    var notice: Notice?
  }

  /// Checks `state` against `reading`.
  ///
  /// - Parameter strict: whether an invalid witness is refused, as for every write, or only reported.
  /// - Throws: `rolledBack`, or `damaged(.witness, …)`.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool, _ connection: Connection
  ) throws(VaultError) -> Outcome {
    try check(state, against: reading, strict: strict) { (record) throws(VaultError) in
      try state.descends(from: record.epoch, record.link, connection)
    }
  }

  /// As above, for a chain that is not in a file: `descends` says whether it leads from the record's link to the
  /// state's.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool,
    descends: (WitnessRecord) throws(VaultError) -> Bool
  ) throws(VaultError) -> Outcome {
    switch reading {
    case .absent: return Outcome(isAhead: true)
    case .unavailable(let reason): return Outcome(notice: .witnessUnavailable(reason: reason))
    case .invalid:
      if strict { throw .damaged(.witness, "neither record is valid") }
      return Outcome(notice: .witnessInvalid(group: state.roster.groupName))
    case .valid(let record): return try check(state, against: record, descends)
    }
  }

  private static func check(
    _ state: VerifiedState, against record: WitnessRecord,
    _ descends: (WitnessRecord) throws(VaultError) -> Bool
  ) throws(VaultError) -> Outcome {
    let manifest = state.manifest
    if record.epoch == manifest.epoch, record.link == state.link, record.rosterDigest == state.signedRoster.digest,
      !record.flags.contains(.removed)
    {
      return Outcome()
    }
    guard record.ownerKey == state.roster.ownerKey else { throw .damaged(.witness, "another owner's group") }
    guard record.groupID == manifest.groupID else { throw .anotherGroup("") }
    func rolledBack(_ kind: RollbackReason) -> VaultError {
      .rolledBack(found: manifest.epoch, known: record.epoch, kind)
    }
    if record.flags.contains(.removed) { throw rolledBack(.broughtBack) }
    if manifest.rosterRevision < record.rosterRevision { throw rolledBack(.olderRoster) }
    if manifest.generation < record.generation { throw rolledBack(.olderKey) }
    if manifest.epoch < record.epoch { throw rolledBack(.olderState) }
    // A floor does not include the roster's digest.
    if manifest.rosterRevision == record.rosterRevision, manifest.rosterDigest != record.rosterDigest,
      record.rosterDigest != .zero
    {
      throw rolledBack(.fork)
    }
    if manifest.epoch == record.epoch {
      guard state.link == record.link else { throw rolledBack(.fork) }
      return Outcome()
    }
    if try descends(record) { return Outcome(isAhead: true) }
    // A gap is accepted only if the chain cannot reach back that far.
    guard manifest.epoch - record.epoch > GroupLimits.chainLength else { throw rolledBack(.fork) }
    return Outcome(
      isAhead: true, gapSeen: true, notice: .gap(group: state.roster.groupName, from: record.epoch, to: manifest.epoch))
  }
}

extension VerifiedState {
  /// Whether the chain leads from the state with this epoch and link to this one; `false` if it does not reach back so
  /// far.
  func descends(from epoch: UInt64, _ link: Digest, _ connection: Connection) throws(VaultError) -> Bool {
    var link = link
    for row in try connection.chain(after: epoch) where row.epoch <= manifest.epoch {
      link = Manifest.link(after: link, rest: row.rest)
    }
    return link == self.link
  }

  /// The record that states that this state was verified.
  package func witnessRecord(sequence: UInt64, flags: WitnessRecord.Flags = []) -> WitnessRecord {
    WitnessRecord(
      sequence: sequence, groupID: manifest.groupID, ownerKey: roster.ownerKey, rosterRevision: manifest.rosterRevision,
      generation: manifest.generation, epoch: manifest.epoch, link: link, rosterDigest: signedRoster.digest,
      flags: flags)
  }

  /// Raises `witness` to this state; it is never lowered.
  ///
  /// - Parameter checked: the reading that this state, or its predecessor, was compared with. A record that another
  ///   process has written since is compared now, so that of two forks shown in turn only one can ever raise the
  ///   witness.
  /// - Returns: a notice if it cannot be written.
  func raise(
    _ witness: any Witnessing, from checked: WitnessReading, gapSeen: Bool, _ connection: Connection
  ) -> Notice? {
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
    return written ? nil : .witnessUnavailable(reason: "the witness cannot be written")
  }
}
