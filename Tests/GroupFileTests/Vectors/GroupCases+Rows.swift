import Sealing
import TestSupport

@testable import GroupFile

extension GroupCases {
  // MARK: Witness

  func witnessCases() throws -> [Case] {
    let link = Manifest.link(after: signed.manifest.previousLink, rest: signed.manifest.rest())
    let known = WitnessRecord(
      sequence: 5, groupID: VectorSeeds.groupID, ownerKey: base.roster.ownerKey, rosterRevision: 2, generation: 1,
      epoch: 3, link: link, rosterDigest: signed.rosterDigest)
    func record(_ change: (inout WitnessRecord) -> Void) -> String {
      var record = known
      change(&record)
      return record.serialized().hex
    }
    let older = record {
      $0.epoch = 2
      $0.link = signed.manifest.previousLink
    }
    let rolledBack = { (reason: Int) in Refusal(reason, "rolled-back") }
    return [
      plain("no file, and a witness", rolledBack(1), witness: record { _ in }, .make("nothing", "group.vault")),
      plain("no file, and an invalid witness", .damaged(43, "witness"), witness: "00", .make("nothing", "group.vault")),
      plain("the witnessed state", nil, witness: record { _ in }),
      plain("a state that descends from the witnessed one", nil, witness: older),
      plain("an invalid witness, for a reader", nil, witness: "00"),
      plain("an invalid witness, for a complete proof", .damaged(43, "witness"), ask: "verify", witness: "00"),
      plain("an invalid witness, for a writer", .damaged(43, "witness"), ask: "write", witness: "00"),
      plain(
        "a witness of another owner", .damaged(44, "witness"),
        witness: record {
          $0.ownerKey = .zero
          $0.epoch = 2
        }),
      plain(
        "a witness of another group", .damaged(45, "witness"),
        witness: record {
          $0.groupID = .zero
          $0.epoch = 2
        }),
      plain("a group that was removed", rolledBack(46), witness: record { $0.flags = .removed }),
      plain(
        "an older roster", rolledBack(47),
        witness: record {
          $0.rosterRevision = 3
          $0.epoch = 2
        }),
      plain(
        "an older generation", rolledBack(48),
        witness: record {
          $0.generation = 2
          $0.epoch = 2
        }),
      plain("an older epoch", rolledBack(49), witness: record { $0.epoch = 4 }),
      plain(
        "another roster of the same revision", rolledBack(50),
        witness: record { $0.rosterDigest = VectorSeeds.bytes("roster") }),
      plain("another state of the same epoch", rolledBack(51), witness: record { $0.link = .zero }),
      plain(
        "a state that does not descend from the witnessed one", rolledBack(52),
        witness: record {
          $0.epoch = 2
          $0.link = VectorSeeds.bytes("fork")
        }),
      plain(
        "a link of the chain is missing", rolledBack(52),
        witness: record {
          $0.epoch = 1
          $0.link = Manifest.link(after: .zero, rest: base.chain[0].rest)
        }, .sql("DELETE FROM chain WHERE epoch=2")),
      try forged("a fork 4,096 epochs ahead", rolledBack(52), witness: older) {
        $0.epoch = 4_098
        $0.previousLink = VectorSeeds.bytes("fork")
        $0.chain = []
      },
      try forged("a gap of 4,097 epochs, which is accepted with a warning", nil, witness: older) {
        $0.epoch = 4_099
        $0.previousLink = VectorSeeds.bytes("fork")
        $0.chain = []
      },
      plain(
        "4,097 links above the witnessed one", .damaged(53, "chain").or(Refusal(52, "rolled-back")), witness: older,
        .sql(
          "WITH RECURSIVE n(e) AS (VALUES(4) UNION ALL SELECT e+1 FROM n WHERE e<4099) INSERT INTO chain SELECT e,zeroblob(32) FROM n"
        )),
    ]
  }

  // MARK: The path

  private func row(_ name: String) -> RowDraft.Steps { signed.rows.first { $0.token == base.keys.token(of: name) }! }

