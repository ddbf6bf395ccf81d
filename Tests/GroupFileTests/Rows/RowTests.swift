import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct RowTests {
  @Test func `the bytes that the tree hashes have the documented layout`() throws {
    let group = try GroupFixture()
    try group.set(["name": "first"])
    try group.set(["name": "second"])
    let token = try group.forge().keys.token(of: "name")
    let first = try group.peek { try #require(try $0.olderRow(token, version: 1)) }
    let row = try group.peek { try #require(try $0.currentRow(token)) }
    let encoded = row.encoded
    #expect(Array(encoded[..<16]) == token.bytes)
    #expect(Array(encoded[16..<33]).hex == "0000000000000002" + "01" + "0000000000000001")
    #expect(Array(encoded[33..<65]) == first.digest.bytes)
    #expect(Array(encoded[65..<89]) == row.nonce.bytes)
    let count = Int(encoded[91]) << 8 | Int(encoded[92])
    #expect(row.attributesRange == 93..<93 + count)
    #expect(Array(encoded[(93 + count)..<(98 + count)]) == [1, 0, 0, 0, 48])
    #expect(row.secretRange == 98 + count..<encoded.count)
    #expect(row.digest == Hash.digest(Label("vault1.row.hash"), encoded))
    #expect(first.previous == .zero)
  }

  @Test func `the additional data of each half is the documented 88 bytes`() {
    let binding = RowBinding(groupID: GroupID([UInt8](countingFrom: 1, count: 32))!, generation: 2)
    let token = Token(high: 3, low: 4)
    let bytes = binding.bytes(token: token, version: 5, state: .removed, half: .secret)
    #expect(
      bytes.hex == Array("vault1.row\0\0\0\0\0\0".utf8).hex + [UInt8](countingFrom: 1, count: 32).hex
        + "0000000000000002" + "0000000000000003" + "0000000000000004" + "0000000000000005" + "00000002" + "00000002")
  }

  @Test func `halves of different writes, items and states do not open together`() throws {
    let group = try GroupFixture()
    try group.set(["left": "one", "right": "two"])
    let view = try group.open().beginReading().view
    let keys = view.state.keys
    let (left, right) = (try view.row(of: "left"), try view.row(of: "right"))
    for row in [left.moved(to: right.token), left.moved(to: left.token, version: 2)] {
      #expect(failure { try view.attributes(of: row) }?.isDamage == true)
      #expect(failure { try view.secret(of: row) }?.isDamage == true)
    }
    // The attributes and the nonce of one write with the secret of another.
    let mixed = right.with(attributesOf: left).moved(to: left.token)
    #expect(try view.attributes(of: mixed).name == "left")
    #expect(failure { try view.secret(of: mixed) }?.isDamage == true)
    // The halves share a nonce but have different keys, so neither opens as the other.
    let binding = RowBinding(groupID: group.groupID, generation: 1)
    unsafe left.encoded.withUnsafeBytes { bytes in
      let secret = unsafe UnsafeRawBufferPointer(rebasing: bytes[left.secretRange])
      for half in [RowBinding.Half.attributes, .secret] {
        #expect(throws: SealingError.doesNotOpen) {
          try unsafe keys.openAttributes(
            secret, nonce: left.nonce,
            binding: binding.bytes(token: left.token, version: 1, state: .present, half: half))
        }
      }
    }
  }

  @Test func `each version has its own nonce`() throws {
    let group = try GroupFixture(keep: 100)
    for _ in 0..<20 { try group.set(["name": "same", "other": "same"]) }
    let view = try group.open().beginReading()
    let nonces = try view.history("name").map(\.row.nonce) + view.history("other").map(\.row.nonce)
    #expect(Set(nonces).count == 40)
  }
}

extension Snapshot {
  fileprivate func row(of name: String) throws -> Row {
    try #require(try connection.currentRow(state.keys.token(of: name)))
  }
}

extension Row {
  /// This row with the attributes and the nonce of another.
  fileprivate func with(attributesOf other: Row) -> Row {
    unsafe previous.withUnsafeBytes { previous in
      unsafe other.nonce.withUnsafeBytes { nonce in
        unsafe Array(other.encoded[other.attributesRange]).withUnsafeBytes { attributes in
          unsafe Array(encoded[secretRange]).withUnsafeBytes { secret in
            unsafe Row(
              token: token, version: version, state: state, oldest: oldest, previous: previous, nonce: nonce,
              attributes: attributes, place: place, secret: secret)
          }
        }
      }
    }
  }
}
