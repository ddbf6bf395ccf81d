import Sealing

extension Connection {
  /// Writes the links that were found of the chain up to `state`, if they lead to it: lost links cannot be rebuilt.
  /// Returns whether they do.
  func storeChain(_ found: [UInt64: Digest], of state: VerifiedState) throws(VaultError) -> Bool {
    let insert = try statement("INSERT INTO chain(epoch, rest) VALUES(?, ?)")
    let end = state.manifest.epoch
    for (epoch, rest) in found.sorted(by: { $0.key < $1.key })
    where epoch <= end && epoch + GroupLimits.chainLength > end {
      try insert.bind(1, counter: epoch).bind(2, rest.bytes).run()
    }
    try appendChain(state.manifest.epoch, state.manifest.rest())
    if state.isEnd(of: try chain(after: 0)) { return true }
    try statement("DELETE FROM chain").run()
    return false
  }
}

/// Finds the signed state of a damaged file among all records that could be a part of it.
///
/// Anyone who can write the file can add records, so the search must not try all combinations: a header leads to the
/// wraps of its generation, the keys lead to the rosters, and a manifest names its roster.
struct StateSearch {
  /// A group key that was found through a wrap.
  private struct Opened {
    let keys: GroupKeys
    /// `nil` if it was another member's.
    let wrap: [UInt8]?
  }

  /// How many keys of one member are tried with all rosters, beside the one that opens the stored roster. An honest
  /// member has one, but whoever has a credential can make wraps of any keys, and keys times rosters could be billions.
  private static let memberKeyCount = 16

  private typealias Rosters = [Digest: (signed: SignedRoster, member: Member, sealed: [UInt8])]

  private let context: GroupContext
  private let witness: WitnessReading
  private let members: [MemberSeed]
  private var failure = VaultError.damaged(.container, "a part of the state is missing")
  /// The error of finding the device key that a header names.
  private var deviceFailure: VaultError?

  /// The state that every reader of the file would find, if it verifies; otherwise the verified state with the highest
  /// epoch. One that contradicts `witness` is skipped if there is one that does not, because damage must not hide that
  /// a state is old or a fork; otherwise `isTaken` decides about the newest, never about another group's. A manifest
  /// whose only defect is its versions counts. If the owner's wrap was deleted, one of `members` leads to the key. Also
  /// returns whether the state contradicts the witness.
  static func run(
    _ index: borrowing SalvageIndex, as context: GroupContext, _ witness: WitnessReading, members: [MemberSeed],
    taking isTaken: (VerifiedState) -> Bool = { _ in false }
  ) throws(VaultError) -> (state: VerifiedState, isRefused: Bool) {
    var search = StateSearch(context: context, witness: witness, members: members)
    var refusal: VaultError?
    var taken: VerifiedState?
    let chain = index.chain
    let descendants = search.descendants(chain)
    // A higher generation is newer, so lower ones need not be examined.
    for generation in search.generations(index) {
      for state in try search.states(index, try search.opened(generation.headers, index)) {
        do throws(VaultError) {
          _ = try WitnessRule.check(state, against: witness, strict: true) { (_) throws(VaultError) in
            descendants.contains(state.link)
          }
          return (state, false)
        } catch {
          refusal = refusal ?? error
          guard error != .anotherGroup(""), isTaken(state) else { continue }
          let newest = taken.map { ($0.manifest.generation, $0.manifest.rosterRevision) } ?? (0, 0)
          if (state.manifest.generation, state.manifest.rosterRevision) > newest { taken = state }
        }
      }
    }
    if let taken { return (taken, true) }
    throw refusal ?? search.deviceFailure ?? search.failure
  }

  private func descendants(_ chain: [UInt64: Digest]) -> Set<Digest> {
    guard let record = witness.record else { return [] }
    var link = record.link
    var links: Set<Digest> = []
    for (_, rest) in chain.filter({ $0.key > record.epoch }).sorted(by: { $0.key < $1.key }) {
      link = Manifest.link(after: link, rest: rest)
      links.insert(link)
    }
    return links
  }

  private func generations(_ index: borrowing SalvageIndex) -> [(number: UInt64, headers: [StateHeader])] {
    var headers = (index.parts[.header] ?? []).compactMap { try? StateHeader(parsing: $0) }
    // This machine knows the header's content from its witness, unless the group got a new key since.
    if let record = witness.record { headers.append(StateHeader(of: record)) }
    return Dictionary(grouping: headers) { $0.generation }.sorted { $0.key > $1.key }.map { ($0.key, $0.value) }
  }

  private mutating func opened(
    _ headers: [StateHeader], _ index: borrowing SalvageIndex
  ) throws(VaultError) -> [Opened] {
    var opened: [Opened] = []
    for headers in Dictionary(grouping: headers, by: { $0.groupID }).values {
      let own = try keys(of: context.seed, headers, index)
      opened += own
      let stored = index.stored.parts[.header]
      guard own.isEmpty, headers.contains(where: { isExpected($0, stored) }) else { continue }
      for seed in members { opened += try keys(of: seed, headers, index) }
    }
    return opened
  }

