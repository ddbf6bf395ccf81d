package import Sealing

package struct RosterChange: Sendable {
  /// An application's new rights. An existing entry with another issue is removed; one with the same issue gets the
  /// rights.
  package struct Grant: Sendable, Equatable {
    package var application: String
    package var issue: UInt32
    package var rights: MemberRights

    package init(application: String, issue: UInt32, rights: MemberRights) {
      (self.application, self.issue, self.rights) = (application, issue, rights)
    }
  }

  /// The numbers that the new roster must exceed, besides those of the file.
  package struct Numbers: Sendable, Equatable {
    package var revision: UInt64
    package var generation: UInt64
    package var epoch: UInt64

    package init(revision: UInt64 = 0, generation: UInt64 = 0, epoch: UInt64 = 0) {
      (self.revision, self.generation, self.epoch) = (revision, generation, epoch)
    }
  }

  package var grants: [Grant]
  /// An application whose entries get another issue, and rights if these are given; without entries, nothing changes.
  package var reissue: (application: String, issue: UInt32)?
  package var reissuedRights: MemberRights?
  /// Called while no other process can write: whether the change should still be made.
  package var isStillWanted: @Sendable () -> Bool = { true }
  /// Called while no other process can write, before anything is written, with the members whose applications leave.
  package var prepare: @Sendable ([Member]) throws(VaultError) -> Void = { _ in }
  package var revokes: @Sendable (Member) -> Bool
  /// Whether an application had been removed before, and came back with an older state: it does not get another issue.
  package var staysOut: @Sendable (Member) -> Bool = { _ in false }
  /// Applications that were removed since an older state was made, each with its highest issue: the new roster names them,
  /// so what they could read stays exposed. Not a group's own application, which its group would call revoked.
  package var formerReaders: [String: UInt32] = [:]
  /// Whether the group gets a new key; it always does if a member is removed.
  package var rotates: Bool
  /// Whether a log orders the group's states from now on; `nil` leaves that as it is. A group that is to be published
  /// gets a new key, so that the log begins with a complete file.
  package var publishes: Bool?
  package var above: Numbers
  /// Whether a new key may drop signed items that damage has destroyed, and items that a writer signed but nobody can
  /// open. Otherwise such an item prevents the change.
  package var dropsUnproved: Bool
  /// Items that a new key drops, with their history and without a tombstone.
  package var drops: Set<Token>

  /// Whether the group gets a new key if this changes anything in an intact file.
  var mayOnlyRotate: Bool { grants.isEmpty && !lowers && publishes == nil }
  /// Whether the entries of `reissue` may only read from now on, also those that have its issue. Nobody leaves.
  package var lowers: Bool { reissuedRights == .read }

  package init(
    grants: [Grant] = [], reissue: (application: String, issue: UInt32)? = nil, rotates: Bool = false,
    publishes: Bool? = nil, above: Numbers = Numbers(), dropsUnproved: Bool = false, drops: Set<Token> = [],
    revokes: @escaping @Sendable (Member) -> Bool = { _ in false }
  ) {
    (self.grants, self.reissue, self.rotates, self.publishes) = (grants, reissue, rotates, publishes)
    (self.above, self.dropsUnproved, self.drops, self.revokes) = (above, dropsUnproved, drops, revokes)
  }
}

/// The roster that results from a change; wraps and key are made later.
struct RosterPlan {
  /// The members after the change, in no order; new entries have no slot and wrap yet.
  private(set) var members: [Member]
  /// Members that need a wrap although the key does not change.
  private(set) var joining: [Member] = []
  private(set) var leaving: [Member] = []
  let rotates: Bool
  let isChange: Bool

