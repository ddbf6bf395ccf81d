package import Sealing

/// A state of a group whose wrap, roster and manifest were all verified.
///
/// It is immutable, so a process keeps the newest one: a transaction that finds the same sealed manifest reuses it.
package final class VerifiedState: Sendable {
  package let keys: GroupKeys
  package let signedRoster: SignedRoster
  package let manifest: Manifest
  package let member: Member
  package let link: Digest
  /// The stored bytes that were verified.
  let sealedManifest: [UInt8]
  let sealedRoster: [UInt8]
  let header: [UInt8]
  private let seed: MemberSeed
  /// Whether a mark took the place of verifying a signature.
  private let isMarked: Bool

  package var roster: Roster { signedRoster.roster }

  /// Whether a log orders the group's states, so that no program writes the file past it.
  package var isPublished: Bool { roster.flags.version.write >= FormatVersion.published.write }

  init(
    keys: GroupKeys, signedRoster: SignedRoster, manifest: Manifest, member: Member, sealedManifest: [UInt8],
    sealedRoster: [UInt8], as seed: MemberSeed, isMarked: Bool = false
  ) {
    (self.keys, self.signedRoster, self.manifest, self.member) = (keys, signedRoster, manifest, member)
    (self.sealedManifest, self.sealedRoster, self.seed, self.isMarked) = (sealedManifest, sealedRoster, seed, isMarked)
    header = StateHeader(of: signedRoster.roster).serialized()
    link = manifest.link()
  }

  /// The signer of this state, in the form in which attributes name a writer.
  package var signer: Writer? { roster.member(signing: manifest.writerKey)?.who }

  /// Reads and verifies the state in `connection`'s transaction, in the order of the format's reasons 15 to 42. Parts
  /// that are those of `known` are not opened again, and a mark in `witnessed` takes the place of verifying the
  /// signatures. `mending` accepts versions that the owner did not sign, for a change of the roster, which restores
  /// them.
  static func open(
    _ connection: Connection, as context: GroupContext, known: VerifiedState?, witnessed: WitnessRecord? = nil,
    mending: Bool = false
  ) throws(VaultError) -> VerifiedState {
    if let known,
      connection.verified.found === known ? true : try connection.part(.manifest, equals: known.sealedManifest)
    {
      try known.roster.flags.version.check(connection.access)
      if !mending { try known.confirmVersions(connection) }
      if connection.access == .reading { connection.verified.found = known }
      return known
    }
    let header = try connection.part(.header)
    let sealedRoster = try connection.part(.roster)
    let sealedManifest = try connection.part(.manifest)
    // What a mark shows was confirmed before it was made.
    let isMarked =
      witnessed?.mark.isCode(
        context.seed.mark(owner: context.ownerKey, header: header, roster: sealedRoster, manifest: sealedManifest))
      ?? false
    if !isMarked { try context.confirmOwner() }
    let known = known.flatMap { header == $0.header && sealedRoster == $0.sealedRoster ? $0 : nil }
    let (keys, roster, member) =
      if let known { (known.keys, known.signedRoster, known.member) } else {
        try openRoster(connection, header: header, sealedRoster, isMarked, as: context)
      }
    try roster.roster.flags.version.check(connection.access)
    let manifest = try SignedManifest.open(sealedManifest, with: keys, isProved: isMarked) {
      $0 == roster.digest ? roster : nil
    }
    let state = VerifiedState(
      keys: keys, signedRoster: roster, manifest: manifest, member: member, sealedManifest: sealedManifest,
      sealedRoster: sealedRoster, as: context.seed, isMarked: isMarked || known?.isMarked == true)
    if !mending { try state.confirmVersions(connection) }
    return state
  }

  /// A code over the stored bytes that only a holder of the opening member's seed can make (format article, "The
  /// witness"). In a witness record, it shows that this member verified the signatures of these bytes before.
  var mark: Digest { seed.mark(owner: roster.ownerKey, header: header, roster: sealedRoster, manifest: sealedManifest) }

  /// Verifies that the parts which are not read again for a known state are unchanged: header, own wrap, roster,
  /// versions. A writer, or a proof of the whole file, makes all the checks of a first read.
  func confirmRoster(_ connection: Connection, mending: Bool = false) throws(VaultError) {
    guard try connection.part(.header, equals: header), try connection.part(.roster, equals: sealedRoster) else {
      throw .damaged(.roster, "changed without its manifest")
    }
    guard let wrap = try connection.wrap(member.slotID), Wrap.digest(wrap, slotID: member.slotID) == member.wrapDigest
    else { throw .damaged(.wrap, "changed without its roster") }
    if isMarked {
      let roster = try SignedRoster(opening: sealedRoster, with: keys, ownerKey: roster.ownerKey)
      _ = try SignedManifest.open(sealedManifest, with: keys) { $0 == roster.digest ? roster : nil }
    }
    if !mending { try confirmVersions(connection) }
  }

  /// Verifies that the writer's manifest and the file's `user_version` state the versions that the owner signed.
  private func confirmVersions(_ connection: Connection) throws(VaultError) {
    guard hasOwnersVersion else { throw .damaged(.manifest, "format version") }
    guard connection.version == roster.flags.version else {
      throw .damaged(.container, "the file states another version of the format than the owner signed")
    }
  }

  /// Whether the writer's manifest states the versions that the owner signed.
  var hasOwnersVersion: Bool { manifest.version == roster.flags.version }

  private static func openRoster(
    _ connection: Connection, header bytes: [UInt8], _ sealedRoster: [UInt8], _ isProved: Bool, as context: GroupContext
  ) throws(VaultError) -> (GroupKeys, SignedRoster, Member) {
    let header = try StateHeader(parsing: bytes)
    let slotID = context.seed.slotID(group: header.groupID, generation: header.generation)
    guard let wrap = try connection.wrap(slotID) else {
      // Every group has a wrap for the owner, so a missing one was deleted, or the header was altered.
      throw context.kind == .owner ? .damaged(.wrap, "the owner's wrap is missing") : .denied(.notAMember)
    }
    let groupKey = try Wrap.open(wrap, for: context.seed, groupID: header.groupID, generation: header.generation)
    var deviceKey: Key?
    if header.flags.contains(.thisDeviceOnly) {
      do throws(VaultError) {
        deviceKey = try context.deviceKey(header.deviceKeyID)
      } catch {
        // The header is not signed. If the roster opens without a device key, or with the one here, it was altered.
        func opens(_ candidate: consuming Key?) throws(VaultError) -> Bool {
          let keys = try sealing(GroupKeys(groupKey, header, deviceKey: candidate?.copy()))
          return (try? SignedRoster(opening: sealedRoster, with: keys, ownerKey: context.ownerKey)) != nil
        }
        guard try !opens(nil), try !opens(try? context.deviceKey(nil)) else { throw .damaged(.roster, "header") }
        throw error
      }
    }
    let keys = try sealing(GroupKeys(groupKey, header, deviceKey: deviceKey?.copy()))
    let roster = try SignedRoster(opening: sealedRoster, with: keys, ownerKey: context.ownerKey, isProved: isProved)
    guard StateHeader(of: roster.roster) == header else { throw .damaged(.roster, "header") }
    return (keys, roster, try roster.roster.member(context, under: keys, wrap, isProved: isProved))
  }
}

