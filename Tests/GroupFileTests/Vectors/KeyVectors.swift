import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// `keys.json`: everything derived from a root seed and a group key.
struct KeyVectors: Codable, Equatable {
  struct Member: Codable, Equatable {
    var name: String
    var applicationID: String?
    var issue: UInt32?
    var memberSeed: String
    var signingSeed: String
    var signingKey: String
    var groupID: String
    var generation: UInt64
    var wrapKey: String
    var slotID: String
  }

  struct Group: Codable, Equatable {
    var name: String
    var groupKey: String
    var deviceKey: String?
    var deviceKeyID: String?
    var groupID: String
    var generation: UInt64
    var effectiveKey: String
    var tokenKey: String
    var attributesKey: String
    var secretKey: String
    var metaKey: String
    var keyCommitment: String
    var tokens: [Token]
  }

  struct Token: Codable, Equatable {
    var name: String
    var token: String
  }

  var about = "Keys derived from the root seed, and keys derived from a group key. Bytes are hexadecimal, names text."
  var rootSeed: String
  var ownerSigningSeed: String
  var ownerKey: String
  var applicationRoot: String
  var members: [Member]
  var groups: [Group]

  static func generate() throws -> KeyVectors {
    let root = try VectorSeeds.root()
    return KeyVectors(
      rootSeed: root.testBytes.hex, ownerSigningSeed: try root.derivedHex("vault1.owner.sig"),
      ownerKey: try VectorSeeds.owner().publicKey.bytes.hex, applicationRoot: try root.derivedHex("vault1.app.root"),
      members: [
        try member("registry", root.derive(Label("vault1.registry"))),
        try member("personal", VectorSeeds.personal()),
        try member(
          "application", VectorSeeds.application("com.example.notes", issue: 2), id: "com.example.notes", issue: 2),
      ],
      groups: [
        try group("a group", VectorSeeds.groupKey(), device: nil),
        try group("a group bound to a device", VectorSeeds.groupKey(), device: VectorSeeds.deviceKey()),
      ])
  }

  private static func member(
    _ name: String, _ seed: consuming Key, id: String? = nil, issue: UInt32? = nil
  ) throws -> Member {
    let bytes = seed.testBytes
    let signing = try seed.derivedHex("vault1.mem.sign")
    let member = MemberSeed(seed)
    return Member(
      name: name, applicationID: id, issue: issue, memberSeed: bytes.hex, signingSeed: signing,
      signingKey: try member.signingPublicKey.bytes.hex, groupID: VectorSeeds.groupID.bytes.hex, generation: 7,
      wrapKey: try member.wrapKey(group: VectorSeeds.groupID, generation: 7).testBytes.hex,
      slotID: member.slotID(group: VectorSeeds.groupID, generation: 7).hex)
  }

  private static func group(_ name: String, _ key: consuming Key, device: consuming Key?) throws -> Group {
    let groupKey = key.testBytes.hex
    let deviceHex: String?
    let deviceID: String?
    let effective: Key
    switch device {
    case .some(let device):
      deviceHex = device.testBytes.hex
      deviceID = DeviceKey(device.copy()).id.hex
      effective = try device.derive(Label("vault1.device"), key.testBytes + VectorSeeds.groupID.bytes)
    case .none:
      deviceHex = nil
      deviceID = nil
      effective = key.copy()
    }
    let place = VectorSeeds.groupID.bytes + [0, 0, 0, 0, 0, 0, 0, 1]
    let keys = try VectorSeeds.keys(
      key, deviceKey: deviceHex.map { (hex) throws in try Key(testing: [UInt8](hex: hex)) })
    return Group(
      name: name, groupKey: groupKey, deviceKey: deviceHex, deviceKeyID: deviceID,
      groupID: VectorSeeds.groupID.bytes.hex, generation: 1,
      effectiveKey: effective.testBytes.hex, tokenKey: try effective.derivedHex("vault1.key.token", place),
      attributesKey: try effective.derivedHex("vault1.key.attr", place),
      secretKey: try effective.derivedHex("vault1.key.sec", place),
      metaKey: try effective.derivedHex("vault1.key.meta", place), keyCommitment: keys.commitment.bytes.hex,
      tokens: ["db/password", "schlüssel", "鍵", "🔑"].map { Token(name: $0, token: keys.token(of: $0).bytes.hex) })
  }
}

@Suite struct KeyVectorTests {
  private let file = VectorFile<KeyVectors>("keys")

  @Test func `the vectors of the keys match their generator`() throws {
    #expect(try file.holds(KeyVectors.generate()))
  }

  @Test func `tokens and commitments are derived from the keys in the vectors`() throws {
    let vectors = try file.load()
    try #require(!vectors.groups.isEmpty && !vectors.members.isEmpty)
    for group in vectors.groups {
      let place = [UInt8](hex: group.groupID) + [0, 0, 0, 0, 0, 0, 0, 1]
      let effective = try Key(testing: [UInt8](hex: group.effectiveKey))
      #expect(effective.mac(Label("vault1.keycommit"), place).bytes.hex == group.keyCommitment)
      let tokenKey = try Key(testing: [UInt8](hex: group.tokenKey))
      for vector in group.tokens {
        #expect(
          tokenKey.mac(Label("vault1.token"), Array(vector.name.utf8)).bytes.prefix(16).elementsEqual(
            [UInt8](hex: vector.token)))
      }
    }
  }
}