  /// - Throws: `overLimit`; `rolledBack` for an issue that was replaced.
  init(_ change: RosterChange, on roster: Roster, _ authority: any RosterAuthority) throws(VaultError) {
    var change = change
    if let reissue = change.reissue {
      let reissued = roster.members.filter {
        $0.application == reissue.application && ($0.issue != reissue.issue || change.lowers) && !change.staysOut($0)
      }
      change.grants += reissued.map {
        .init(application: $0.application, issue: reissue.issue, rights: change.reissuedRights ?? $0.rights)
      }
    }
    let issues = roster.issues
    for grant in change.grants {
      guard let known = issues[grant.application], known > grant.issue else { continue }
      throw .rolledBack(found: UInt64(grant.issue), known: UInt64(known), reason: .olderIssue)
    }
    var staying: [Member] = []
    for member in roster.members {
      let isReplaced = change.grants.contains { $0.application == member.application && $0.issue != member.issue }
      if member.kind == .application, isReplaced || change.revokes(member) || change.staysOut(member) {
        leaving.append(member)
      } else {
        staying.append(member)
      }
    }
    var changesRights = false
    for grant in change.grants {
      if let place = staying.firstIndex(where: { $0.kind == .application && $0.application == grant.application }) {
        changesRights = changesRights || staying[place].rights != grant.rights
        staying[place].rights = grant.rights
      } else {
        let seed = try sealing(authority.seed(application: grant.application, issue: grant.issue))
        joining.append(
          Member(
            kind: .application, rights: grant.rights, issue: grant.issue, application: grant.application,
            signingKey: try sealing(seed.signingPublicKey), slotID: [UInt8](repeating: 0, count: 16),
            wrapDigest: .zero))
      }
    }
    members = staying + joining
    guard members.count <= GroupLimits.memberCount else { throw .overLimit("\(GroupLimits.memberCount) members") }
    let isPublished = roster.flags.version == .published
    let changesOrder = change.publishes.map { $0 != isPublished } ?? false
    rotates = change.rotates || !leaving.isEmpty || !change.drops.isEmpty || changesOrder && !isPublished
    isChange =
      rotates || changesRights || changesOrder || !joining.isEmpty || change.above != RosterChange.Numbers()
  }
}

extension Roster {
  /// The highest issue of each application that the roster names, as a member or as removed.
  package var issues: [String: UInt32] {
    let members = members.lazy.filter { $0.kind == .application }.map { ($0.application, $0.issue) }
    return Dictionary(members + removed.map { ($0.application, $0.issue) }, uniquingKeysWith: max)
  }

  /// The highest issue of each application that is named as removed only.
  package var removals: [String: UInt32] {
    let members = Set(members.map(\.application))
    return issues.filter { !members.contains($0.key) }
  }

  /// Drops entries about removed members as far as the limits require, so that these never prevent a removal.
  ///
  /// A value that a removed member could read is exposed to those removed later, too. So the entries of the oldest
  /// removals are dropped first, and those of the newest one never: every value stays exposed, and only a reader is no
  /// longer named. Entries from which a replaced credential is recognized stay longer (format article, "Writing").
  mutating func dropRemoved() {
    var surplus = max(removed.count - GroupLimits.removedCount, 0)
    var excess = body().count - SignedRoster.bodyByteCount
    guard surplus > 0 || excess > 0 else { return }
    let current = Dictionary(members.map { ($0.application, $0.issue) }, uniquingKeysWith: max)
    let highest = issues
    let newest = removed.map(\.epoch).max()
    let byWeight = removed.indices.map { index in
      let entry = removed[index]
      let next = index + 1 < removed.count ? removed[index + 1] : nil
      let isRepeated = next?.application == entry.application && next?.issue == entry.issue
      let isKnownOtherwise = highest[entry.application] != entry.issue || current[entry.application] == entry.issue
      let weight = isRepeated ? 0 : entry.epoch == newest ? 3 : isKnownOtherwise ? 1 : 2
      return (weight: weight, epoch: entry.epoch, index: index)
    }.sorted { ($0.weight, $0.epoch, $0.index) < ($1.weight, $1.epoch, $1.index) }
    var dropped = Set<Int>()
    for (_, _, index) in byWeight where surplus > 0 || excess > 0 {
      dropped.insert(index)
      surplus -= 1
      excess -= removed[index].byteCount
    }
    removed = removed.indices.filter { !dropped.contains($0) }.map { removed[$0] }
  }
}

/// The owner's powers, which no member has: signing rosters, and deriving every application's seed in order to wrap a
/// group's key for it.
package protocol RosterAuthority: Sendable {
  /// - Throws: `damaged` at the level of the slot if the root seed is another owner's; `storage`.
  func rosterSigningKey() throws(VaultError) -> SigningKey

  func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed
}
