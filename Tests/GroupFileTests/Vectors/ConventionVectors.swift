import Ground
import Sealing
import TestSupport
import Testing

/// `conventions.json`: hashes, MACs, seals and padding.
struct ConventionVectors: Codable, Equatable {
  struct Digested: Codable, Equatable {
    var label: String
    var key: String?
    var message: String
    var result: String
  }

  struct Sealed: Codable, Equatable {
    var key: String
    var nonce: String
    var associatedData: String
    var message: String
    var result: String
  }

  struct Padded: Codable, Equatable {
    var count: Int
    var padded: Int
  }

  struct Unpadded: Codable, Equatable {
    var name: String
    var padded: String
    /// The text. Absent if the padding is wrong.
    var text: String?
  }

  var about = "H, MAC, seal and padding. Bytes are hexadecimal."
  var hash: [Digested]
  var mac: [Digested]
  var seal: [Sealed]
  var paddedSizes: [Padded]
  var unpad: [Unpadded]

  static func generate() throws -> ConventionVectors {
    let messages: [[UInt8]] = [[], [0], Array("abc".utf8), [UInt8](countingFrom: 0, count: 200)]
    let key = try Key(testing: [UInt8](countingFrom: 0, count: 32))
    let nonce = Nonce([UInt8](countingFrom: 64, count: 24))!
    let binding = Array("associated".utf8)
    return ConventionVectors(
      hash: messages.map {
        Digested(label: "vault1.leaf", message: $0.hex, result: Hash.digest(Label("vault1.leaf"), $0).bytes.hex)
      },
      mac: messages.map {
        Digested(
          label: "vault1.token", key: key.testBytes.hex, message: $0.hex,
          result: key.mac(Label("vault1.token"), $0).bytes.hex)
      },
      seal: messages.map {
        Sealed(
          key: key.testBytes.hex, nonce: nonce.bytes.hex, associatedData: binding.hex, message: $0.hex,
          result: SealedBox.seal($0, key: key, nonce: nonce, binding: binding).hex)
      },
      paddedSizes: [
        0, 1, 28, 29, 44, 45, 60, 61, 92, 93, 124, 125, 476, 477, 508, 509, 540, 541, 1_000, 1_020, 1_021, 4_092, 4_093,
        65_536, 1_048_572, 1_048_573, 1_048_576,
      ].map { Padded(count: $0, padded: Padding.padded(count: $0)) },
      unpad: unpadded)
  }

  private static var unpadded: [Unpadded] {
    let honest = Padding.padUnguarded(Array("secret".utf8))
    var stained = honest
    stained[31] = 1
    return [
      Unpadded(name: "six bytes", padded: honest.hex, text: Array("secret".utf8).hex),
      Unpadded(name: "no bytes", padded: Padding.padUnguarded([]).hex, text: ""),
      Unpadded(
        name: "29 bytes", padded: Padding.padUnguarded([UInt8](countingFrom: 1, count: 29)).hex,
        text: [UInt8](countingFrom: 1, count: 29).hex),
      Unpadded(name: "a byte behind the text is not zero", padded: stained.hex),
      Unpadded(name: "a size that another count would get", padded: (honest + [UInt8](repeating: 0, count: 16)).hex),
      Unpadded(name: "a count above the size", padded: ([0, 0, 0, 29] + honest.dropFirst(4)).hex),
      Unpadded(name: "a count of 2^32 - 1", padded: ([255, 255, 255, 255] + honest.dropFirst(4)).hex),
      Unpadded(name: "shorter than a count", padded: "000000"),
      Unpadded(name: "nothing at all", padded: ""),
    ]
  }
}

@Suite struct ConventionVectorTests {
  private let file = VectorFile<ConventionVectors>("conventions")

  @Test func `the vectors of the conventions match their generator`() throws {
    #expect(try file.holds(ConventionVectors.generate()))
  }

  @Test func `seals open and paddings are removed as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.seal.isEmpty && !vectors.unpad.isEmpty && !vectors.hash.isEmpty && !vectors.mac.isEmpty)
    for vector in vectors.seal {
      let opened = try SealedBox.openUnguarded(
        [UInt8](hex: vector.result), key: Key(testing: [UInt8](hex: vector.key)),
        nonce: Nonce([UInt8](hex: vector.nonce))!, binding: [UInt8](hex: vector.associatedData))
      #expect(opened.hex == vector.message)
    }
    for vector in vectors.unpad {
      let text = try? Padding.text(in: [UInt8](hex: vector.padded)).hex
      #expect(text == vector.text, "\(vector.name)")
    }
  }
}

extension Padding {
  static func text(in padded: [UInt8]) throws -> [UInt8] {
    try unsafe padded.withUnsafeBytes { Array(padded[try unsafe unpad($0)]) }
  }
}
