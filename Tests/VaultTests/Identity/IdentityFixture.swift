import Sealing
import TestSupport

@testable import Vault

/// The cheapest costs that the format allows.
let cheap = Passphrase.Cost(passes: 1, memoryKiB: 8192)

func passphrase(_ text: String) throws -> GuardedBytes { try GuardedBytes(testing: Array(text.utf8)) }

func key(_ byte: UInt8) throws -> Key { try Key(testing: [UInt8](repeating: byte, count: 32)) }

extension Identity {
  /// The identity of the root seed 00 01 … 1f.
  static func testing() throws -> Identity {
    try Identity(rootSeed: try Key(testing: [UInt8](countingFrom: 0, count: 32)))
  }

  var testSeed: [UInt8] { unsafe rootSeed.withUnsafeBytes { unsafe Array($0) } }
}

extension Slot {
  /// The first slot of a store whose owner's key is `ownerKey`: a key file opens it, and it holds the seed of `identity`.
  static func holding(_ identity: Identity, opening key: borrowing Key, ownerKey: PublicKey) throws -> Slot {
    let salt = [UInt8](repeating: 4, count: 16)
    let fields = [2, 2, 0, 1] + [UInt8](repeating: 0, count: 8) + salt
    let header = Label("vault1.slot").padded + ownerKey.bytes + fields
    let slotKey = try key.derive(Label("vault1.slot.key"), salt)
    let check = slotKey.mac(Label("vault1.slot.chk"), header).bytes.prefix(16)
    let nonce = Nonce()
    let box = SealedBox.seal(identity.testSeed, key: slotKey, nonce: nonce, binding: header)
    var reader = ByteReader(fields + check + nonce.bytes + box)
    return try Slot(from: &reader)
  }
}

extension RecoveryCode {
  /// A recovery code made of known bytes. Only tests have one.
  init(testing bytes: [UInt8]) throws {
    self = try unsafe bytes.span.withUnsafeBytes { (bytes) throws(SealingError) in
      try unsafe RecoveryCode(copying: bytes)
    }
  }

  /// The code as typed in `text`.
  init(typing text: String) throws { try self.init(parsing: GuardedBytes(testing: Array(text.utf8))) }

  var testText: String { get throws { String(decoding: try text().testBytes, as: UTF8.self) } }
}
