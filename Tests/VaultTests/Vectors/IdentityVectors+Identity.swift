import Sealing
import TestSupport

@testable import Vault

extension IdentityVectors {
  static func slots(_ base: VectorIdentity) throws -> [SlotVector] {
    let bytes = base.covered
    return try (0..<4).map { index in
      let slot = Array(bytes[50 + index * 116..<50 + (index + 1) * 116])
      let salt = Array(slot[12..<28])
      let isPassphrase = index == 0
      let secret =
        isPassphrase
        ? base.passphrase
        : index == 3 ? try base.recoveryCode.key().testBytes : [UInt8](repeating: UInt8(index + 1), count: 32)
      let slotKey =
        isPassphrase
        ? try Passphrase.stretch(GuardedBytes(testing: secret), salt: salt, cost: cheap)
        : try Key(testing: secret).derive(Label("vault1.slot.key"), salt)
      return SlotVector(
        number: UInt16(index + 1), use: slot[1], secret: secret.hex, passes: isPassphrase ? 1 : 0,
        memoryKiB: isPassphrase ? 8192 : 0, salt: salt.hex,
        header: (Label("vault1.slot").padded + base.identity.ownerKey.bytes + slot[..<28]).hex,
        slotKey: slotKey.testBytes.hex, check: Array(slot[28..<44]).hex, nonce: Array(slot[44..<68]).hex,
        sealedSeed: Array(slot[68...]).hex)
    }
  }

  static func openings(_ base: VectorIdentity) throws -> [Opening] {
    let whole = base.file.serialized()
    let keyTwo = [UInt8](repeating: 2, count: 32)
    let code = try base.recoveryCode.testText
    let other = try RecoveryCode(testing: [UInt8](repeating: 1, count: 20)).testText
    func typed(_ name: String, _ refusal: Refusal?, _ code: String) -> Opening {
      Opening(name: name, bytes: whole.hex, use: Slot.Kind.recoveryCode.rawValue, code: code, refusal: refusal)
    }
    func parsed(_ name: String, _ refusal: Refusal, _ bytes: [UInt8]) -> Opening {
      Opening(name: name, bytes: bytes.hex, refusal: refusal)
    }
    func opened(
      _ name: String, _ refusal: Refusal?, _ use: Slot.Kind, _ secret: [UInt8], _ bytes: [UInt8]? = nil
    ) -> Opening {
      Opening(name: name, bytes: (bytes ?? whole).hex, use: use.rawValue, secret: secret.hex, refusal: refusal)
    }
    func identity(_ reason: Int) -> Refusal { .damaged(reason, "identity") }
    // The slot that opens with the key 02 … 02.
    let slot = 50 + 116
    return [
      opened("the passphrase", nil, .passphrase, base.passphrase),
      opened("the key file", nil, .keyFile, keyTwo),
      opened("the systemd credential", nil, .systemdCredential, [UInt8](repeating: 3, count: 32)),
      typed("the recovery code", nil, code),
      typed("another recovery code", Refusal(107, "wrong-key"), other),
      opened(
        "a key, where the passphrase's slot has costs that nobody pays", nil, .keyFile, keyTwo,
        base.changed { $0[57] = 17 }),
      parsed("a later format's label", Refusal(101, "newer-format"), base.changed { $0[5] = UInt8(ascii: "2") }),
      parsed("another label", identity(102), base.changed { $0[7] = UInt8(ascii: "I") }),
      parsed("nothing", identity(102), []),
      parsed("a wrong hash", identity(102), whole.dropLast() + [whole.last! ^ 1]),
      parsed("a file cut short", identity(102), Array(whole.dropLast())),
      parsed("an unknown kind", Refusal(103, "newer-format"), base.changed { $0[50] = 3 }),
      parsed("an unknown use", Refusal(103, "newer-format"), base.changed { $0[slot + 1] = 5 }),
      parsed("a key's kind for a passphrase", Refusal(103, "newer-format"), base.changed { $0[50] = 2 }),
      parsed("a slot cut short", identity(104), base.changed { $0.removeLast() }),
      parsed("a byte left over", identity(104), base.changed { $0.append(0) }),
      parsed("costs of a key", identity(104), base.changed { $0[slot + 7] = 1 }),
      parsed("no slot", identity(105), base.changed { $0 = Array($0[..<48]) + [0, 0] }),
      parsed(
        "65 slots", identity(105),
        base.changed { bytes in
          let one = Array(bytes[slot..<slot + 116])
          bytes = Array(bytes[..<48]) + [0, 65]
          for number in 1...65 as ClosedRange<UInt8> { bytes += Array(one[..<2]) + [0, number] + one[4...] }
        }),
      parsed("two slots of one number", identity(105), base.changed { $0[slot + 3] = 1 }),
      parsed(
        "two slots for passphrases", identity(105),
        base.changed {
          $0[slot] = 1
          $0[slot + 1] = 1
        }),
      opened(
        "17 passes", Refusal(106, "over-limit"), .passphrase, base.passphrase, base.changed { $0[57] = 17 }),
      opened("no pass", Refusal(106, "over-limit"), .passphrase, base.passphrase, base.changed { $0[57] = 0 }),
      opened(
        "memory below 8 MiB", Refusal(106, "over-limit"), .passphrase, base.passphrase,
        base.changed { $0.replaceSubrange(58..<62, with: [0, 0, 0x1F, 0xFF]) }),
      opened(
        "memory above 1 GiB", Refusal(106, "over-limit"), .passphrase, base.passphrase,
        base.changed { $0.replaceSubrange(58..<62, with: [0, 0x10, 0, 1]) }),
      opened(
        "5 passes over 1 GiB", Refusal(106, "over-limit"), .passphrase, base.passphrase,
        base.changed { $0.replaceSubrange(54..<62, with: [0, 0, 0, 5, 0, 0x10, 0, 0]) }),
      opened("another passphrase", Refusal(107, "wrong-key"), .passphrase, Array("wrong horse".utf8)),
      opened("another key", Refusal(107, "wrong-key"), .keyFile, [UInt8](repeating: 9, count: 32)),
      opened("a key under another use", Refusal(107, "wrong-key"), .systemdCredential, keyTwo),
      opened(
        "an altered salt", Refusal(107, "wrong-key"), .keyFile, keyTwo, base.changed { $0[slot + 12] ^= 1 }),
      opened("another owner key", Refusal(107, "wrong-key"), .keyFile, keyTwo, base.changed { $0[16] ^= 1 }),
      opened(
        "an altered box", .damaged(108, "slot"), .keyFile, keyTwo, base.changed { $0[slot + 115] ^= 1 }),
      opened(
        "another owner's root seed", .damaged(108, "slot"), .keyFile, keyTwo, try foreignSeed(base, at: slot)),
    ]
  }

  /// A valid slot for the key 02 … 02 around another root seed.
  private static func foreignSeed(_ base: VectorIdentity, at slot: Int) throws -> [UInt8] {
    let old = Array(base.covered[slot..<slot + 116])
    let header = Label("vault1.slot").padded + base.identity.ownerKey.bytes + old[..<28]
    let slotKey = try key(2).derive(Label("vault1.slot.key"), Array(old[12..<28]))
    let box = SealedBox.seal(
      [UInt8](repeating: 5, count: 32), key: slotKey, nonce: Nonce(old[44..<68])!, binding: header)
    return base.changed { $0.replaceSubrange(slot + 68..<slot + 116, with: box) }
  }
}
