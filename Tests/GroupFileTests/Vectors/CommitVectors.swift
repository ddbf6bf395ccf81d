import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// `commit.json`: a published group as SQL, and commits that follow its state or must be refused.
struct CommitVectors: Codable, Equatable {
  struct Request: Codable, Equatable {
    var id: String
    var mark: String
  }

  struct Case: Codable, Equatable {
    var name: String
    /// They are applied in their order. A refusal is about the last one.
    var commits: [String]
    /// Absent for the owner.
    var reader: String?
    /// The state after the commits.
    var epoch: UInt64?
    var link: String?
    var itemCount: UInt64?
    var versionRowCount: UInt64?
    /// Whether the last commit changes nothing, because its state is known.
    var isKnown: Bool?
    /// The number of the check in the article.
    var refusal: Refusal?
  }

  var about = """
    The statements of `base` make the file of a published group. Each case applies commits to a fresh copy of it. The readers \
    are those of group.json.
    """
  var groupID: String
  var base: [String]
  var requests: [Request]
  var cases: [Case]

  static func generate() throws -> CommitVectors {
    let base = try CommitDraft.published()
    return CommitVectors(
      groupID: VectorSeeds.groupID.bytes.hex, base: try GroupVectors.statements(of: base),
      requests: CommitDraft.requests.map {
        Request(id: $0.description, mark: ByteWriter.bytes($0.mark(in: VectorSeeds.groupID)).hex)
      },
      cases: try CommitCases().all())
  }
}

extension ByteWriter {
  fileprivate static func bytes(_ number: UInt64) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(number)
    return writer.bytes
  }
}

extension GroupCommit.SealedRow {
  fileprivate func with(blob: [UInt8]?) -> Self { Self(row: row, blob: blob) }
}

/// What goes with a roster without being signed in it.
private struct RosterBytes {
  var header: [UInt8]
  var wraps: [[UInt8]]
}

/// What is in `commit.json`.
struct CommitCases {
  typealias Case = CommitVectors.Case

  private let first: CommitDraft
  private let second: CommitDraft
  private let third: CommitDraft
  private let renewed: CommitDraft

  init() throws {
    var draft = try CommitDraft(after: CommitDraft.published())
    draft.put("item/1", Array("for a request".utf8), mark: CommitDraft.mark)
    draft.put("fresh", [UInt8](countingFrom: 0, count: 900))
    draft.put("item/4", Array("one".utf8))
    draft.put("item/4", Array("two".utf8))
    first = draft
    draft = try CommitDraft(after: first.group)
    draft.put("item/2", nil)
    draft.destroy("item/3")
    draft.put("item/1", Array("by the application".utf8))
    draft.alter { $0.writer = { try GroupDraft.writerSeed() } }
    second = draft
    draft = try CommitDraft(after: second.group)
    try draft.changeRoster { $0.members.removeAll { $0.rights == .read } }
    third = draft
    draft = try CommitDraft(after: first.group)
    draft.destroy("item/1")
    draft.put("item/1", Array("for the request again".utf8), mark: CommitDraft.mark)
    renewed = draft
  }