  func pathCases() throws -> [Case] {
    let root = signed.nodes.last!
    let leaf = signed.nodes.first { $0.place.contains(base.keys.token(of: "history")) && $0.place.depth == 1 }!
    func at(_ place: TreePlace) -> String { "prefix=x'\(place.key.hex)'" }
    func node(_ name: String, _ change: @escaping ([UInt8]) -> [UInt8]) throws -> Case {
      // The changed body is the one that the signed root names.
      try forged(name, .damaged(56, "tree"), ask: "get", item: "history") { draft in
        draft.changeNodes = { $0[$0.count - 1].body = change($0[$0.count - 1].body) }
      }
    }
    return [
      plain(
        "the root is missing", .damaged(55, "tree"), ask: "get", item: "history",
        .sql("DELETE FROM node WHERE \(at(root.place))")),
      plain(
        "a leaf is missing", .damaged(55, "tree"), ask: "get", item: "history",
        .sql("DELETE FROM node WHERE \(at(leaf.place))")),
      plain(
        "an altered leaf", .damaged(55, "tree"), ask: "get", item: "history",
        .sql("UPDATE node SET body=x'\((leaf.body.dropLast() + [leaf.body.last! ^ 1]).hex)' WHERE \(at(leaf.place))")),
      plain(
        "an entry fewer, so that the item seems absent", .damaged(55, "tree"), ask: "get", item: "history",
        .sql("UPDATE node SET body=x'\(Array(leaf.body.dropFirst(48)).hex)' WHERE \(at(leaf.place))")),
      try node("a signed root with a digest too few") { Array($0.dropLast(32)) },
      try node("a signed root without bits") { [0, 0] + $0[2...] },
      try node("a signed root of neither form") { $0 + [0] },
      try forged("a signed leaf out of order", .damaged(56, "tree"), ask: "get", item: "history") { draft in
        draft.resign(leaf.place) { Array($0[48...] + $0[..<48]) }
      },
      try forged("a signed leaf with a token of another prefix", .damaged(56, "tree"), ask: "get", item: "history") {
        $0.resign(leaf.place) { [$0[0] ^ 0x80] + $0[1...] }
      },
    ]
  }

  // MARK: The row

  private func sealed(
    _ reason: Int, _ name: String, ask: String = "get", _ change: (inout RowDraft) -> Void
  ) throws -> Case {
    try forged(name, .damaged(reason, "row"), ask: ask, item: "item/1") { change(&$0.items["item/1"]![0]) }
  }

  private func encoding(_ name: String, _ change: @escaping ([UInt8]) -> [UInt8]) throws -> Case {
    try sealed(60, name) { $0.changeEncoding = change }
  }

