import Sealing
import TestSupport

@testable import GroupFile

extension GroupDraft {
  /// The applications of the base group: one may write, one may only read.
  static func writerSeed() throws -> MemberSeed {
    try MemberSeed(VectorSeeds.application("com.example.writer", issue: 1))
  }

  static func readerSeed() throws -> MemberSeed {
    try MemberSeed(VectorSeeds.application("com.example.reader", issue: 3))
  }

  /// The group that the vectors change: forty items with Unicode names, every kind of value, a history, a blob, a removed and a
  /// destroyed item, three members and one former member.
  static func base(deviceKey: consuming Key? = nil) throws -> GroupDraft {
    let device = deviceKey
    let isBound =
      switch device {
      case .some: true
      case .none: false
      }
    let keys = try VectorSeeds.keys(deviceKey: device)
    let members: [(Member.Kind, MemberRights, UInt32, String, MemberSeed)] = [
      (.owner, .write, 0, "", try MemberSeed(VectorSeeds.personal())),
      (.application, .write, 1, "com.example.writer", try writerSeed()),
      (.application, .read, 3, "com.example.reader", try readerSeed()),
    ]
    var wraps: [[UInt8]: [UInt8]] = [:]
    var entries: [Member] = []
    for (kind, rights, issue, application, seed) in members {
      let slotID = seed.slotID(group: VectorSeeds.groupID, generation: 1)
      let wrap = try Wrap.seal(
        keys.groupKey, for: seed, groupID: VectorSeeds.groupID, generation: 1,
        nonce: VectorSeeds.nonce("wrap \(application)"))
      wraps[slotID] = wrap
      entries.append(
        Member(
          kind: kind, rights: rights, issue: issue, application: application, signingKey: try seed.signingPublicKey,
          slotID: slotID, wrapDigest: Wrap.digest(wrap, slotID: slotID)))
    }
    let roster = Roster(
      groupID: VectorSeeds.groupID, ownerKey: try VectorSeeds.owner().publicKey, revision: 2, generation: 1,
      keyCommitment: keys.commitment, previous: VectorSeeds.bytes("first roster"), firstEpoch: 2,
      flags: isBound ? .thisDeviceOnly : [],
      deviceKeyID: isBound ? [UInt8](countingFrom: 1, count: 16) : [UInt8](repeating: 0, count: 16), keep: 3,
      groupName: VectorSeeds.groupName, members: entries.sorted { $0.signingKey < $1.signingKey },
      removed: [
        RemovedMember(issue: 1, application: "com.example.old", lastGeneration: 1, epoch: 2)
      ])
    let rests: [(epoch: UInt64, rest: Digest)] = [(1, VectorSeeds.bytes("rest 1")), (2, VectorSeeds.bytes("rest 2"))]
    return GroupDraft(
      keys: keys, items: baseItems(keys), roster: roster, wraps: wraps, chain: rests,
      previousLink: rests.reduce(Digest.zero) { Manifest.link(after: $0, rest: $1.rest) })
  }

  private static func baseItems(_ keys: GroupKeys) -> [String: [RowDraft]] {
    var items: [String: [RowDraft]] = [:]
    for number in 0..<31 {
      let name = "item/\(number)"
      items[name] = [RowDraft(attributes(name, kind: 2), Array("value of \(name)".utf8), keys: keys)]
    }
    for (name, kind, value) in [
      ("kind/bytes", 1, [0, 1, 2, 255]), ("kind/bool", 3, Array("true".utf8)), ("kind/int", 4, Array("-42".utf8)),
      ("kind/double", 5, Array("0.1".utf8)), ("schlüssel/größe", 2, Array("Ä".utf8)), ("鍵/🔑", 2, []),
    ] as [(String, UInt8, [UInt8])] {
      items[name] = [RowDraft(attributes(name, kind: kind), value, keys: keys)]
    }
    // Created just now, with a field whose length needs more than the short form.
    items["kind/bytes"]![0].attributes.changed = VectorSeeds.time
    items["kind/bytes"]![0].attributes.label = String(repeating: "label ", count: 50)
    var full = attributes("full", kind: 6)
    full.label = "Alles"
    full.pairs = ["host": "example.com", "user": "anna", "ä": "ö"]
    full.expires = VectorSeeds.time + 1_000
    full.typeName = "Example"
    full.writer = Writer(kind: .application, issue: 1, application: "com.example.writer")
    items["full"] = [RowDraft(full, Array("all attributes".utf8), keys: keys)]
    items["history"] = (2...4 as ClosedRange<UInt64>).map { version in
      var draft = RowDraft(attributes("history", kind: 2), Array("version \(version)".utf8), keys: keys)
      draft.version = version
      draft.oldest = version == 4 ? 2 : 1
      // The value that the oldest kept version replaced is not kept.
      draft.previous = VectorSeeds.bytes("version 1")
      return draft
    }
    let large = [UInt8](countingFrom: 0, count: 1_000)
    items["large"] = [RowDraft(attributes("large", kind: 1), large, keys: keys)]
    items["removed"] = [
      RowDraft(attributes("removed", kind: 2), Array("was here".utf8), keys: keys),
      tombstone("removed", keys, version: 2, oldest: 1),
    ]
    items["destroyed"] = [tombstone("destroyed", keys, version: 5, oldest: 5)]
    return items
  }

  private static func tombstone(_ name: String, _ keys: GroupKeys, version: UInt64, oldest: UInt64) -> RowDraft {
    var draft = RowDraft(attributes(name, kind: 0), nil, keys: keys)
    draft.version = version
    draft.oldest = oldest
    return draft
  }

  static func attributes(_ name: String, kind: UInt8) -> Attributes {
    Attributes(
      name: name, created: VectorSeeds.time, changed: VectorSeeds.time + 3, valueKind: kind, valueEpoch: 3)
  }

  /// The content of all tables.
  func rows() throws -> [SQLRow] {
    try signed().statements()
      + wraps.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map {
        SQLRow("wrap", keys: 1, [.blob($0.key), .blob($0.value)])
      }
  }
}
