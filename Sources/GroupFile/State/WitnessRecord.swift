package import Sealing

/// The newest state of one group that this machine has verified (format article, "The witness"), or that the owner knew
/// when issuing a credential. That one, the floor, has no digest of the roster; a machine without a witness of its own treats
/// it as the newest state seen.
package struct WitnessRecord: Equatable, Sendable {
  /// Rises with every record written; of two valid records the one with the higher sequence counts.
  package var sequence: UInt64
  package var groupID: GroupID
  package var ownerKey: PublicKey
  package var rosterRevision: UInt64
  package var generation: UInt64
  package var epoch: UInt64
  /// The chain's link at `epoch`.
  package var link: Digest
  package var rosterDigest: Digest
  package var flags: Flags
  /// The mark of the member who wrote the record: ``VerifiedState/mark``. Zeros if there is none.
  package var mark: Digest

  /// Events of the group other than its verification.
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The group was removed here, so a file under its name is refused, unless the registry names another group.
    package static let removed = Flags(rawValue: 1)
    /// At some time more states were missed than the chain keeps.
    package static let gapSeen = Flags(rawValue: 2)
    /// A user accepted a state explicitly.
    package static let acceptedByHand = Flags(rawValue: 4)
  }

  package static let byteCount = 256

  package init(
    sequence: UInt64 = 0, groupID: GroupID, ownerKey: PublicKey, rosterRevision: UInt64, generation: UInt64,
    epoch: UInt64, link: Digest, rosterDigest: Digest = .zero, flags: Flags = [], mark: Digest = .zero
  ) {
    (self.sequence, self.groupID, self.ownerKey) = (sequence, groupID, ownerKey)
    (self.rosterRevision, self.generation, self.epoch) = (rosterRevision, generation, epoch)
    (self.link, self.rosterDigest, self.flags, self.mark) = (link, rosterDigest, flags, mark)
  }

  package func serialized() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: WitnessRecord.byteCount)
    writer.write(.witness)
    writer.write(sequence)
    writer.write(groupID)
    writer.write(ownerKey)
    writer.write(rosterRevision)
    writer.write(generation)
    writer.write(epoch)
    writer.write(link)
    writer.write(rosterDigest)
    writer.write(flags.rawValue)
    writer.write(mark)
    writer.writeZeros(8)
    writer.write(Hash.digest(.witnessHash, writer.bytes))
    return writer.bytes
  }

  /// Reads a record of 256 bytes.
  ///
  /// - Throws: for a wrong count, label or hash, a counter of 2^53 or more, an unknown flag, or a reserved byte that is
  ///   not zero.
  package init(parsing bytes: [UInt8]) throws(ByteReader.Failure) {
    var reader = ByteReader(bytes)
    try reader.expect(.witness)
    sequence = try reader.readCounter()
    groupID = try reader.readBytes32()
    ownerKey = try reader.readBytes32()
    rosterRevision = try reader.readCounter()
    generation = try reader.readCounter()
    epoch = try reader.readCounter()
    link = try reader.readBytes32()
    rosterDigest = try reader.readBytes32()
    flags = Flags(rawValue: try reader.read(UInt64.self))
    guard flags.isSubset(of: [.removed, .gapSeen, .acceptedByHand]) else { throw ByteReader.Failure() }
    mark = try reader.readBytes32()
    try reader.expectZeros(8)
    let covered = bytes.prefix(reader.offset)
    guard try reader.readBytes32() == Hash.digest(.witnessHash, Array(covered)) else { throw ByteReader.Failure() }
    try reader.finish()
  }
}

/// What a machine knows of a group before it reads the group's file.
package enum WitnessReading: Error, Equatable, Sendable {
  /// The state folder exists, and no group of this name was ever verified on this machine.
  case absent
  /// The newest state that was verified.
  case valid(WitnessRecord)
  /// A witness exists, but neither of its records is valid for this owner.
  case invalid
  /// The state folder is missing or unreadable, for a reason that a user can act on.
  case unavailable(reason: String)

  package var record: WitnessRecord? { if case .valid(let record) = self { record } else { nil } }
}

