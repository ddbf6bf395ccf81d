import Sealing
import TestSupport

@testable import GroupFile

/// `group.json`: the file of one group as SQL, its answers, and changes that must be refused.
struct GroupVectors: Codable, Equatable {
  /// A member who opens the group.
  struct Reader: Codable, Equatable {
    var name: String
    var memberSeed: String
    /// 0 the owner, 1 an application.
    var kind: UInt8
  }

  struct Answer: Codable, Equatable {
    var name: String
    var version: UInt64
    var state: UInt8
    var valueKind: UInt8
    var value: String?
    var label: String?
    var pairs: [String: String]
    var created: UInt64
    var changed: UInt64
    var expires: UInt64?
    var typeName: String?
    var valueEpoch: UInt64
    var writer: String
  }

  /// One change to the files. The changes apply in order, and each has exactly one of these fields.
  struct Change: Codable, Equatable {
    /// A statement.
    var sql: String?
    /// Bytes that replace those of `group.vault` from `offset`.
    var offset: Int?
    var hex: String?
    /// The number of bytes of `group.vault` that are kept.
    var truncate: Int?
    /// What replaces `path` in the group's folder: `file`, `folder`, `fifo`, `link` or `nothing`.
    var make: String?
    var path: String?

    static func sql(_ text: String) -> Change { Change(sql: text) }
    static func patch(_ offset: Int, _ hex: String) -> Change { Change(offset: offset, hex: hex) }
    static func make(_ kind: String, _ path: String) -> Change { Change(make: kind, path: path) }
  }

  /// A floor for the base group.
  struct FloorVector: Codable, Equatable {
    var groupID: String
    var rosterRevision: UInt64
    var generation: UInt64
    var epoch: UInt64
    var link: String
  }

  struct Case: Codable, Equatable {
    var name: String
    /// `open`, `get` (of `item`), `history` (of `item`), `list`, `verify`, or `write` (which only writers can try).
    var ask: String
    var item: String?
    /// The name of a reader. Absent for the owner.
    var reader: String?
    /// The name under which the group is opened, if it differs from the base's.
    var groupName: String?
    /// A record of 256 bytes. Absent if there is no witness. An invalid record means an invalid witness.
    var witness: String?
    /// The floor in the reader's credential, if there is one.
    var floor: FloorVector?
    var changes: [Change]
    /// Absent if the answer must be correct.
    var refusal: Refusal?
  }

  var about = """
    The statements of `base` make the file `group.vault`, whose folder holds nothing else. Each case changes a fresh copy of it \
    and asks one thing. Bytes are hexadecimal.
    """
  var groupName: String
  var ownerKey: String
  var readers: [Reader]
  var base: [String]
  var answers: [Answer]
  var cases: [Case]

  static func generate() throws -> GroupVectors {
    let draft = try GroupDraft.base()
    var answers: [Answer] = []
    for (_, versions) in draft.items.sorted(by: { $0.key < $1.key }) { answers += versions.map(Answer.init) }
    return GroupVectors(
      groupName: VectorSeeds.groupName, ownerKey: try VectorSeeds.owner().publicKey.bytes.hex, readers: try readers(),
      base: try statements(of: draft), answers: answers, cases: try GroupCases().all())
  }

  /// The statements that make the file of a group.
  static func statements(of draft: GroupDraft) throws -> [String] {
    [
      "PRAGMA page_size=4096", "PRAGMA encoding='UTF-8'", "PRAGMA auto_vacuum=NONE", "PRAGMA application_id=0x564C5431",
      "PRAGMA user_version=\(draft.userVersion)", "BEGIN",
    ] + Schema.entries.compactMap { $0.sql?.description } + (try draft.rows().map(\.insertion))
      + ["COMMIT", "PRAGMA journal_mode=WAL"]
  }

  static func readers() throws -> [Reader] {
    [
      Reader(name: "owner", memberSeed: try VectorSeeds.personal().testBytes.hex, kind: 0),
      Reader(name: "owner as an application", memberSeed: try VectorSeeds.personal().testBytes.hex, kind: 1),
      Reader(
        name: "reader", memberSeed: try VectorSeeds.application("com.example.reader", issue: 3).testBytes.hex, kind: 1
      ),
      Reader(
        name: "reader as the owner",
        memberSeed: try VectorSeeds.application("com.example.reader", issue: 3).testBytes.hex, kind: 0),
      Reader(
        name: "stranger", memberSeed: try VectorSeeds.application("com.example.other", issue: 1).testBytes.hex,
        kind: 1),
    ]
  }
}

extension GroupVectors.Answer {
  init(_ draft: RowDraft) {
    let attributes = draft.attributes
    self.init(
      name: attributes.name, version: draft.version, state: draft.value == nil ? 2 : 1,
      valueKind: attributes.valueKind, value: draft.value?.hex, label: attributes.label, pairs: attributes.pairs,
      created: attributes.created, changed: attributes.changed, expires: attributes.expires,
      typeName: attributes.typeName, valueEpoch: attributes.valueEpoch,
      writer: "\(attributes.writer.kind.rawValue) \(attributes.writer.issue) \(attributes.writer.application)")
  }

  /// The expected content of a version.
  init(_ item: StoredItem, _ value: OpenedSecret?) {
    let attributes = item.attributes
    self.init(
      name: attributes.name, version: item.row.version, state: item.row.state.rawValue,
      valueKind: attributes.valueKind, value: value?.bytesForVectors.hex, label: attributes.label,
      pairs: attributes.pairs, created: attributes.created, changed: attributes.changed, expires: attributes.expires,
      typeName: attributes.typeName, valueEpoch: attributes.valueEpoch,
      writer: "\(attributes.writer.kind.rawValue) \(attributes.writer.issue) \(attributes.writer.application)")
  }
}

extension OpenedSecret {
  fileprivate var bytesForVectors: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