  func all() throws -> [Case] {
    let commits = try [first, second, third].map { try $0.commit() }
    func known(_ name: String, _ commits: [[UInt8]], _ draft: CommitDraft, isKnown: Bool? = nil) throws -> Case {
      let manifest = try draft.group.signed().manifest
      return Case(
        name: name, commits: commits.map(\.hex), epoch: manifest.epoch, link: manifest.link().bytes.hex,
        itemCount: manifest.itemCount, versionRowCount: manifest.versionRowCount, isKnown: isKnown)
    }
    func refused(_ name: String, _ refusal: Refusal, _ commits: [UInt8]..., reader: String? = nil) -> Case {
      Case(name: name, commits: commits.map(\.hex), reader: reader, refusal: refusal)
    }
    func damaged(_ name: String, _ check: Int, _ commits: [UInt8]...) -> Case {
      Case(name: name, commits: commits.map(\.hex), refusal: .damaged(check, "commit"))
    }
    /// The first commit, made wrongly.
    func changed(_ change: (inout CommitDraft) throws -> Void) throws -> [UInt8] {
      var draft = first
      try change(&draft)
      return try draft.commit()
    }
    func commit(after before: GroupDraft, _ change: (inout CommitDraft) throws -> Void) throws -> [UInt8] {
      var draft = try CommitDraft(after: before)
      try change(&draft)
      return try draft.commit()
    }
    func renewedRoster(
      changing change: @escaping (inout RosterBytes) -> Void = { _ in },
      signing sign: @escaping (inout Manifest) -> Void = { _ in }, _ alter: (inout Roster) -> Void
    ) throws -> [UInt8] {
      try commit(after: first.group) { draft in
        try draft.changeRoster(alter)
        draft.alter { $0.changeManifest = sign }
        draft.change = { parts in
          parts.roster = parts.roster.map { part in
            var bytes = RosterBytes(header: part.header, wraps: part.wraps)
            change(&bytes)
            return GroupCommit.RosterPart(header: bytes.header, roster: part.roster, wraps: bytes.wraps)
          }
        }
      }
    }
    var shortened = try CommitDraft(after: first.group)
    shortened.destroy("item/1")
    let application = try #require(first.group.roster.members.firstIndex { $0.kind == .application })
    let fork = try commit(after: CommitDraft.published()) { $0.put("item/9", [9]) }
    var flipped = commits[0]
    flipped[300] ^= 1
    return [
      try known("a commit with values in rows, in a blob, and two versions of one item", [commits[0]], first),
      try known("commits of the owner and of an application, and one with a new roster", commits, third),
      try known("a commit that the host has already", [commits[0], commits[0]], first, isKnown: true),
      try known("a commit from before the host's state", [commits[0], commits[1], commits[0]], second, isKnown: true),
      try known(
        "a request that is answered again, after the same commit has ended the item's history",
        [commits[0], renewed.commit()], renewed),
      damaged("a torn commit", 1, Array(commits[0].dropLast(40))),
      damaged("a commit without its last byte", 1, Array(commits[0].dropLast())),
      damaged("a commit with a byte too many", 1, commits[0] + [0]),
      damaged("a commit with an altered bit", 1, flipped),
      damaged("no commit at all", 1, []),
      refused(
        "a commit of another group", Refusal(2, "another-group"), try changed { $0.change = { $0.groupID = .zero } }),
      refused("another commit for the epoch of the host's state", Refusal(3, "rolled-back"), commits[0], fork),
      refused("the second commit before the first one", Refusal(4, "does-not-follow"), commits[1]),
      refused("the third commit after the first one", Refusal(4, "does-not-follow"), commits[0], commits[2]),
      refused("a commit that follows another base", Refusal(4, "does-not-follow"), fork, commits[1]),
      damaged(
        "a roster that another key signed", 5, commits[0],
        try commit(after: first.group) { draft in
          try draft.changeRoster { $0.keep = 2 }
          draft.alter { $0.rosterSigner = { try SigningKey(seed: VectorSeeds.groupKey()) } }
        }),
      damaged(
        "a roster with a wrap too few", 5, commits[0],
        try commit(after: first.group) { draft in
          try draft.changeRoster { $0.keep = 2 }
          draft.change = { parts in
            parts.roster = parts.roster.map {
              GroupCommit.RosterPart(header: $0.header, roster: $0.roster, wraps: $0.wraps.dropLast())
            }
          }
        }),
      damaged("a roster of the same revision", 5, commits[0], try renewedRoster { $0.revision -= 1 }),
      damaged("a roster of another generation", 5, commits[0], try renewedRoster { $0.generation += 1 }),
      damaged(
        "a roster that follows another one", 5, commits[0],
        try renewedRoster { $0.previous = VectorSeeds.bytes("another roster") }),
      damaged("a roster whose first epoch is an earlier one", 5, commits[0], try renewedRoster { $0.firstEpoch -= 1 }),
      damaged(
        "a roster with another header", 5, commits[0],
        try renewedRoster(changing: { $0.header[43] ^= 1 }) { $0.keep = 2 }),
      damaged(
        "a roster with another wrap for another member", 5, commits[0],
        try renewedRoster(changing: { $0.wraps[application][9] ^= 1 }) { $0.keep = 2 }),
      damaged(
        "a roster of another group", 5, commits[0],
        try renewedRoster(signing: { $0.groupID = .zero }) { $0.groupID = .zero }),
      refused(
        "a roster without the reader", Refusal(5, "not-a-member"), commits[0], commits[1], commits[2], reader: "reader"),
      damaged(
        "a manifest of a member who may only read", 6,
        try changed { $0.alter { $0.writer = { try GroupDraft.readerSeed() } } }),
      damaged(
        "a manifest with a wrong signature", 6,
        try changed { $0.alter { $0.changeManifestContent = { $0.dropLast() + [($0.last ?? 0) ^ 1] } } }),
      damaged(
        "another link than its manifest's", 6,
        try changed { $0.change = { $0.link = VectorSeeds.bytes("another link") } }),
      damaged(
        "a manifest that follows another state", 6,
        try changed { draft in
          let before = draft.group.previousLink
          draft.alter { $0.changeManifest = { $0.previousLink = VectorSeeds.bytes("another state") } }
          draft.change = { $0.previousLink = before }
        }),
      damaged(
        "a manifest of another write version than its roster's", 6,
        try changed { $0.alter { $0.changeManifest = { $0.version = .unpublished } } }),
      damaged("a row left out", 8, try changed { $0.change = { $0.rows.removeLast() } }),
      damaged("rows in another order", 7, try changed { $0.change = { $0.rows.swapAt(2, 3) } }),
      damaged(
        "a row that skips a version", 7, commits[0],
        try commit(after: first.group) { $0.put("item/5", [5]) { $0.version = 3 } }),
      damaged(
        "a blob of another row", 7,
        try changed { $0.change = { $0.rows[1] = $0.rows[1].with(blob: [UInt8](repeating: 0, count: 976)) } }),
      damaged("a blob left out", 7, try changed { $0.change = { $0.rows[1] = $0.rows[1].with(blob: nil) } }),
      damaged(
        "a second version for one request", 7, commits[0],
        try commit(after: first.group) { $0.put("item/1", Array("again".utf8), mark: CommitDraft.mark) }),
      damaged(
        "a row whose oldest version falls", 7, commits[0], try shortened.commit(),
        try commit(after: shortened.group) { draft in
          let version = draft.group.items["item/1"]?.last?.version ?? 0
          draft.put("item/1", [1]) { $0.oldest = 1 }
          draft.alter { $0.changeManifest = { $0.versionRowCount += version - 1 } }
        }),
      damaged(
        "another number of older versions", 8,
        try changed { $0.alter { $0.changeManifest = { $0.versionRowCount += 1 } } }),
      damaged("another number of items", 8, try changed { $0.alter { $0.changeManifest = { $0.itemCount += 1 } } }),
      damaged(
        "another root", 8,
        try changed { $0.alter { $0.changeManifest = { $0.root = VectorSeeds.bytes("another root") } } }),
    ]
  }
}

