import Sealing
import TestSupport

@testable import GroupFile

/// A whole group made of fixed bytes, before it is signed. Each step can be done wrongly.
struct GroupDraft {
  var keys: GroupKeys
  /// The kept versions by name, the oldest first.
  var items: [String: [RowDraft]]
  var roster: Roster
  var wraps: [[UInt8]: [UInt8]]
  var epoch: UInt64 = 3
  /// The chain's entries of the earlier epochs.
  var chain: [(epoch: UInt64, rest: Digest)]
  var previousLink: Digest
  var userVersion = "0x00010001"

  var changeRosterBody: ([UInt8]) -> [UInt8] = { $0 }
  var changeRosterContent: ([UInt8]) -> [UInt8] = { $0 }
  var rosterSigner: () throws -> SigningKey = { try VectorSeeds.owner() }
  var changeHeader: (inout StateHeader) -> Void = { _ in }
  var changeManifest: (inout Manifest) -> Void = { _ in }
  var changeManifestBody: ([UInt8]) -> [UInt8] = { $0 }
  var changeManifestContent: ([UInt8]) -> [UInt8] = { $0 }
  var writer: () throws -> MemberSeed = { try MemberSeed(VectorSeeds.personal()) }
  /// Changes rows after they are sealed and before the tree is built.
  var changeNodes: (inout [(place: TreePlace, body: [UInt8])]) -> Void = { _ in }

  /// The signed and sealed group.
  struct Signed {
    var rows: [RowDraft.Steps] = []
    var older: [RowDraft.Steps] = []
    var nodes: [(place: TreePlace, body: [UInt8])] = []
    var rosterBody: [UInt8] = []
    var rosterSignature: [UInt8] = []
    var rosterDigest = Digest.zero
    var storedRoster: [UInt8] = []
    var header: [UInt8] = []
    var manifest: Manifest
    var manifestBody: [UInt8] = []
    var manifestSignature: [UInt8] = []
    var storedManifest: [UInt8] = []
    var chain: [(epoch: UInt64, rest: Digest)] = []
  }

  func signed() throws -> Signed {
    var rows: [RowDraft.Steps] = []
    var older: [RowDraft.Steps] = []
    for (_, versions) in items.sorted(by: { $0.key < $1.key }) {
      var previous = Digest.zero
      for (index, draft) in versions.enumerated() {
        var draft = draft
        if index > 0 { draft.previous = previous }
        let steps = try draft.steps()
        previous = steps.row.digest
        if index == versions.count - 1 { rows.append(steps) } else { older.append(steps) }
      }
    }
    rows.sort { $0.token < $1.token }
    older.sort { ($0.token, $0.row.version) < ($1.token, $1.row.version) }
    var nodes: [(place: TreePlace, body: [UInt8])] = []
    var builder = TreeBuilder()
    for row in rows { try builder.append(TreeEntry(token: row.token, digest: row.row.digest)) }
    _ = builder.finish { place, body in nodes.append((place, body)) }
    changeNodes(&nodes)
    let root = nodes.last.map { TreeNode.digest(ofBody: $0.body, at: $0.place) } ?? TreeNode.emptyRoot
    return try sign(rows, older, nodes, root)
  }

