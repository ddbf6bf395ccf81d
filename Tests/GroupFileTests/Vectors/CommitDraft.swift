import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// States of the published group of the vectors, one after the other, and the commits between them.
struct CommitDraft {
  private(set) var group: GroupDraft
  /// Changes the commit after everything is signed.
  var change: (inout Parts) -> Void = { _ in }
  private var written: [(name: String, version: UInt64)] = []
  private var changesRoster = false

  /// What a commit consists of.
  struct Parts {
    var groupID = VectorSeeds.groupID
    var previousLink: Digest
    var link: Digest
    var manifest: [UInt8]
    var roster: GroupCommit.RosterPart?
    var rows: [GroupCommit.SealedRow]
  }

  static let requests = ["0123456789abcdef0123456789abcdef", "deploy-7"].compactMap { ChangeID($0) }
  /// The mark of the first of them.
  static var mark: UInt64 { requests[0].mark(in: VectorSeeds.groupID) }

  init(after group: GroupDraft) throws {
    let before = try group.signed()
    self.group = group
    self.group.chain = before.chain
    self.group.previousLink = before.manifest.link()
    self.group.epoch += 1
    self.group.writer = { try MemberSeed(VectorSeeds.personal()) }
    self.group.changeManifest = { _ in }
    self.group.changeManifestContent = { $0 }
  }

  /// The base group, published.
  static func published() throws -> GroupDraft {
    var draft = try GroupDraft.base()
    draft.roster.flags = draft.roster.flags.with(.published)
    draft.userVersion = "0x00010002"
    return draft
  }

  /// Writes a new version of an item.
  mutating func put(
    _ name: String, _ value: [UInt8]?, mark: UInt64? = nil, _ change: (inout RowDraft) -> Void = { _ in }
  ) {
    var attributes = GroupDraft.attributes(name, kind: value == nil ? 0 : 1)
    attributes.changed = VectorSeeds.time + group.epoch
    attributes.valueEpoch = group.epoch
    var draft = RowDraft(attributes, value, keys: group.keys)
    let old = group.items[name]?.last
    draft.version = (old?.version ?? 0) + 1
    draft.oldest = old?.oldest ?? 1
    draft.mark = mark
    change(&draft)
    group.items[name, default: []].append(draft)
    written.append((name, draft.version))
  }

  /// Ends the history of an item.
  mutating func destroy(_ name: String) {
    put(name, nil) { draft in draft.oldest = draft.version }
    group.items[name] = group.items[name]?.suffix(1)
  }

  /// Makes changes that no call of this type makes.
  mutating func alter(_ change: (inout GroupDraft) throws -> Void) rethrows { try change(&group) }

  /// Has the owner sign a new roster.
  mutating func changeRoster(_ change: (inout Roster) -> Void) throws {
    group.roster.previous = try group.signed().rosterDigest
    group.roster.revision += 1
    group.roster.firstEpoch = group.epoch
    change(&group.roster)
    let slots = Set(group.roster.members.map(\.slotID))
    group.wraps = group.wraps.filter { slots.contains($0.key) }
    changesRoster = true
  }

  func commit() throws -> [UInt8] {
    let signed = try group.signed()
    let all = signed.rows + signed.older
    var parts = Parts(
      previousLink: signed.manifest.previousLink, link: signed.manifest.link(), manifest: signed.storedManifest,
      rows: try written.map { name, version in
        let steps = try #require(all.first { $0.token == group.keys.token(of: name) && $0.row.version == version })
        return GroupCommit.SealedRow(row: steps.row.encoded, blob: steps.blob)
      })
    if changesRoster {
      parts.roster = GroupCommit.RosterPart(
        header: signed.header, roster: signed.storedRoster,
        wraps: try group.roster.members.map { try #require(group.wraps[$0.slotID]) })
    }
    change(&parts)
    return GroupCommit(
      groupID: parts.groupID, epoch: signed.manifest.epoch, previousLink: parts.previousLink, link: parts.link,
      manifest: parts.manifest, roster: parts.roster, rows: parts.rows
    ).serialized()
  }
}
