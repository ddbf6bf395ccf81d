import Sealing

/// The signed state that a damaged file still holds, and the one that follows it.
struct SalvagedState {
  private let old: VerifiedState
  private let authority: any RosterAuthority
  private let context: GroupContext

  init(_ old: VerifiedState, authority: any RosterAuthority, context: GroupContext) {
    self.old = old
    self.authority = authority
    self.context = context
  }

  /// Signs the state that holds `root`, under a roster that is new but for its number and the wraps that were lost.
  ///
  /// - Returns: its epoch.
  func sign(
    root: Digest, items: UInt64, versions: UInt64, wraps: [[UInt8]: Set<[UInt8]>], time: UInt64,
    in connection: Connection
  ) throws(GroupFileError) -> UInt64 {
    var manifest = old.successor(root: root, itemCount: items, versionRowCount: versions, time: time)
    var roster = old.roster
    roster.revision += 1
    roster.previous = old.signedRoster.digest
    roster.firstEpoch = manifest.epoch
    try connection.empty("DELETE FROM wrap")
    for place in roster.members.indices {
      let member = roster.members[place]
      let found = wraps[member.slotID]?.first { Wrap.digest($0, slotID: member.slotID) == member.wrapDigest }
      let wrap = if let found { found } else { try newWrap(for: member) }
      roster.members[place].wrapDigest = Wrap.digest(wrap, slotID: member.slotID)
      try connection.storeWrap(member.slotID, wrap)
    }
    guard [roster.revision, manifest.epoch].allSatisfy({ $0 < ByteReader.counterLimit }) else {
      throw .overLimit("2^53 states")
    }
    let signed = SignedRoster(roster, by: authority.rosterSigningKey())
    manifest.rosterDigest = signed.digest
    manifest.rosterRevision = roster.revision
    let sealed = SignedManifest.seal(manifest, by: context.seed.signingKey(), with: old.keys)
    try connection.storeState(StateHeader(of: roster).serialized(), signed.sealed(with: old.keys), sealed)
    try connection.appendChain(manifest.epoch, manifest.rest())
    return manifest.epoch
  }

  private func newWrap(for member: Member) throws(GroupFileError) -> [UInt8] {
    do {
      let seed =
        member.kind == .owner
        ? context.seed : try authority.seed(application: member.application, issue: member.issue)
      guard seed.signingPublicKey == member.signingKey else { throw GroupFileError.damaged(.roster, "member's key") }
      return try Wrap.seal(
        old.keys.groupKey, for: seed, groupID: old.manifest.groupID, generation: old.manifest.generation)
    } catch let error as GroupFileError {
      throw error
    } catch {
      throw .storage(.memory)
    }
  }
}

extension Connection {
  fileprivate func storeState(
    _ header: [UInt8], _ roster: [UInt8], _ manifest: [UInt8]
  ) throws(GroupFileError) {
    try storePart(.header, header)
    try storePart(.roster, roster)
    try storePart(.manifest, manifest)
  }

  /// Writes what was found of the chain up to `state`.
  func storeChain(_ found: [UInt64: Digest], of state: VerifiedState) throws(GroupFileError) {
    let insert = try statement("INSERT INTO chain(epoch, rest) VALUES(?, ?)")
    let end = state.manifest.epoch
    for (epoch, rest) in found.sorted(by: { $0.key < $1.key }) where epoch <= end {
      guard epoch + GroupLimits.chainLength > end else { continue }
      try insert.bind(1, counter: epoch).bind(2, rest).run()
    }
  }

  /// Whether the chain that was found leads to `state`; one that does not is dropped, because lost rows cannot be made again.
  func confirmChain(of state: VerifiedState) throws(GroupFileError) -> Bool {
    try appendChain(state.manifest.epoch, state.manifest.rest())
    if state.isEnd(of: try chain(after: 0)) { return true }
    try empty("DELETE FROM chain")
    return false
  }
}
