internal import Sealing

/// What the identity file says of one slot: a way to open the store. It tells nothing about the passphrase or key.
public struct SlotInfo: Sendable, Equatable {
  /// Names the slot: ``SecretStore/removeSlot(_:)`` takes it.
  public let number: Int
  public let kind: Kind
  /// What a passphrase is stretched with; `nil` for a key, which needs no stretching.
  public let cost: Cost?

  /// What opens a slot.
  @nonexhaustive
  public enum Kind: String, Sendable {
    case passphrase
    case keyFile = "key file"
    case recoveryCode = "recovery code"
    case systemdCredential = "systemd credential"
  }

  /// What each guess of a passphrase costs: Argon2id.
  public struct Cost: Sendable, Equatable {
    /// How often the memory is gone through.
    public let passes: Int
    /// The memory, in KiB.
    public let memoryKiB: Int
  }
}

extension SlotInfo {
  init(_ slot: Slot) {
    number = Int(slot.number)
    kind = Kind(slot.use)
    let cost = Cost(passes: Int(slot.cost.passes), memoryKiB: Int(slot.cost.memoryKiB))
    self.cost = slot.use == .passphrase ? cost : nil
  }
}

extension SlotInfo.Kind {
  init(_ use: Slot.Use) {
    switch use {
    case .passphrase: self = .passphrase
    case .keyFile: self = .keyFile
    case .recoveryCode: self = .recoveryCode
    case .systemd: self = .systemdCredential
    }
  }
}