extension Roster {
  /// The entry of the member that opens the group, after checking that the roster is for the requested group, and for
  /// the key and the wrap that led to it.
  ///
  /// - Parameters:
  ///   - wrap: the member's own wrap; `nil` if it is lost and another one led to the key.
  ///   - isProved: whether the member found this roster to have an entry with their signing key before.
  func member(
    _ context: GroupContext, under keys: GroupKeys, _ wrap: [UInt8]?, isProved: Bool = false
  ) throws(VaultError) -> Member {
    guard groupName == context.groupName else { throw .damaged(.roster, "another group's file") }
    guard keyCommitment == keys.commitment else { throw .damaged(.roster, "key commitment") }
    let slotID = context.seed.slotID(group: keys.groupID, generation: keys.generation)
    let entry =
      isProved
      ? members.first { $0.slotID == slotID } : member(signing: try sealing(context.seed.signingPublicKey))
    guard let member = entry, member.kind == context.kind, member.slotID == slotID,
      wrap.map({ member.wrapDigest == Wrap.digest($0, slotID: slotID) }) ?? true
    else { throw .damaged(.roster, "own entry") }
    return member
  }
}

extension GroupKeys {
  convenience init(_ groupKey: borrowing Key, _ header: StateHeader, deviceKey: consuming Key?) throws(SealingError) {
    try self.init(
      groupKey: groupKey.copy(), groupID: header.groupID, generation: header.generation, deviceKey: deviceKey)
  }
}

/// The requested group and the opening member: everything that must not be taken from the file itself.
package struct GroupContext: Sendable {
  /// The name that the caller requested; the signed roster must contain the same.
  package let groupName: String
  /// The owner, from the identity or the credential.
  package let ownerKey: PublicKey
  /// Confirms that ``ownerKey`` is the key of whoever opens the group as its owner.
  let confirmOwner: @Sendable () throws(VaultError) -> Void
  package let seed: MemberSeed
  /// The kind that the roster must give to that member: the owner opens as the owner, an application as an application.
  package let kind: Member.Kind
  /// The credential's floor for the group; `nil` for the owner.
  package internal(set) var floor: WitnessRecord?
  /// Finds the key of a device by its id, or this device's without one; throws `otherDevice` with the reason if it is
  /// not here.
  package let deviceKey: @Sendable ([UInt8]?) throws(VaultError) -> Key

  package init(
    groupName: String, ownerKey: PublicKey,
    confirmOwner: @escaping @Sendable () throws(VaultError) -> Void = { () throws(VaultError) in },
    seed: MemberSeed, kind: Member.Kind = .owner, floor: WitnessRecord? = nil,
    deviceKey: @escaping @Sendable ([UInt8]?) throws(VaultError) -> Key = { (_) throws(VaultError) in
      throw .otherDevice("this machine has no device key")
    }
  ) {
    (self.groupName, self.ownerKey, self.confirmOwner) = (groupName, ownerKey, confirmOwner)
    (self.seed, self.kind, self.floor, self.deviceKey) = (seed, kind, floor, deviceKey)
  }
}