  func rowCases() throws -> [Case] {
    let history = token("history")
    let two = ["item/1", "item/2"].map(token)
    return [
      plain(
        "a row is gone", .damaged(57, "row"), ask: "get", item: "history",
        .sql("DELETE FROM item WHERE token=\(history)")),
      plain(
        "an altered secret", .damaged(57, "row"), ask: "get", item: "item/1",
        .sql("UPDATE item SET secret=zeroblob(48) WHERE token=\(two[0])")),
      plain(
        "the halves of another row", .damaged(57, "row"), ask: "get", item: "item/1",
        .sql(
          "UPDATE item SET (nonce,attributes,secret)=(SELECT nonce,attributes,secret FROM item WHERE token=\(two[1])) WHERE token=\(two[0])"
        )),
      plain(
        "an older version in the place of the current one", .damaged(57, "row"), ask: "get", item: "history",
        .sql("REPLACE INTO item SELECT * FROM version WHERE token=\(history) AND version=3")),
      plain(
        "a secret of a removed item", .damaged(57, "row"), ask: "get", item: "item/1",
        .sql("UPDATE item SET state=2 WHERE token=\(two[0])")),
      plain(
        "an oldest version above the version", .damaged(57, "row"), ask: "get", item: "item/1",
        .sql("UPDATE item SET oldest=2 WHERE token=\(two[0])")),
      plain("an absent item is absent", nil, ask: "get", item: "absent"),
      try sealed(58, "attributes that do not open") { $0.changeSealedAttributes = { $0.dropLast() + [$0.last! ^ 1] } },
      try sealed(59, "attributes with a byte behind them") { $0.changePaddedAttributes = { $0.dropLast() + [1] } },
      try sealed(59, "attributes padded too far") {
        $0.changePaddedAttributes = { $0 + [UInt8](repeating: 0, count: 32) }
      },
      try encoding("no attributes") { _ in [] },
      try encoding("attributes that end within a field") { Array($0.dropLast()) },
      try encoding("a tag of 0") { [0, 0] + $0 },
      try encoding("a tag twice") { $0 + $0.suffix(3) },
      try encoding("a long length for a short field") { [1, 255, 0, 0, 0, 6] + $0[2...] },
      try encoding("a length beyond the end") { Array($0.dropLast(2)) + [255, 255, 255, 255, 255, 3] },
      try encoding("no value epoch") { Array($0.dropLast(3)) },
      try encoding("a name that is not UTF-8") { Array($0[..<2]) + [255] + $0[3...] },
      try encoding("a value epoch of 2^53") { Array($0.dropLast(3)) + [9, 7, 0x20, 0, 0, 0, 0, 0, 0] },
      try encoding("a value epoch of eight bytes") { Array($0.dropLast(3)) + [9, 8, 0, 0, 0, 0, 0, 0, 0, 3] },
      try encoding("a value epoch with a leading zero") { Array($0.dropLast(3)) + [9, 2, 0, 3] },
      try encoding("a time of creation that is the time of the change") { Array($0[..<10] + $0[18..<24] + $0[16...]) },
      try encoding("a writer of an unknown kind") { $0 + [10, 7, 2, 0, 0, 0, 0, 0, 0] },
      try encoding("a writer who is the owner") { $0 + [10, 7, 0, 0, 0, 0, 0, 0, 0] },
      try encoding("pairs out of order") { inserting(pairs: [("b", ""), ("a", "")], in: $0) },
      try encoding("a key twice") { inserting(pairs: [("a", "1"), ("a", "2")], in: $0) },
      try encoding("two keys that are canonically equivalent") {
        inserting(pairs: [("a\u{308}", ""), ("\u{e4}", "")], in: $0)
      },
      try encoding("pairs that are none") { inserting(pairs: [], in: $0) },
      try encoding("65 pairs") { inserting(pairs: (100..<165).map { ("\($0)", "") }, in: $0) },
      try forged("an unknown tag", .damaged(61, "row"), ask: "get", item: "item/1") {
        $0.items["item/1"]![0].changeEncoding = { $0 + [11, 0] }
      },
      try sealed(62, "a row under another name") { $0.attributes.name = "item/2" },
      plain("a blob is gone", .damaged(64, "row"), ask: "get", item: "large", .sql("DELETE FROM blob")),
      plain(
        "an altered blob", .damaged(64, "row"), ask: "get", item: "large",
        .sql("UPDATE blob SET bytes=zeroblob(length(bytes))")),
      try sealed(65, "a secret that does not open") { $0.changeSealedValue = { $0.dropLast() + [$0.last! ^ 1] } },
      try sealed(66, "a secret with a byte behind it") { $0.changePaddedValue = { $0.dropLast() + [1] } },
      try sealed(66, "a secret with another count") { $0.changePaddedValue = { [0, 0, 0, 29] + $0[4...] } },
      plain(
        "an older version is gone", .damaged(67, "row"), ask: "history", item: "history",
        .sql("DELETE FROM version WHERE token=\(history) AND version=3")),
      plain(
        "an altered older version", .damaged(67, "row"), ask: "history", item: "history",
        .sql("UPDATE version SET secret=zeroblob(48) WHERE token=\(history) AND version=2")),
      plain("a list with a row too many", .damaged(68, "row"), ask: "list", plantedRow),
      plain(
        "a list with a row too few", .damaged(68, "row"), ask: "list", .sql("DELETE FROM item WHERE token=\(history)")),
    ]
  }

  private var plantedRow: Change {
    .sql(
      "INSERT INTO item SELECT x'ffffffffffffffffffffffffffffffff',version,state,oldest,previous,nonce,attributes,place,secret FROM item WHERE token=\(token("item/1"))"
    )
  }

  /// Inserts the field of pairs after the name.
  private func inserting(pairs: [(String, String)], in encoding: [UInt8]) -> [UInt8] {
    var field = ByteWriter()
    for (key, value) in pairs {
      field.writeCounted16(Array(key.utf8))
      field.writeCounted16(Array(value.utf8))
    }
    var fields = FieldWriter()
    fields.write(3, field.bytes)
    let name = 2 + Int(encoding[1])
    return Array(encoding[..<name]) + fields.bytes + encoding[name...]
  }

  // MARK: A complete proof

