package import Sealing

/// What the owner wants to be different about a group's members and its key.
package struct RosterChange: Sendable {
  /// An application's new rights. An entry of it with another issue leaves; the same with other rights changes.
  package struct Grant: Sendable, Equatable {
    package var application: String
    package var issue: UInt32
    package var rights: MemberRights

    package init(application: String, issue: UInt32, rights: MemberRights) {
      self.application = application
      self.issue = issue
      self.rights = rights
    }
  }

  /// The numbers that the new roster must be above, besides those of the file.
  package struct Numbers: Sendable, Equatable {
    package var revision: UInt64
    package var generation: UInt64
    package var epoch: UInt64

    package init(revision: UInt64 = 0, generation: UInt64 = 0, epoch: UInt64 = 0) {
      self.revision = revision
      self.generation = generation
      self.epoch = epoch
    }
  }

  package var grants: [Grant]
  /// An application whose entries get another issue, with the rights that they have; where it has none, nothing changes.
  package var reissue: (application: String, issue: UInt32)?
  /// Asked while nobody else can write: whether the change is still to be made.
  package var isStillWanted: @Sendable () -> Bool = { true }
  /// Says which applications leave.
  package var revokes: @Sendable (Member) -> Bool
  /// Whether the group gets a new key; it does in any case when somebody leaves.
  package var rotates: Bool
  package var above: Numbers
  /// Whether a new key leaves behind what the signed root names and damage has taken, or what a writer signed and nobody can
  /// open; otherwise such an item keeps the change from being made.
  package var dropsUnproved = false
  /// Items that are left behind by a new key, with their history and without a tombstone.
  package var drops: Set<Token> = []

  package init(
    grants: [Grant] = [], reissue: (application: String, issue: UInt32)? = nil, rotates: Bool = false,
    above: Numbers = Numbers(),
    revokes: @escaping @Sendable (Member) -> Bool = { _ in false }
  ) {
    self.grants = grants
    self.reissue = reissue
    self.rotates = rotates
    self.above = above
    self.revokes = revokes
  }
}

/// The roster that a change comes to; wraps and key are still to be made.
struct RosterPlan {
  /// Who is in the group afterwards, in no order; new entries lack slot and wrap.
  private(set) var members: [Member]
  /// Entries for whom a wrap must be made although the key stays.
  private(set) var joining: [Member] = []
  private(set) var leaving: [Member] = []
  let rotates: Bool
  /// Whether anything is different afterwards.
  let isChange: Bool

  /// - Throws: `overLimit`; `rolledBack` for an issue that was replaced.
  init(_ change: RosterChange, on roster: Roster, _ authority: any RosterAuthority) throws(GroupFileError) {
    var change = change
    if let reissue = change.reissue {
      change.grants += roster.members.filter { $0.application == reissue.application && $0.issue != reissue.issue }
        .map { RosterChange.Grant(application: $0.application, issue: reissue.issue, rights: $0.rights) }
    }
    let issues = roster.issues
    for grant in change.grants {
      guard let known = issues[grant.application], known > grant.issue else { continue }
      throw .rolledBack(found: UInt64(grant.issue), known: UInt64(known), .olderIssue)
    }
    var staying: [Member] = []
    for member in roster.members {
      let isReplaced = change.grants.contains { $0.application == member.application && $0.issue != member.issue }
      if member.kind == .application, isReplaced || change.revokes(member) {
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
        joining.append(try RosterPlan.member(grant, authority))
      }
    }
    members = staying + joining
    guard members.count <= GroupLimits.memberCount else { throw .overLimit("\(GroupLimits.memberCount) members") }
    guard roster.removed.count + leaving.count <= GroupLimits.removedCount else {
      throw .overLimit("\(GroupLimits.removedCount) removed members")
    }
    rotates = change.rotates || !leaving.isEmpty || !change.drops.isEmpty
    isChange = rotates || changesRights || !joining.isEmpty || change.above != RosterChange.Numbers()
  }

  private static func member(
    _ grant: RosterChange.Grant, _ authority: any RosterAuthority
  ) throws(GroupFileError) -> Member {
    do {
      let seed = try authority.seed(application: grant.application, issue: grant.issue)
      return Member(
        kind: .application, rights: grant.rights, issue: grant.issue, application: grant.application,
        signingKey: seed.signingPublicKey, slotID: [UInt8](repeating: 0, count: 16), wrapDigest: .zero)
    } catch {
      throw GroupFileError(error)
    }
  }
}

extension Roster {
  /// The highest issue of each application that it names, as a member or as removed.
  package var issues: [String: UInt32] {
    let members = members.lazy.filter { $0.kind == .application }.map { ($0.application, $0.issue) }
    return Dictionary(members + removed.map { ($0.application, $0.issue) }, uniquingKeysWith: max)
  }
}

/// What a change of a group's roster came to.
package struct ChangedRoster: Sendable {
  /// The new state; the present one if there was nothing to change.
  package let state: VerifiedState
  package let left: LeftBehind
}

/// What the last signed root of a group does not prove, and a new key therefore left behind.
package struct LeftBehind: Sendable, Equatable {
  /// Rows of each table that nothing signed names; anybody who can write the file can add them.
  package internal(set) var rows: UInt64 = 0
  package internal(set) var versions: UInt64 = 0
  package internal(set) var blobs: UInt64 = 0
  package internal(set) var nodes: UInt64 = 0
  package internal(set) var wraps: UInt64 = 0
  package internal(set) var links: UInt64 = 0
  /// The names of rows that open although nobody signed them, a thousand at most; sorted.
  package internal(set) var unproved: [String] = []
  /// Signed items that cannot be proved any more.
  package internal(set) var lost: UInt64 = 0
  /// Their names, as far as they can be known; sorted.
  package internal(set) var lostNames: [String] = []
  /// Signed older versions that cannot be proved any more, of items that were taken along.
  package internal(set) var lostVersions: UInt64 = 0
  /// Whether the history of the group's states was lost: machines that have not seen its last one must accept it.
  package internal(set) var losesChain = false
  /// Whether the file was too damaged to be changed where it lies: a new one took its place, and the old one was kept.
  package internal(set) var isReplaced = false

  static let namedCount = 1_000

  /// Rows that nobody signed, of all tables.
  package var unsigned: UInt64 { rows + versions + blobs + nodes + wraps + links }

  /// Counts what a second step left behind, besides that of a first one.
  mutating func add(_ other: LeftBehind) {
    rows += other.rows
    versions += other.versions
    blobs += other.blobs
    nodes += other.nodes
    wraps += other.wraps
    links += other.links
    unproved += other.unproved
    losesChain = losesChain || other.losesChain
  }

  package var isNothing: Bool { self == LeftBehind() }
}

/// What the owner can do and no member: sign rosters, and derive every application's seed, so that a group's key can be
/// wrapped for it.
package protocol RosterAuthority: Sendable {
  /// The key that signs rosters.
  func rosterSigningKey() -> SigningKey

  /// An application as a member.
  ///
  /// - Throws: `outOfMemory`.
  func seed(application: String, issue: UInt32) throws(SealingError) -> MemberSeed
}
