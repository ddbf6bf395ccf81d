import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct IdentityVectorTests {
  private let file = VectorFile<IdentityVectors>("identity")

  @Test func `the vectors of the identity match their generator`() throws {
    #expect(try file.holds(IdentityVectors.generate()))
  }

  @Test func `identities open or are refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.openings.contains { $0.refusal != nil })
    for vector in vectors.openings {
      expect(vector.name, vector.refusal) {
        let file = try IdentityFile(parsing: [UInt8](hex: vector.bytes))
        if let code = vector.code {
          let typed = try RecoveryCode(parsing: GuardedBytes(testing: Array(code.utf8)))
          let identity = try file.unlock(key: typed.key(), use: .recoveryCode).identity
          try identity.confirmOwner()
          #expect(identity.testSeed.hex == vectors.rootSeed, "\(vector.name)")
          return
        }
        guard let number = vector.use, let use = Slot.Kind(rawValue: number), let secret = vector.secret else {
          return
        }
        let bytes = try GuardedBytes(testing: [UInt8](hex: secret))
        let identity = try
          (use == .passphrase ? file.unlock(passphrase: bytes) : file.unlock(key: Key(bytes), use: use)).identity
        try identity.confirmOwner()
        #expect(identity.testSeed.hex == vectors.rootSeed, "\(vector.name)")
      }
    }
  }

  @Test func `recovery codes are written, and typed codes read or refused, as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.recoveryCodes.isEmpty && vectors.typedCodes.contains { $0.refusal == nil })
    for vector in vectors.recoveryCodes {
      let code = try RecoveryCode(testing: [UInt8](hex: vector.bytes))
      #expect(try code.testText == vector.code)
      #expect(try code.key().testBytes.hex == vector.key)
      #expect(try RecoveryCode(typing: vector.code).key().testBytes.hex == vector.key)
    }
    for vector in vectors.typedCodes {
      expect(vector.name, vector.refusal) {
        let code = try RecoveryCode(typing: vector.typed)
        let bytes = try [UInt8](hex: #require(vector.bytes))
        #expect(try code.key().testBytes == RecoveryCode(testing: bytes).key().testBytes, "\(vector.name)")
      }
    }
  }

  @Test func `credentials are read or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.credentials.isEmpty && !vectors.refusedCredentials.isEmpty)
    for vector in vectors.credentials {
      let credential = try Credential(parsing: GuardedBytes(testing: [UInt8](hex: vector.bytes)))
      #expect(credential.application == vector.application && credential.issue == vector.issue)
      #expect(unsafe credential.member.withUnsafeBytes { unsafe Array($0) }.hex == vector.memberSeed)
      #expect(credential.floors.map(\.state.epoch) == vector.floors.map(\.epoch))
      #expect(credential.remote?.address == vector.remote?.address)
      #expect(credential.remote?.maxAge == vector.remote?.maxAge)
      #expect(credential.remote?.heartbeat == vector.remote?.heartbeat)
      #expect(credential.remote?.password()?.exportInsecurelyAsString() == vector.remote?.password)
      #expect(try credential.serialized().testBytes.hex == vector.bytes)
    }
    for vector in vectors.refusedCredentials {
      expect(vector.name, vector.refusal) {
        _ = try Credential(parsing: GuardedBytes(testing: [UInt8](hex: vector.bytes)))
      }
    }
  }

  @Test func `sealed credentials are opened or refused as the vectors say`() throws {
    let vectors = try file.load().sealedCredentials
    try #require(vectors.contains { $0.credential != nil } && vectors.contains { $0.refusal != nil })
    for vector in vectors {
      expect(vector.name, vector.refusal) {
        let sealed = try SealedCredential(parsing: GuardedBytes(testing: [UInt8](hex: vector.bytes)))
        #expect(sealed.serialized().hex == vector.bytes)
        let credential = try sealed.open(passphrase: GuardedBytes(testing: [UInt8](hex: vector.passphrase)))
        #expect(try credential.serialized().testBytes.hex == vector.credential)
      }
    }
  }

  @Test func `settings are read or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.settings.isEmpty && !vectors.refusedSettings.isEmpty)
    for vector in vectors.settings {
      let settings = try Settings(parsing: [UInt8](hex: vector.bytes))
      #expect(settings == Settings(keyFile: vector.keyFile, lastBackup: vector.lastBackup))
    }
    for vector in vectors.refusedSettings {
      expect(vector.name, vector.refusal) { _ = try Settings(parsing: [UInt8](hex: vector.bytes)) }
    }
  }

  @Test func `registry items are read or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(!vectors.registry.isEmpty && !vectors.refusedRegistry.isEmpty)
    for vector in vectors.registry {
      let entry = try Registry.Entry(parsing: [UInt8](hex: vector.bytes))
      #expect(entry.presence.rawValue == vector.presence && entry.groupID.bytes.hex == vector.groupID)
    }
    for vector in vectors.refusedRegistry {
      expect(vector.name, vector.refusal) { _ = try Registry.Entry(parsing: [UInt8](hex: vector.bytes)) }
    }
    try #require(!vectors.applications.isEmpty && !vectors.refusedApplications.isEmpty)
    for vector in vectors.applications {
      let known = try Application("app", parsing: [UInt8](hex: vector.bytes))
      #expect(known.issue == vector.issue && known.highestIssue == vector.highestIssue ?? vector.issue)
      #expect(known.standing.code == vector.standing)
      #expect(known.lifetime == (vector.lifetime == 1 ? .survives : .purged))
      #expect(known.created.milliseconds == vector.created && known.issued?.milliseconds == vector.issued)
    }
    for vector in vectors.refusedApplications {
      expect(vector.name, vector.refusal) {
        _ = try Application("app", parsing: [UInt8](hex: vector.bytes))
      }
    }
  }

  @Test func `item names are normalized or refused as the vectors say`() throws {
    let vectors = try file.load()
    try #require(vectors.names.contains { $0.name != nil } && vectors.names.contains { $0.refusal != nil })
    for vector in vectors.names {
      var typed = ""
      for scalar in vector.typed { typed.unicodeScalars.append(try #require(Unicode.Scalar(scalar))) }
      let name = (try? Item.Name(typed)).map { Array($0.description.utf8).hex }
      #expect(name == vector.name, "\(vector.typed)")
    }
  }

  @Test func `every reason to refuse anything but a group has a vector`() throws {
    let vectors = try file.load()
    let refusals =
      vectors.openings.map(\.refusal) + vectors.typedCodes.map(\.refusal) + vectors.refusedCredentials.map(\.refusal)
      + vectors.sealedCredentials.map(\.refusal) + vectors.refusedSettings.map(\.refusal)
      + vectors.refusedRegistry.map(\.refusal) + vectors.names.map(\.refusal)
    let reasons = Set(refusals.compactMap { $0?.reason })
    let expected = [63, 77] + Array(101...109) + Array(121...131) + Array(141...143)
    #expect(reasons == Set(expected))
  }

  private func expect(_ name: String, _ refusal: Refusal?, _ body: () throws -> Void) {
    var found: Refusal?
    do { try body() } catch { found = (error as? VaultError).map(Refusal.init) }
    #expect(found?.outcome == refusal?.outcome && found?.level == refusal?.level, "\(name)")
  }
}

extension Refusal {
  /// The refusal that an error means to a reader.
  fileprivate init(_ error: VaultError) { self.init(0, error.name, error.level) }
}

extension IdentityVectors.CredentialVector.RemoteVector {
  fileprivate var address: String {
    (usesTLS ? "etcds://" : "etcd://") + endpoints.map { "\($0.host):\($0.port)" }.joined(separator: ",")
  }
}