  func proofCases() throws -> [Case] {
    func verify(_ name: String, _ reason: Int, _ level: String, _ changes: Change...) -> Case {
      Case(name: name, ask: "verify", changes: changes, refusal: .damaged(reason, level))
    }
    let history = token("history")
    return [
      verify("a freelist that is not there", 69, "container", .patch(36, "00000005")),
      try forged("one row more is signed than there is", .damaged(70, "row"), ask: "verify") {
        $0.changeManifest = { $0.itemCount += 1 }
      },
      try forged("one row less is signed than there is", .damaged(70, "row"), ask: "verify") {
        $0.changeManifest = { $0.itemCount -= 1 }
      },
      try forged("one older version more is signed than there is", .damaged(71, "row"), ask: "verify") {
        $0.changeManifest = { $0.versionRowCount += 1 }
      },
      verify(
        "an older version without its item", 71, "row",
        .sql("UPDATE version SET token=x'ffffffffffffffffffffffffffffffff' WHERE token=\(token("removed"))")),
      verify(
        "an older version below the oldest", 71, "row",
        .sql(
          "INSERT INTO version SELECT token,1,state,1,previous,nonce,attributes,place,secret FROM version WHERE token=\(history) AND version=2"
        )),
      try forged(
        "a row that a member sealed and nobody signed", .damaged(72, "tree").or(.damaged(57, "row")), ask: "verify"
      ) {
        $0.items["item/1"]![0].value = Array("forged".utf8)
      }.keeping("item"),
      verify(
        "a node too many", 73, "tree",
        .sql("INSERT INTO node VALUES(x'05\(String(repeating: "0", count: 32))',zeroblob(48))")),
      verify(
        "an altered node", 73, "tree",
        .sql("UPDATE node SET body=zeroblob(48) WHERE prefix=(SELECT max(prefix) FROM node)")),
      verify("a blob without a row", 74, "row", .sql("INSERT INTO blob VALUES(\(token("item/1")),1,zeroblob(600))")),
      verify(
        "an altered wrap of another member", 75, "wrap",
        .sql("UPDATE wrap SET sealed=zeroblob(73) WHERE slot=x'\(try readerSlot().hex)'")),
      verify(
        "a wrap of another member is gone", 75, "wrap", .sql("DELETE FROM wrap WHERE slot=x'\(try readerSlot().hex)'")),
      verify("a wrap that no member has", 75, "wrap", .sql("INSERT INTO wrap VALUES(zeroblob(16),zeroblob(73))")),
      verify("the newest link is gone", 76, "chain", .sql("DELETE FROM chain WHERE epoch=3")),
      verify(
        "the links since the roster's first epoch are gone", 76, "chain", .sql("DELETE FROM chain WHERE epoch<3")),
      plain(
        "a chain that begins with the roster's first epoch, as a repair leaves it", nil, ask: "verify",
        .sql("DELETE FROM chain WHERE epoch=1")),
      verify("an altered link", 76, "chain", .sql("UPDATE chain SET rest=zeroblob(32) WHERE epoch=2")),
      verify("a link of an epoch to come", 76, "chain", .sql("INSERT INTO chain VALUES(4,zeroblob(32))")),
    ]
  }

  private func readerSlot() throws -> [UInt8] {
    try GroupDraft.readerSeed().slotID(group: VectorSeeds.groupID, generation: 1)
  }
}

extension GroupDraft {
  /// Changes the body of a leaf below the root and then the root, so that every digest is right.
  fileprivate mutating func resign(_ place: TreePlace, _ change: @escaping ([UInt8]) -> [UInt8]) {
    changeNodes = { nodes in
      let index = nodes.firstIndex { $0.place == place }!
      let old = TreeNode.digest(ofBody: nodes[index].body, at: place).bytes
      nodes[index].body = change(nodes[index].body)
      let new = TreeNode.digest(ofBody: nodes[index].body, at: place).bytes
      var root = nodes[nodes.count - 1].body
      let offset = stride(from: 2, to: root.count, by: 32).first { Array(root[$0..<$0 + 32]) == old }!
      root.replaceSubrange(offset..<offset + 32, with: new)
      nodes[nodes.count - 1].body = root
    }
  }
}

extension GroupVectors.Case {
  /// Only the changes to one table.
  fileprivate func keeping(_ table: String) -> Self {
    var copy = self
    copy.changes = changes.filter { $0.sql?.hasPrefix("REPLACE INTO \(table) ") == true }
    return copy
  }
}
