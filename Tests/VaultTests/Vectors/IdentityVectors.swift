import GroupFile
import Sealing
import TestSupport

@testable import Vault

/// `identity.json`: the identity file, the credential, the settings, registry items and item names.
struct IdentityVectors: Codable, Equatable {
  struct SlotVector: Codable, Equatable {
    var number: UInt16
    var use: UInt8
    /// The passphrase's bytes, or the key.
    var secret: String
    var passes: UInt32
    var memoryKiB: UInt32
    var salt: String
    var header: String
    var slotKey: String
    var check: String
    var nonce: String
    var sealedSeed: String
  }

  struct Opening: Codable, Equatable {
    var name: String
    var bytes: String
    /// The secret that is tried. Absent if the file is only parsed.
    var use: UInt8?
    var secret: String?
    /// A recovery code as typed, in place of `secret`.
    var code: String?
    /// Absent if the root seed opens.
    var refusal: Refusal?
  }

  /// A recovery code from its bytes to the key, with every intermediate value.
  struct RecoveryVector: Codable, Equatable {
    var bytes: String
    /// Five bits each, four values per group.
    var values: [UInt8]
    /// The check character of each group.
    var checks: [UInt8]
    var code: String
    var key: String
  }

  struct TypedCode: Codable, Equatable {
    var name: String
    var typed: String
    /// Absent if the code is refused.
    var bytes: String?
    /// The groups that the refusal should name, counted from 1.
    var groups: [Int]?
    var refusal: Refusal?
  }

  struct Parsing: Codable, Equatable {
    var name: String
    var bytes: String
    var refusal: Refusal?
  }

  /// A sealed credential and its content.
  struct SealedCredentialVector: Codable, Equatable {
    var name: String
    var bytes: String
    var passphrase: String
    var credential: String?
    var refusal: Refusal?
  }

  struct CredentialVector: Codable, Equatable {
    struct Floor: Codable, Equatable {
      var group: String
      var groupID: String
      var rosterRevision: UInt64
      var generation: UInt64
      var epoch: UInt64
      var link: String
    }

    struct Endpoint: Codable, Equatable {
      var host: String
      var port: UInt16
    }

    struct RemoteVector: Codable, Equatable {
      var name: String
      var usesTLS: Bool
      var endpoints: [Endpoint]
      var authority: String?
      var certificate: String?
      var user: String?
      var key: String?
      var password: String?
      var maxAge: UInt32?
      var heartbeat: UInt32?
    }

    var bytes: String
    var issue: UInt32
    var ownerKey: String
    var memberSeed: String
    var application: String
    var floors: [Floor]
    /// Absent in version 1.
    var remote: RemoteVector?
  }

  struct SettingsVector: Codable, Equatable {
    var bytes: String
    var keyFile: String?
    var lastBackup: UInt64?
  }

  struct RegistryVector: Codable, Equatable {
    var bytes: String
    var groupID: String
    var presence: UInt8
    var created: UInt64
  }

  struct ApplicationVector: Codable, Equatable {
    var bytes: String
    var issue: UInt32
    /// Absent if it equals the issue.
    var highestIssue: UInt32?
    var standing: UInt8
    /// 1: the group survives uninstalling; 2: it is purged.
    var lifetime: UInt8
    var created: UInt64
    /// Absent if no credential was ever written.
    var issued: UInt64?
  }

  struct NameVector: Codable, Equatable {
    /// The typed name as Unicode scalars.
    var typed: [UInt32]
    /// The name in NFC as UTF-8 bytes. Absent if it is refused.
    var name: String?
    var refusal: Refusal?
  }

  var about = """
    The identity of the root seed 00 … 1f with a slot for a passphrase and three for keys, and the other files that are no groups. \
    Byte strings are hexadecimal.
    """
  var rootSeed: String
  var ownerKey: String
  var identity: String
  var slots: [SlotVector]
  var openings: [Opening]
  var recoveryCodes: [RecoveryVector]
  var typedCodes: [TypedCode]
  var credentials: [CredentialVector]
  var refusedCredentials: [Parsing]
  var sealedCredentials: [SealedCredentialVector]
  var settings: [SettingsVector]
  var refusedSettings: [Parsing]
  var registry: [RegistryVector]
  var refusedRegistry: [Parsing]
  var applications: [ApplicationVector]
  var refusedApplications: [Parsing]
  var names: [NameVector]
}

/// The identity that its vectors change.
struct VectorIdentity {
  let identity: Identity
  let file: IdentityFile
  let passphrase = Array("correct horse".utf8)
  let recoveryCode: RecoveryCode

  init() throws {
    identity = try Identity.testing()
    recoveryCode = try RecoveryCode(testing: [UInt8](countingFrom: 0x80, count: 20))
    var file = IdentityFile(
      ownerKey: identity.ownerKey,
      first: try Slot(
        number: 1, passphrase: GuardedBytes(testing: passphrase), cost: cheap, sealing: identity,
        salt: [UInt8](countingFrom: 1, count: 16), nonce: VectorIdentity.nonce(1)))
    for (number, use) in [(2, .keyFile), (3, .systemdCredential)] as [(UInt8, Slot.Kind)] {
      try file.add(
        Slot(
          number: Int(number), key: key(number), use: use, sealing: identity,
          salt: [UInt8](countingFrom: number, count: 16), nonce: VectorIdentity.nonce(number)))
    }
    try file.add(
      Slot(
        number: 4, key: recoveryCode.key(), use: .recoveryCode, sealing: identity,
        salt: [UInt8](countingFrom: 4, count: 16), nonce: VectorIdentity.nonce(4)))
    self.file = file
  }

  static func nonce(_ number: UInt8) -> Nonce { Nonce([UInt8](countingFrom: number * 16, count: 24))! }

  /// The bytes that the hash covers.
  var covered: [UInt8] { Array(file.serialized().dropLast(32)) }

  /// The file with other bytes and a correct hash.
  func changed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
    var bytes = covered
    change(&bytes)
    return Self.hashed(bytes, "vault1.id.hash")
  }

  static func hashed(_ bytes: [UInt8], _ label: StaticString) -> [UInt8] {
    bytes + Hash.digest(Label(label), bytes).bytes
  }
}
