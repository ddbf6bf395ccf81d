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

  /// Verifies the newest state that can be found, and writes its parts and its wraps to `connection`.
  ///
  /// - Throws: what is wrong with the state; there is nothing signed to repair from then.
  static func open(
    _ index: borrowing SalvageIndex, in connection: Connection, as context: GroupContext
  ) throws(GroupFileError) -> VerifiedState {
    for wrap in index.wraps { try connection.putWrap(wrap.slotID, wrap.sealed) }
    var newest: VerifiedState?
    var failure = GroupFileError.damaged(.container, "a part of the state is missing")
    for header in candidates(.header, index) {
      for roster in candidates(.roster, index) {
        for manifest in candidates(.manifest, index) {
          try connection.storeState(header, roster, manifest)
          do throws(GroupFileError) {
            let state = try VerifiedState.open(connection, as: context, known: nil)
            if state.manifest.epoch > newest?.manifest.epoch ?? 0 { newest = state }
          } catch {
            if case .storage = error { throw error }
            failure = error
          }
        }
      }
    }
    guard let newest else { throw failure }
    try connection.storeState(newest.header, newest.sealedRoster, newest.sealedManifest)
    return newest
  }

  // There is one of each, unless a page that is not used any more has kept its content.
  private static func candidates(_ part: StatePart, _ index: borrowing SalvageIndex) -> [[UInt8]] {
    Array((index.parts[part.rawValue] ?? []).suffix(4))
  }

  /// Signs the state that holds `root`, under a roster that is new but for its number and the wraps that were lost.
  ///
  /// - Returns: its epoch.
  func sign(
    root: Digest, items: UInt64, versions: UInt64, wraps: [(slotID: [UInt8], sealed: [UInt8])], time: UInt64,
    in connection: Connection
  ) throws(GroupFileError) -> UInt64 {
    var manifest = old.successor(root: root, itemCount: items, versionRowCount: versions, time: time)
    var roster = old.roster
    roster.revision += 1
    roster.previous = old.signedRoster.digest
    roster.firstEpoch = manifest.epoch
    try connection.run("DELETE FROM wrap")
    for place in roster.members.indices {
      let member = roster.members[place]
      let found = wraps.first {
        $0.slotID == member.slotID && Wrap.digest($0.sealed, slotID: $0.slotID) == member.wrapDigest
      }
      let wrap = if let found { found.sealed } else { try newWrap(for: member) }
      roster.members[place].wrapDigest = Wrap.digest(wrap, slotID: member.slotID)
      try connection.putWrap(member.slotID, wrap)
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

  /// Stores a wrap in the place of any that is there.
  fileprivate func putWrap(_ slotID: [UInt8], _ sealed: [UInt8]) throws(GroupFileError) {
    try statement("REPLACE INTO wrap(slot, sealed) VALUES(?, ?)").bind(1, slotID).bind(2, sealed).run()
  }

  fileprivate func run(_ sql: StaticString) throws(GroupFileError) { try statement(sql).run() }

  /// Writes what was found of the chain up to `state`; where two rows claim one epoch, neither counts.
  func storeChain(_ found: [UInt64: Set<Digest>], of state: VerifiedState) throws(GroupFileError) {
    let insert = try statement("INSERT INTO chain(epoch, rest) VALUES(?, ?)")
    let end = state.manifest.epoch
    for (epoch, rests) in found.sorted(by: { $0.key < $1.key }) {
      guard epoch <= end, epoch + GroupLimits.chainLength > end, rests.count == 1, let rest = rests.first else {
        continue
      }
      try insert.bind(1, counter: epoch).bind(2, rest).run()
    }
  }

  /// Whether the chain that was found leads to `state`; one that does not is dropped, because lost rows cannot be made again.
  func confirmChain(of state: VerifiedState) throws(GroupFileError) -> Bool {
    let rows = try chain(after: 0)
    let end = state.manifest.epoch
    if let last = rows.last, last.epoch == end, last.rest == state.manifest.rest() {
      if end > GroupLimits.chainLength { return true }
      let link = rows.reduce(Digest.zero) { Manifest.link(after: $0, rest: $1.rest) }
      if link == state.link { return true }
    }
    try run("DELETE FROM chain")
    return false
  }
}
