import Sealing
import TestSupport
import Testing

@testable import GroupFile

@Suite struct WitnessRecordTests {
  static let record = WitnessRecord(
    sequence: 5, groupID: filled(1), ownerKey: filled(2), rosterRevision: 3, generation: 4, epoch: (1 << 53) - 1,
    link: filled(8), rosterDigest: filled(9), flags: [.removed, .acceptedByHand], mark: filled(10))

  // Computed with Python's struct and hashlib.
  static let bytes = [UInt8](
    hex: "7661756c74312e7769746e6573730000" + "0000000000000005" + repeated("01", 32) + repeated("02", 32)
      + "0000000000000003" + "0000000000000004" + "001fffffffffffff" + repeated("08", 32) + repeated("09", 32)
      + "0000000000000005" + repeated("0a", 32) + repeated("00", 8)
      + "0c90b5d1657f194bc13e7eb71f49c741720afb0f9879f9525576b82ce1648cc3")

  private static func filled(_ byte: UInt8) -> Bytes32 { Bytes32([UInt8](repeating: byte, count: 32))! }
  private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

  @Test func `a record is written to and read from the documented bytes`() throws {
    #expect(Self.record.serialized() == Self.bytes)
    #expect(try WitnessRecord(parsing: Self.bytes) == Self.record)
  }

  @Test func `a record with a flipped bit is refused`() {
    for bit in 0..<Self.bytes.count * 8 {
      var altered = Self.bytes
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: ByteReader.Failure.self) { try WitnessRecord(parsing: altered) }
    }
  }

  @Test(arguments: [0, 16, 255, 257, 512])
  func `a record of another length than 256 bytes is refused`(count: Int) {
    let bytes = (Self.bytes + Self.bytes).prefix(count)
    #expect(throws: ByteReader.Failure.self) { try WitnessRecord(parsing: Array(bytes)) }
  }

  /// Offsets in a record, each with a byte that no record has there. The record's hash is right.
  @Test(
    arguments: [(0, 0x77), (16, 0x20), (88, 0x20), (96, 0x20), (104, 0x20), (176, 1), (183, 8), (216, 1), (223, 1)]
      as [(Int, UInt8)])
  func `a record with a correct hash and a wrong field is refused`(offset: Int, byte: UInt8) {
    var altered = Array(Self.bytes.prefix(224))
    altered[offset] = byte
    altered += Hash.digest(Label("vault1.wit.hash"), altered).bytes
    #expect(throws: ByteReader.Failure.self) { try WitnessRecord(parsing: altered) }
  }

  @Test func `every flag has its own bit`() {
    #expect(WitnessRecord.Flags.removed.rawValue == 1)
    #expect(WitnessRecord.Flags.gapSeen.rawValue == 2)
    #expect(WitnessRecord.Flags.acceptedByHand.rawValue == 4)
  }
}
