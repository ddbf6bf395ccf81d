package import Sealing

/// The newest state of one group that this machine has verified (format article, "The witness").
package struct WitnessRecord: Equatable, Sendable {
  /// Rises with every record written; of two valid ones the higher counts.
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

  package init(
    sequence: UInt64, groupID: GroupID, ownerKey: PublicKey, rosterRevision: UInt64, generation: UInt64,
    epoch: UInt64, link: Digest, rosterDigest: Digest, flags: Flags = []
  ) {
    self.sequence = sequence
    self.groupID = groupID
    self.ownerKey = ownerKey
    self.rosterRevision = rosterRevision
    self.generation = generation
    self.epoch = epoch
    self.link = link
    self.rosterDigest = rosterDigest
    self.flags = flags
  }

  /// What happened to the group besides being verified.
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The group was removed here: no file under its name is as it should be.
    package static let removed = Flags(rawValue: 1)
    /// More states were missed once than the chain keeps.
    package static let gapSeen = Flags(rawValue: 2)
    /// Somebody accepted a state by hand.
    package static let acceptedByHand = Flags(rawValue: 4)

    static let all: Flags = [.removed, .gapSeen, .acceptedByHand]
  }

  /// The number of bytes of a record: 256.
  package static let byteCount = 256

  /// The record's bytes.
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
    writer.writeZeros(40)
    writer.write(Hash.digest(.witnessHash, writer.bytes))
    return writer.bytes
  }

  /// Reads a record of 256 bytes.
  ///
  /// - Throws: for another count, label or hash, a counter of 2^53 or more, an unknown flag, or a byte that should be zero.
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
    guard Flags.all.isSuperset(of: flags) else { throw .unexpected(offset: 176) }
    try reader.expectZeros(40)
    let covered = bytes.prefix(reader.offset)
    guard try reader.readBytes32() == Hash.digest(.witnessHash, Array(covered)) else {
      throw .unexpected(offset: covered.count)
    }
    try reader.finish()
  }
}

/// What a machine knows of a group before it looks at the group's file.
package enum WitnessReading: Equatable, Sendable {
  /// The state folder is there, and no group of this name was ever verified on this machine.
  case absent
  /// The newest state that was verified.
  case valid(WitnessRecord)
  /// A witness is there, but neither of its records is valid for this owner.
  case invalid
  /// The state folder is absent or cannot be read, for a reason that a user can act on.
  case unavailable(reason: String)
}

/// Keeps the witness of one group outside the store (format article, "The witness").
package protocol Witnessing: Sendable {
  /// Reads the witness: always before the group's snapshot begins.
  func read() -> WitnessReading

  /// Reads the witness again while no other process can write it, and replaces it by what `update` returns.
  ///
  /// - Parameter update: gets the present reading; `nil` leaves everything as it is. The sequence that it sets does not
  ///   count: the record written gets the next one.
  /// - Returns: `false` where the witness cannot be written; it is as it was then.
  func raise(_ update: (WitnessReading) -> WitnessRecord?) -> Bool
}

extension Label {
  fileprivate static let witness = Label("vault1.witness")
  fileprivate static let witnessHash = Label("vault1.wit.hash")
}
