import Sealing
import TestSupport

@testable import GroupFile

/// Fixed values that vectors use in place of random ones.
enum VectorSeeds {
  /// 00 01 … 1f.
  static func root() throws -> Key { try Key(testing: [UInt8](countingFrom: 0, count: 32)) }
  /// 20 21 … 3f.
  static func groupKey() throws -> Key { try Key(testing: [UInt8](countingFrom: 32, count: 32)) }
  /// 40 41 … 5f.
  static func deviceKey() throws -> Key { try Key(testing: [UInt8](countingFrom: 64, count: 32)) }
  /// 64 65 … 83.
  static let groupID = GroupID([UInt8](countingFrom: 100, count: 32))!
  static let groupName = "team.shared"
  /// 2025-01-01 00:00 UTC.
  static let time: UInt64 = 1_735_689_600_000

  static func owner() throws -> SigningKey { try SigningKey(seed: root().derive(Label("vault1.owner.sig"))) }

  static func personal() throws -> Key { try root().derive(Label("vault1.self")) }

  static func application(_ id: String, issue: UInt32) throws -> Key {
    var place = ByteWriter()
    place.write(issue)
    place.write(Array(id.utf8))
    return try root().derive(Label("vault1.app.root")).derive(Label("vault1.app.seed"), place.bytes)
  }

  /// Bytes derived from `text`, in place of random ones.
  static func bytes(_ text: String) -> Bytes32 { Hash.digest(Label("test.vector"), Array(text.utf8)) }

  static func nonce(_ text: String) -> Nonce { Nonce(bytes(text).bytes.prefix(24))! }

  static func keys(_ groupKey: consuming Key? = nil, deviceKey: consuming Key? = nil) throws -> GroupKeys {
    let key = if let groupKey { groupKey } else { try VectorSeeds.groupKey() }
    return try GroupKeys(groupKey: key, groupID: groupID, generation: 1, deviceKey: deviceKey)
  }
}

extension Key {
  /// The key derived from this one with a label and a message, in hexadecimal.
  func derivedHex(_ label: StaticString, _ message: [UInt8] = []) throws -> String {
    try derive(Label(label), message).testBytes.hex
  }
}
