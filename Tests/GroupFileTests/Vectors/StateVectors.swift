import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// `state.json`: the signed statements of the base group, and witness records.
struct StateVectors: Codable, Equatable {
  struct WrapVector: Codable, Equatable {
    var memberSeed: String
    var wrapKey: String
    var slotID: String
    var associatedData: String
    var groupKey: String
    var wrap: String
    var digest: String
  }

  struct RosterVector: Codable, Equatable {
    var ownerSigningSeed: String
    var body: String
    var signature: String
    var digest: String
    var associatedData: String
    var stored: String
  }

  struct ManifestVector: Codable, Equatable {
    var memberSigningSeed: String
    var body: String
    var signature: String
    var rest: String
    var link: String
    var associatedData: String
    var stored: String
  }

  struct Link: Codable, Equatable {
    var epoch: UInt64
    var rest: String
    var link: String
  }

  struct Record: Codable, Equatable {
    var name: String
    var bytes: String
    var sequence: UInt64?
    var epoch: UInt64?
    var flags: UInt64?
    /// Absent for a record that is invalid.
    var refusal: Refusal?
  }

  var about = "Header, wraps, roster, manifest and chain of the group of group.json, and witness records."
  var metaKey: String
  var header: String
  var wraps: [WrapVector]
  var roster: RosterVector
  var manifest: ManifestVector
  var chain: [Link]
  var records: [Record]

  static func generate() throws -> StateVectors {
    let base = try GroupDraft.base()
    let signed = try base.signed()
    let place = VectorSeeds.groupID.bytes + [0, 0, 0, 0, 0, 0, 0, 1]
    var link = Digest.zero
    return StateVectors(
      metaKey: try VectorSeeds.groupKey().derivedHex("vault1.key.meta", place), header: signed.header.hex,
      wraps: try [
        VectorSeeds.personal().testBytes, VectorSeeds.application("com.example.writer", issue: 1).testBytes,
        VectorSeeds.application("com.example.reader", issue: 3).testBytes,
      ].map { try wrap(base, $0, place) },
      roster: RosterVector(
        ownerSigningSeed: try VectorSeeds.root().derivedHex("vault1.owner.sig"), body: signed.rosterBody.hex,
        signature: signed.rosterSignature.hex, digest: signed.rosterDigest.bytes.hex,
        associatedData: (Label("vault1.meta.ros").padded + place).hex, stored: signed.storedRoster.hex),
      manifest: ManifestVector(
        memberSigningSeed: try VectorSeeds.personal().derivedHex("vault1.mem.sign"), body: signed.manifestBody.hex,
        signature: signed.manifestSignature.hex, rest: signed.manifest.rest().bytes.hex,
        link: signed.manifest.link().bytes.hex, associatedData: (Label("vault1.meta.man").padded + place).hex,
        stored: signed.storedManifest.hex),
      chain: signed.chain.map {
        link = Manifest.link(after: link, rest: $0.rest)
        return Link(epoch: $0.epoch, rest: $0.rest.bytes.hex, link: link.bytes.hex)
      },
      records: records(base, signed))
  }

  private static func wrap(_ base: GroupDraft, _ seed: [UInt8], _ place: [UInt8]) throws -> WrapVector {
    let member = try MemberSeed(Key(testing: seed))
    let slotID = member.slotID(group: VectorSeeds.groupID, generation: 1)
    let wrap = base.wraps[slotID]!
    return WrapVector(
      memberSeed: seed.hex,
      wrapKey: try member.wrapKey(group: VectorSeeds.groupID, generation: 1).testBytes.hex, slotID: slotID.hex,
      associatedData: (Label("vault1.wrap").padded + place + slotID + [1]).hex,
      groupKey: try VectorSeeds.groupKey().testBytes.hex, wrap: wrap.hex,
      digest: Wrap.digest(wrap, slotID: slotID).bytes.hex)
  }

  private static func records(_ base: GroupDraft, _ signed: GroupDraft.Signed) -> [Record] {
    let honest = WitnessRecord(
      sequence: 5, groupID: VectorSeeds.groupID, ownerKey: base.roster.ownerKey, rosterRevision: 2, generation: 1,
      epoch: 3, link: signed.manifest.link(), rosterDigest: signed.rosterDigest, flags: [.gapSeen, .acceptedByHand])
    func hashed(_ change: (inout [UInt8]) -> Void) -> String {
      var bytes = Array(honest.serialized().prefix(224))
      change(&bytes)
      return (bytes + Hash.digest(Label("vault1.wit.hash"), bytes).bytes).hex
    }
    func invalid(_ name: String, _ bytes: String) -> Record {
      Record(name: name, bytes: bytes, refusal: .damaged(151, "witness"))
    }
    return [
      Record(name: "a record", bytes: honest.serialized().hex, sequence: 5, epoch: 3, flags: 6),
      Record(name: "a record with a mark", bytes: hashed { $0[215] = 1 }, sequence: 5, epoch: 3, flags: 6),
      invalid("256 zeros", [UInt8](repeating: 0, count: 256).hex),
      invalid("a record of 255 bytes", Array(honest.serialized().dropLast()).hex),
      invalid("a record of 257 bytes", (honest.serialized() + [0]).hex),
      invalid("another label", hashed { $0[7] = 0 }),
      invalid("a sequence of 2^53", hashed { $0[17] = 0x20 }),
      invalid("an epoch of 2^53", hashed { $0[105] = 0x20 }),
      invalid("an unknown flag", hashed { $0[183] = 8 }),
      invalid("a byte that should be zero", hashed { $0[216] = 1 }),
      invalid("a wrong hash", Array(honest.serialized().dropLast() + [0]).hex),
    ]
  }
}

@Suite struct StateVectorTests {
  private let file = VectorFile<StateVectors>("state")

  @Test func `the vectors of the state match their generator`() throws {
    #expect(try file.holds(StateVectors.generate()))
  }

  @Test func `wraps, roster and manifest open as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.wraps.isEmpty)
    for vector in vectors.wraps {
      let seed = try MemberSeed(Key(testing: [UInt8](hex: vector.memberSeed)))
      let key = try Wrap.open([UInt8](hex: vector.wrap), for: seed, groupID: VectorSeeds.groupID, generation: 1)
      #expect(key.testBytes.hex == vector.groupKey)
    }
    let keys = try VectorSeeds.keys()
    let roster = try SignedRoster(
      opening: [UInt8](hex: vectors.roster.stored), with: keys, ownerKey: VectorSeeds.owner().publicKey)
    #expect(roster.digest.bytes.hex == vectors.roster.digest)
    #expect(roster.roster.body().hex == vectors.roster.body)
    #expect(StateHeader(of: roster.roster).serialized().hex == vectors.header)
    let manifest = try SignedManifest.open([UInt8](hex: vectors.manifest.stored), with: keys) {
      $0 == roster.digest ? roster : nil
    }
    #expect(manifest.body().hex == vectors.manifest.body)
    #expect(vectors.chain.last?.link == vectors.manifest.link)
  }

  @Test func `witness records are valid or invalid as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.records.contains { $0.refusal != nil })
    for vector in vectors.records {
      let record = try? WitnessRecord(parsing: [UInt8](hex: vector.bytes))
      #expect((record == nil) == (vector.refusal != nil), "\(vector.name)")
      #expect(record?.sequence == vector.sequence && record?.epoch == vector.epoch, "\(vector.name)")
      #expect(record?.flags.rawValue == vector.flags, "\(vector.name)")
    }
  }
}