/// Keeps the witness of one group outside the store (format article, "The witness").
package protocol Witnessing: Sendable {
  /// Reads the witness; must be called before the group's snapshot begins.
  func read() -> WitnessReading

  /// The same, before a change that will raise the witness.
  func readToWrite() -> WitnessReading

  /// Reads the witness again while no other process can write it, and replaces it by the result of `update`.
  ///
  /// - Parameters:
  ///   - isDurable: for a record that the group's file alone does not justify: it is on the disk when the call returns.
  ///   - update: receives the current reading; `nil` changes nothing. The sequence of its result is ignored, because the
  ///     record gets the next one.
  /// - Returns: `false` if the witness cannot be written; it is unchanged then, unless only the disk did not confirm it.
  func raise(durably isDurable: Bool, _ update: (WitnessReading) -> WitnessRecord?) -> Bool
}

extension Witnessing {
  package func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool { raise(durably: false, update) }
  package func raiseDurably(_ update: (WitnessReading) -> WitnessRecord?) -> Bool { raise(durably: true, update) }
  package func readToWrite() -> WitnessReading { read() }
}

extension Label {
  fileprivate static let witness = Label("vault1.witness")
  fileprivate static let witnessHash = Label("vault1.wit.hash")
}

/// Compares a verified state with what this machine has verified before (format article, "The witness").
enum WitnessRule {
  /// - Parameter strict: whether an invalid witness is refused, as for every write, or only reported.
  /// - Returns: whether the witness should be raised to this state; and `gap` if descent could not be proved.
  /// - Throws: `rolledBack`, or `damaged(.witness, …)`.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool, _ connection: Connection
  ) throws(VaultError) -> (isAhead: Bool, notice: Notice?) {
    try check(state, against: reading, strict: strict) { (record) throws(VaultError) in
      try state.descends(from: record.epoch, record.link, connection)
    }
  }

  /// As above, for a chain that is not in a file: `descends` says whether it leads from the record's link to the
  /// state's.
  static func check(
    _ state: VerifiedState, against reading: WitnessReading, strict: Bool,
    descends: (WitnessRecord) throws(VaultError) -> Bool
  ) throws(VaultError) -> (isAhead: Bool, notice: Notice?) {
    let record: WitnessRecord
    switch reading {
    case .absent: return (true, nil)
    case .unavailable(let reason): return (false, .witnessUnavailable(reason: reason))
    case .invalid:
      if strict { throw .damaged(.witness, "neither record is valid") }
      return (false, .witnessInvalid(group: state.roster.groupName))
    case .valid(let found): record = found
    }
    let manifest = state.manifest
    if record.epoch == manifest.epoch, record.link == state.link, record.rosterDigest == state.signedRoster.digest,
      !record.flags.contains(.removed)
    {
      return (false, nil)
    }
    guard record.ownerKey == state.roster.ownerKey else { throw .damaged(.witness, "another owner's group") }
    guard record.groupID == manifest.groupID else { throw .anotherGroup("") }
    func rolledBack(_ kind: RollbackReason) -> VaultError {
      .rolledBack(found: manifest.epoch, known: record.epoch, reason: kind)
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
      return (false, nil)
    }
    if try descends(record) { return (true, nil) }
    // A gap is accepted only if the chain cannot reach back that far.
    guard manifest.epoch - record.epoch > GroupLimits.chainLength else { throw rolledBack(.fork) }
    return (true, .gap(group: state.roster.groupName, from: record.epoch, to: manifest.epoch))
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

  /// The record that states that this state was verified, as a witness's first.
  package func witnessRecord(flags: WitnessRecord.Flags = []) -> WitnessRecord {
    WitnessRecord(
      sequence: 1, groupID: manifest.groupID, ownerKey: roster.ownerKey, rosterRevision: manifest.rosterRevision,
      generation: manifest.generation, epoch: manifest.epoch, link: link, rosterDigest: signedRoster.digest,
      flags: flags, mark: mark)
  }
}