  private func sign(
    _ rows: [RowDraft.Steps], _ older: [RowDraft.Steps], _ nodes: [(place: TreePlace, body: [UInt8])], _ root: Digest
  ) throws -> Signed {
    let rosterBody = changeRosterBody(roster.body())
    let rosterSignature = try rosterSigner().sign(rosterBody)
    let signedRoster = rosterBody + rosterSignature
    let rosterDigest = Hash.digest(.rosterHash, signedRoster)
    var content = ByteWriter()
    content.writeCounted32(signedRoster)
    content.writeZeros((256 - content.bytes.count % 256) % 256)
    let member = try writer()
    var manifest = Manifest(
      version: roster.flags.version, groupID: VectorSeeds.groupID, rosterDigest: rosterDigest,
      rosterRevision: roster.revision, generation: roster.generation, epoch: epoch, itemCount: UInt64(rows.count),
      versionRowCount: UInt64(older.count), root: root, previousLink: previousLink,
      writerKey: try member.signingPublicKey, time: VectorSeeds.time + epoch)
    changeManifest(&manifest)
    let body = changeManifestBody(manifest.body())
    let signature = try member.signingKey().sign(body)
    var header = StateHeader(of: roster)
    changeHeader(&header)
    return Signed(
      rows: rows, older: older, nodes: nodes, rosterBody: rosterBody, rosterSignature: rosterSignature,
      rosterDigest: rosterDigest,
      storedRoster: keys.sealMeta(
        changeRosterContent(content.bytes), Label("vault1.meta.ros"),
        nonce: VectorSeeds.nonce("roster \(roster.revision)")),
      header: header.serialized(), manifest: manifest, manifestBody: body, manifestSignature: signature,
      storedManifest: keys.sealMeta(
        changeManifestContent(body + signature), Label("vault1.meta.man"), nonce: VectorSeeds.nonce("manifest \(epoch)")
      ),
      chain: chain + [(manifest.epoch, manifest.rest())])
  }
}

extension GroupDraft.Signed {
  /// The statements that fill the tables, one per row.
  func statements() -> [SQLRow] {
    var all: [SQLRow] = []
    for (table, rows) in [("item", rows), ("version", older)] {
      for steps in rows {
        let row = steps.row
        all.append(
          SQLRow(
            table, keys: table == "item" ? 1 : 2,
            [
              .blob(row.token.bytes), .integer(row.version), .integer(UInt64(row.state.rawValue)),
              .integer(row.oldest), .blob(row.previous.bytes), .blob(row.nonce.bytes),
              .blob(Array(row.encoded[row.attributesRange])), .integer(UInt64(row.place.rawValue)),
              .blob(Array(row.encoded[row.secretRange])),
            ]))
        if let blob = steps.blob {
          all.append(SQLRow("blob", keys: 2, [.blob(row.token.bytes), .integer(row.version), .blob(blob)]))
        }
      }
    }
    for node in nodes { all.append(SQLRow("node", keys: 1, [.blob(node.place.key), .blob(node.body)])) }
    for (part, bytes) in [(1, header), (2, storedRoster), (3, storedManifest)] as [(UInt64, [UInt8])] {
      all.append(SQLRow("state", keys: 1, [.integer(part), .blob(bytes)]))
    }
    for (epoch, rest) in chain { all.append(SQLRow("chain", keys: 1, [.integer(epoch), .blob(rest.bytes)])) }
    return all
  }
}

/// One row of a table in SQL.
struct SQLRow: Equatable {
  enum Value: Equatable {
    case blob([UInt8])
    case integer(UInt64)

    var literal: String {
      switch self {
      case .blob(let bytes): "x'\(bytes.hex)'"
      case .integer(let number): "\(number)"
      }
    }
  }

  private static let columns = [
    "item": ["token"], "version": ["token", "version"], "blob": ["token", "version"], "node": ["prefix"],
    "state": ["part"], "wrap": ["slot"], "chain": ["epoch"],
  ]

  let table: String
  let key: [Value]
  let values: [Value]

  init(_ table: String, keys: Int, _ values: [Value]) {
    self.table = table
    key = Array(values.prefix(keys))
    self.values = values
  }

  var insertion: String { "INSERT INTO \(table) VALUES(\(list))" }
  var replacement: String { "REPLACE INTO \(table) VALUES(\(list))" }
  var deletion: String {
    let condition = zip(SQLRow.columns[table]!, key).map { "\($0)=\($1.literal)" }.joined(separator: " AND ")
    return "DELETE FROM \(table) WHERE \(condition)"
  }

  private var list: String { values.map(\.literal).joined(separator: ",") }

  /// The statements that turn `old` into `new`.
  static func difference(from old: [SQLRow], to new: [SQLRow]) -> [String] {
    func name(_ row: SQLRow) -> String { row.table + row.key.map(\.literal).joined() }
    let before = Dictionary(uniqueKeysWithValues: old.map { (name($0), $0) })
    let after = Set(new.map(name))
    return old.filter { !after.contains(name($0)) }.map(\.deletion)
      + new.filter { before[name($0)] != $0 }.map(\.replacement)
  }
}
