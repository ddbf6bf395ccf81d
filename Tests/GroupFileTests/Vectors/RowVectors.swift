import Sealing
import TestSupport
import Testing

@testable import GroupFile

/// `rows.json`: rows of the base group, from their attributes to their digest.
struct RowVectors: Codable, Equatable {
  struct Vector: Codable, Equatable {
    /// The attributes and the value in the clear.
    var content: GroupVectors.Answer
    var token: String
    var oldest: UInt64
    var previous: String
    var nonce: String
    var encodedAttributes: String
    var paddedAttributes: String
    var attributesAssociatedData: String
    var sealedAttributes: String
    var paddedValue: String?
    var valueAssociatedData: String?
    var sealedValue: String?
    /// 0 none, 1 in the row, 2 a blob.
    var place: UInt8
    /// The column `secret`.
    var secret: String
    var rowEncoding: String
    var digest: String
  }

  var about = "Rows of the group of group.json, under its keys; the token is that of the name."
  var groupID: String
  var generation: UInt64
  var tokenKey: String
  var attributesKey: String
  var secretKey: String
  var rows: [Vector]

  static func generate() throws -> RowVectors {
    let base = try GroupDraft.base()
    let signed = try base.signed()
    let place = VectorSeeds.groupID.bytes + [0, 0, 0, 0, 0, 0, 0, 1]
    let names: [(String, UInt64)] = [
      ("kind/bytes", 1), ("kind/int", 1), ("鍵/🔑", 1), ("full", 1), ("large", 1), ("history", 3), ("history", 4),
      ("removed", 2),
      ("destroyed", 5),
    ]
    var vectors: [Vector] = []
    for (name, version) in names {
      let token = base.keys.token(of: name)
      let steps = (signed.rows + signed.older).first { $0.token == token && $0.row.version == version }!
      vectors.append(Vector(base.items[name]!.first { $0.version == version }!, steps))
    }
    return RowVectors(
      groupID: VectorSeeds.groupID.bytes.hex, generation: 1,
      tokenKey: try VectorSeeds.groupKey().derivedHex("vault1.key.token", place),
      attributesKey: try VectorSeeds.groupKey().derivedHex("vault1.key.attr", place),
      secretKey: try VectorSeeds.groupKey().derivedHex("vault1.key.sec", place), rows: vectors)
  }
}

extension RowVectors.Vector {
  fileprivate init(_ draft: RowDraft, _ steps: RowDraft.Steps) {
    let row = steps.row
    let hasValue = draft.value != nil
    self.init(
      content: GroupVectors.Answer(draft), token: steps.token.bytes.hex, oldest: row.oldest,
      previous: row.previous.bytes.hex, nonce: row.nonce.bytes.hex, encodedAttributes: steps.encoding.hex,
      paddedAttributes: steps.paddedAttributes.hex, attributesAssociatedData: steps.attributesBinding.hex,
      sealedAttributes: steps.sealedAttributes.hex, paddedValue: hasValue ? steps.paddedValue.hex : nil,
      valueAssociatedData: hasValue ? steps.valueBinding.hex : nil, sealedValue: hasValue ? steps.sealedValue.hex : nil,
      place: row.place.rawValue, secret: Array(row.encoded[row.secretRange]).hex, rowEncoding: row.encoded.hex,
      digest: row.digest.bytes.hex)
  }
}

@Suite struct RowVectorTests {
  private let file = VectorFile<RowVectors>("rows")

  @Test func `the vectors of rows match their generator`() throws {
    #expect(try file.holds(RowVectors.generate()))
  }

  @Test func `rows open as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.rows.count > 5)
    let keys = try VectorSeeds.keys()
    for vector in vectors.rows {
      let nonce = Nonce([UInt8](hex: vector.nonce))!
      let padded = try unsafe [UInt8](hex: vector.sealedAttributes).withUnsafeBytes { box in
        try unsafe keys.openAttributes(box, nonce: nonce, binding: [UInt8](hex: vector.attributesAssociatedData))
      }
      #expect(padded.hex == vector.paddedAttributes)
      let encoding = try Padding.text(in: padded)
      #expect(encoding.hex == vector.encodedAttributes)
      let attributes = try Attributes(decoding: encoding)
      #expect(attributes.name == vector.content.name && attributes.pairs == vector.content.pairs)
      #expect(keys.token(of: attributes.name).bytes.hex == vector.token)
      #expect(Hash.digest(.rowHash, [UInt8](hex: vector.rowEncoding)).bytes.hex == vector.digest)
      guard let box = vector.sealedValue, let binding = vector.valueAssociatedData else { continue }
      let secret = try SealedBox.open(
        [UInt8](hex: box), key: keys.secretKey, nonce: nonce, binding: [UInt8](hex: binding))
      #expect(secret.testBytes.hex == vector.paddedValue)
      #expect(try Padding.text(in: secret.testBytes).hex == vector.content.value)
      #expect((Hash.digest(.blob, [UInt8](hex: box)).bytes.hex == vector.secret) == (vector.place == 2))
    }
  }
}