enum StatePart: Int64, CaseIterable {
  /// Group id ‖ generation ‖ flags ‖ device key id, not encrypted, because they are needed to find the wrap.
  case header = 1
  case roster = 2
  case manifest = 3
}

/// Tables `state`, `wrap` and `chain`.
extension Connection {
  /// The bytes of `part`, unproved; throws `damaged(.container, …)` if they are missing.
  func part(_ part: StatePart) throws(VaultError) -> [UInt8] { try unsafe withPart(part) { unsafe Array($0) } }

  /// Whether `part` holds exactly `bytes`: a cheap check that every transaction makes.
  func part(_ part: StatePart, equals bytes: [UInt8]) throws(VaultError) -> Bool {
    try unsafe withPart(part) { stored in unsafe bytes.span.withUnsafeBytes { unsafe stored.hasSameBytes(as: $0) } }
  }

  private func withPart<Result>(
    _ part: StatePart, _ body: (UnsafeRawBufferPointer) -> Result
  ) throws(VaultError) -> Result {
    let statement = try statement("SELECT bytes FROM state WHERE part = ?").bind(1, part.rawValue)
    defer { statement.reset() }
    guard try statement.step() else { throw .damaged(.container, "a part of the state is missing") }
    return unsafe body(try statement.blob(0, count: 1...GroupLimits.rosterByteCount + 1_024))
  }

  func storePart(_ part: StatePart, _ bytes: [UInt8]) throws(VaultError) {
    try statement("REPLACE INTO state(part, bytes) VALUES(?, ?)").bind(1, part.rawValue).bind(2, bytes).run()
  }

  func wrap(_ slotID: [UInt8]) throws(VaultError) -> [UInt8]? {
    let statement = try statement("SELECT sealed FROM wrap WHERE slot = ?").bind(1, slotID)
    defer { statement.reset() }
    return try statement.step() ? try statement.bytes(0, count: 1...1_024) : nil
  }

  /// Stores a wrap, replacing an existing one: a future member may know the slot of their wrap, and could have filled
  /// it.
  func storeWrap(_ slotID: [UInt8], _ sealed: [UInt8]) throws(VaultError) {
    try statement("REPLACE INTO wrap(slot, sealed) VALUES(?, ?)").bind(1, slotID).bind(2, sealed).run()
  }

  /// The chain's rows with epochs above `epoch`, in rising order; at most as many as the chain keeps.
  func chain(after epoch: UInt64) throws(VaultError) -> [(epoch: UInt64, rest: Digest)] {
    let statement = try statement("SELECT epoch, rest FROM chain WHERE epoch > ? ORDER BY epoch")
      .bind(1, counter: epoch)
    defer { statement.reset() }
    var rows: [(epoch: UInt64, rest: Digest)] = []
    var last = epoch
    while try statement.step() {
      let next = try statement.counter(0, from: 1)
      guard next > last, rows.count < GroupLimits.chainLength else { throw .damaged(.chain, "order") }
      last = next
      rows.append((next, unsafe Digest(try statement.blob(1, count: 32...32))!))
    }
    return rows
  }

  /// Adds the row of `epoch` and drops those that the chain no longer keeps. An existing row of this epoch was
  /// not written by Vault, because nothing was signed there, and is replaced.
  func appendChain(_ epoch: UInt64, _ rest: Digest) throws(VaultError) {
    try statement("REPLACE INTO chain(epoch, rest) VALUES(?, ?)").bind(1, counter: epoch).bind(2, rest.bytes).run()
    guard epoch > GroupLimits.chainLength else { return }
    try statement("DELETE FROM chain WHERE epoch <= ?").bind(1, counter: epoch - GroupLimits.chainLength).run()
  }
}

/// Part 1 of the state.
struct StateHeader: Equatable {
  var groupID: GroupID
  var generation: UInt64
  var flags: Roster.Flags
  var deviceKeyID: [UInt8]

  init(of roster: Roster) {
    (groupID, generation, flags, deviceKeyID) = (roster.groupID, roster.generation, roster.flags, roster.deviceKeyID)
  }

  init(parsing bytes: [UInt8]) throws(VaultError) {
    do {
      var reader = ByteReader(bytes)
      groupID = try reader.readBytes32()
      generation = try reader.readCounter()
      flags = Roster.Flags(rawValue: try reader.read(UInt32.self))
      deviceKeyID = Array(try reader.read(count: 16))
      try reader.finish()
    } catch {
      throw .damaged(.container, "the state's header")
    }
    guard flags.areKnown, flags.contains(.thisDeviceOnly) == deviceKeyID.contains(where: { $0 != 0 }) else {
      throw .damaged(.container, "the state's header")
    }
  }

  func serialized() -> [UInt8] {
    var writer = ByteWriter(reservingCapacity: 60)
    writer.write(groupID)
    writer.write(generation)
    writer.write(flags.rawValue)
    writer.write(deviceKeyID)
    return writer.bytes
  }
}