  /// Whether a header is the stored one, or has the generation that this machine has seen. Members are tried only for
  /// these.
  private func isExpected(_ header: StateHeader, _ stored: [UInt8]?) -> Bool {
    let isSeen = witness.record.map { ($0.groupID, $0.generation) == (header.groupID, header.generation) }
    return header.serialized() == stored || isSeen == true
  }

  private mutating func keys(
    of seed: MemberSeed, _ headers: [StateHeader], _ index: borrowing SalvageIndex
  ) throws(VaultError) -> [Opened] {
    let (groupID, generation) = (headers[0].groupID, headers[0].generation)
    let wraps = index.wraps(of: seed.slotID(group: groupID, generation: generation))
    if wraps.isEmpty, seed === context.seed { failure = .damaged(.wrap, "the owner's wrap is missing") }
    // A machine has one device key. The headers may have been altered, so it is tried whatever device they name.
    let deviceKey = wraps.isEmpty ? nil : try self.deviceKey(headers)
    var opened: [Opened] = []
    var commitments: Set<Digest> = []
    // Whether a key of another member opens the stored roster: it is the group's.
    var isFound = false
    func keep(_ keys: GroupKeys, _ wrap: [UInt8]) {
      if seed === context.seed { return opened.append(Opened(keys: keys, wrap: wrap)) }
      guard commitments.insert(keys.commitment).inserted else { return }
      isFound =
        index.stored.parts[.roster].map {
          (try? SignedRoster(opening: $0, with: keys, ownerKey: context.ownerKey)) != nil
        } ?? false
      if isFound || opened.count < StateSearch.memberKeyCount { opened.append(Opened(keys: keys, wrap: nil)) }
    }
    for wrap in wraps where !isFound {
      do throws(VaultError) {
        let groupKey = try Wrap.open(wrap, for: seed, groupID: groupID, generation: generation)
        keep(try sealing(GroupKeys(groupKey, headers[0], deviceKey: nil)), wrap)
        if deviceKey != nil { keep(try sealing(GroupKeys(groupKey, headers[0], deviceKey: deviceKey?.copy())), wrap) }
      } catch {
        if case .storage = error { throw error }
        failure = error
      }
    }
    return opened
  }

  private mutating func deviceKey(_ headers: [StateHeader]) throws(VaultError) -> Key? {
    for header in headers where header.flags.contains(.thisDeviceOnly) {
      do throws(VaultError) { _ = try context.deviceKey(header.deviceKeyID) } catch { deviceFailure = error }
    }
    do throws(VaultError) { return try context.deviceKey(nil) } catch {
      guard case .otherDevice = error else { throw error }
      return nil
    }
  }

  /// The states that verify under some of the keys: the one with the stored parts first, then by falling epoch.
  private mutating func states(
    _ index: borrowing SalvageIndex, _ opened: [Opened]
  ) throws(VaultError) -> [VerifiedState] {
    var states: [VerifiedState] = []
    for candidate in opened {
      let rosters = try rosters(index.parts[.roster] ?? [], candidate)
      guard !rosters.isEmpty else { continue }
      for sealed in index.parts[.manifest] ?? [] where sealed.count == SignedManifest.byteCount {
        do throws(VaultError) {
          let manifest = try SignedManifest.open(sealed, with: candidate.keys) { rosters[$0]?.signed }
          guard let roster = rosters[manifest.rosterDigest] else { continue }
          states.append(
            VerifiedState(
              keys: candidate.keys, signedRoster: roster.signed, manifest: manifest, member: roster.member,
              sealedManifest: sealed, sealedRoster: roster.sealed, as: context.seed))
        } catch {
          failure = error
        }
      }
    }
    let stored = index.stored.parts[.manifest]
    return states.sorted { left, right in
      if (left.sealedManifest == stored) != (right.sealedManifest == stored) { return left.sealedManifest == stored }
      return left.manifest.epoch > right.manifest.epoch
    }
  }

  private mutating func rosters(_ parts: Set<[UInt8]>, _ opened: Opened) throws(VaultError) -> Rosters {
    var rosters: Rosters = [:]
    for sealed in parts {
      do throws(VaultError) {
        let signed = try SignedRoster(opening: sealed, with: opened.keys, ownerKey: context.ownerKey)
        try signed.roster.flags.version.check(.writing)
        let member = try signed.roster.member(context, under: opened.keys, opened.wrap)
        rosters[signed.digest] = (signed, member, sealed)
      } catch {
        if case .newerFormat = error { throw error }
        failure = error
      }
    }
    if parts.isEmpty { failure = .damaged(.container, "a part of the state is missing") }
    return rosters
  }
}

extension StateHeader {
  /// The header that a machine can rebuild from its witness of the group.
  fileprivate init(of record: WitnessRecord) {
    (groupID, generation, flags, deviceKeyID) = (record.groupID, record.generation, [], DeviceKey.noID)
  }
}