@Suite struct CommitVectorTests {
  private let file = VectorFile<CommitVectors>("commit")

  @Test func `the vectors of commits match their generator`() throws {
    #expect(try file.holds(CommitVectors.generate()))
  }

  @Test func `each commit is taken or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.cases.contains { $0.refusal != nil })
    let base = try VectorFolder(
      GroupVectors(
        groupName: VectorSeeds.groupName, ownerKey: VectorSeeds.owner().publicKey.bytes.hex,
        readers: GroupVectors.readers(), base: vectors.base, answers: [], cases: []))
    for vector in vectors.cases {
      let folder = VectorFolder(copying: base)
      defer { withExtendedLifetime(folder) {} }
      let group = try folder.open(GroupVectors.Case(name: "", ask: "open", reader: vector.reader, changes: []))
      let refusal = try take(vector, group)
      #expect(refusal?.outcome == vector.refusal?.outcome && refusal?.level == vector.refusal?.level, "\(vector.name)")
      guard let epoch = vector.epoch else { continue }
      let state = try group.beginReading().view.state
      #expect(state.manifest.epoch == epoch && state.link.bytes.hex == vector.link, "\(vector.name)")
      #expect(state.manifest.itemCount == vector.itemCount, "\(vector.name)")
      #expect(state.manifest.versionRowCount == vector.versionRowCount, "\(vector.name)")
      _ = try group.verify()
    }
  }

  /// - Returns: how the last commit was refused.
  private func take(_ vector: CommitVectors.Case, _ group: AccessGroupFile) throws -> Refusal? {
    for commit in vector.commits.dropLast() { _ = try group.apply(GroupCommit(parsing: [UInt8](hex: commit))) }
    let last = [UInt8](hex: vector.commits.last ?? "")
    var answer: VaultError?
    do throws(VaultError) { try group.confirm(GroupCommit(parsing: last)) } catch { answer = error }
    do throws(VaultError) {
      let isNew = try group.apply(GroupCommit(parsing: last))
      #expect(isNew == (vector.isKnown != true), "\(vector.name)")
      #expect(answer == (isNew ? nil : .unordered(.overtaken)), "\(vector.name)")
      return nil
    } catch {
      // Who asks before a commit is ordered only hears that another one was faster.
      if case .rolledBack = error { #expect(answer == .unordered(.overtaken)) } else { #expect(answer == error) }
      switch error {
      case .unordered(_, .overtaken): return Refusal(0, "does-not-follow")
      case .anotherGroup: return Refusal(0, "another-group")
      default: return Refusal(error)
      }
    }
  }

  @Test func `marks are made of group and request`() throws {
    for request in try file.load().requests {
      let mark = try #require(ChangeID(request.id)).mark(in: VectorSeeds.groupID)
      #expect(String(mark, radix: 16) == String(request.mark.drop { $0 == "0" }))
    }
  }
}
