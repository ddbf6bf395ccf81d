import GroupFile
import Sealing
import TestSupport

@testable import Vault

extension IdentityVectors {
  static func generate() throws -> IdentityVectors {
    let base = try VectorIdentity()
    return IdentityVectors(
      rootSeed: base.identity.testSeed.hex, ownerKey: base.identity.ownerKey.bytes.hex,
      identity: base.file.serialized().hex, slots: try slots(base), openings: try openings(base),
      recoveryCodes: try recoveryCodes(), typedCodes: typedCodes(),
      credentials: try [
        credential(base, floors: true), credential(base, floors: false),
        credential(base, floors: true, RemoteFixture.full()), credential(base, floors: false, RemoteFixture.plain()),
      ].map(vector),
      refusedCredentials: try refusedCredentials(base), sealedCredentials: try sealedCredentials(base),
      settings: [
        Settings(keyFile: "/home/anna/schlüssel", lastBackup: 1_735_689_600_000), Settings(),
      ].map { SettingsVector(bytes: $0.serialized().hex, keyFile: $0.keyFile, lastBackup: $0.lastBackup) },
      refusedSettings: refusedSettings(),
      registry: [Registry.Presence.present, .absent, .changing].map {
        let entry = Registry.Entry(groupID: GroupID([UInt8](countingFrom: 100, count: 32))!, presence: $0, created: 9)
        return RegistryVector(
          bytes: entry.serialized().hex, groupID: entry.groupID.bytes.hex, presence: entry.presence.rawValue,
          created: entry.created)
      },
      refusedRegistry: refusedRegistry(), applications: applications().map(vector),
      refusedApplications: refusedApplications(), names: names())
  }

  // MARK: The credential

  private static func credential(
    _ base: VectorIdentity, floors: Bool, _ remote: Remote? = nil
  ) throws -> Credential {
    let floor = { (group: String, epoch: UInt64) in
      Credential.Floor(
        group: group,
        state: WitnessRecord(
          groupID: GroupID([UInt8](countingFrom: 100, count: 32))!, ownerKey: base.identity.ownerKey, rosterRevision: 2,
          generation: 1, epoch: epoch, link: Digest([UInt8](countingFrom: 3, count: 32))!))
    }
    return Credential(
      issue: 2, ownerKey: base.identity.ownerKey, application: "com.example.notes",
      member: try base.identity.seed(application: "com.example.notes", issue: 2),
      floors: floors ? [floor("com.example.notes", 7), floor("team.shared", 3)] : [], remote: remote)
  }

  private static func vector(_ credential: Credential) throws -> CredentialVector {
    CredentialVector(
      bytes: try credential.serialized().testBytes.hex, issue: credential.issue,
      ownerKey: credential.ownerKey.bytes.hex,
      memberSeed: unsafe credential.member.withUnsafeBytes { unsafe Array($0) }.hex,
      application: credential.application,
      floors: credential.floors.map {
        .init(
          group: $0.group, groupID: $0.state.groupID.bytes.hex, rosterRevision: $0.state.rosterRevision,
          generation: $0.state.generation, epoch: $0.state.epoch, link: $0.state.link.bytes.hex)
      }, remote: credential.remote.map(vector))
  }

  private static func vector(_ remote: Remote) -> CredentialVector.RemoteVector {
    CredentialVector.RemoteVector(
      name: remote.name, usesTLS: remote.usesTLS,
      endpoints: remote.endpoints.map { .init(host: $0.host, port: $0.port) },
      authority: remote.authority, certificate: remote.certificate, user: remote.user,
      key: remote.key()?.exportInsecurelyAsString(), password: remote.password()?.exportInsecurelyAsString(),
      maxAge: remote.maxAge, heartbeat: remote.heartbeat)
  }

  private static func refusedCredentials(_ base: VectorIdentity) throws -> [Parsing] {
    let remoteless = try credential(base, floors: true).serialized().testBytes
    let remote = try credential(base, floors: false, RemoteFixture.plain()).serialized().testBytes
    func refused(
      _ name: String, of whole: [UInt8]? = nil, _ refusal: Refusal, _ change: (inout [UInt8]) -> Void
    ) -> Parsing {
      var bytes = Array((whole ?? remoteless).dropLast(32))
      change(&bytes)
      return Parsing(name: name, bytes: VectorIdentity.hashed(bytes, "vault1.cred.hash").hex, refusal: refusal)
    }
    let damaged = { (reason: Int) in Refusal.damaged(reason, "credential") }
    // The first floor starts after the id and the count; each has 2 + n + 88 bytes.
    let floors = 90 + 17 + 2
    let first = floors..<floors + 2 + 17 + 88
    // Without floors, the remote's fields start after two counts of four bytes.
    let fields = floors + 8
    let transport = fields + 2 + "office".utf8.count + 2
    return [
      refused("a later format's label", Refusal(121, "newer-format")) { $0[5] = UInt8(ascii: "2") },
      refused("another label", damaged(122)) { $0[7] = UInt8(ascii: "A") },
      refused("a file cut short", damaged(122)) { $0 = Array($0[..<80]) },
      refused("more than 65,536 bytes", damaged(122)) { $0 += [UInt8](repeating: 0, count: 65_536) },
      refused("version 5", Refusal(123, "newer-format")) { $0[17] = 5 },
      Parsing(
        name: "a wrong hash", bytes: (remoteless.dropLast() + [remoteless.last! ^ 1]).hex, refusal: damaged(124)),
      refused("a flag", damaged(125)) { $0[19] = 1 },
      refused("an application id that is no name", damaged(126)) { $0[90] = UInt8(ascii: "C") },
      refused("a group name that is no name", damaged(126)) { $0[first.lowerBound + 2] = UInt8(ascii: "-") },
      refused("floors out of order", damaged(126)) {
        let moved = $0[first]
        $0.removeSubrange(first)
        $0 += moved
      },
      refused("a floor twice", damaged(126)) {
        $0[floors - 1] = 3
        $0.insert(contentsOf: $0[first], at: first.upperBound)
      },
      refused("a floor too few", damaged(126)) { $0[floors - 1] = 3 },
      refused("a byte left over", damaged(126)) { $0.append(0) },
      refused("an epoch of 2^53", damaged(126)) { $0[first.upperBound - 39] = 0x20 },
      refused("version 3 without a remote", damaged(126)) { $0[17] = 3 },
      refused("version 1 with a remote", of: remote, damaged(126)) { $0[17] = 1 },
      refused("more than 131,072 bytes", of: remote, damaged(122)) { $0 += [UInt8](repeating: 0, count: 131_072) },
      refused("a byte after the remote", of: remote, damaged(126)) { $0.append(0) },
      refused("a remote cut short", of: remote, damaged(126)) { $0.removeLast() },
      // The remote: the count of all, the count of the fields, and the field of its name.
      refused("a remote with an unknown field", of: remote, Refusal(130, "newer-format")) {
        let end = fields + Int($0[fields - 1])
        $0.insert(contentsOf: [9, 0], at: end)
        $0[fields - 1] += 2
        $0[fields - 5] += 2
      },
      refused("a remote whose name is no name", of: remote, damaged(131)) { $0[fields + 2] = UInt8(ascii: "/") },
      refused("a remote with an unknown transport", of: remote, damaged(131)) { $0[transport] = 3 },
      refused("a remote without TLS that has a port of 0", of: remote, damaged(131)) {
        $0[transport + 3] = 0
        $0[transport + 4] = 0
      },
    ]
  }

  private static func sealedCredentials(_ base: VectorIdentity) throws -> [SealedCredentialVector] {
    let credential = try credential(base, floors: true)
    let open = try credential.serialized().testBytes
    let withRemote = try self.credential(base, floors: true, RemoteFixture.full()).serialized().testBytes
    let passphrase = Array("für Anna".utf8)
    let whole = try SealedCredential(
      credential, passphrase: GuardedBytes(testing: passphrase), cost: .init(passes: 1, memoryKiB: 8_192),
      salt: [UInt8](countingFrom: 50, count: 16), nonce: Nonce([UInt8](countingFrom: 70, count: 24))!
    ).serialized()
    func vector(
      _ name: String, _ refusal: Refusal?, passphrase: [UInt8], _ change: (inout [UInt8]) -> Void = { _ in }
    ) -> SealedCredentialVector {
      var bytes = Array(whole.dropLast(32))
      change(&bytes)
      return SealedCredentialVector(
        name: name, bytes: VectorIdentity.hashed(bytes, "vault1.cred.hash").hex, passphrase: passphrase.hex,
        credential: refusal == nil ? open.hex : nil, refusal: refusal)
    }
    let damaged = { (reason: Int) in Refusal.damaged(reason, "credential") }
    var altered = vector("a wrong hash", damaged(124), passphrase: passphrase)
    altered.bytes = (whole.dropLast() + [whole.last! ^ 1]).hex
    return [
      vector("a sealed credential", nil, passphrase: passphrase),
      altered,
      vector("a flag", damaged(125), passphrase: passphrase) { $0[19] = 1 },
      vector("too few bytes", damaged(122), passphrase: passphrase) { $0 = Array($0[..<80]) },
      vector("costs beyond the limits", Refusal(127, "over-limit"), passphrase: passphrase) { $0[20] = 1 },
      vector("another passphrase", Refusal(128, "wrong-key"), passphrase: Array("für anna".utf8)),
      vector("another salt", Refusal(128, "wrong-key"), passphrase: passphrase) { $0[30] ^= 1 },
      vector("a box that does not open", damaged(129), passphrase: passphrase) { $0[90] ^= 1 },
      try sealing("a box that holds no credential", [UInt8](repeating: 7, count: 125), passphrase, version: 2),
      try sealing("version 4 with a remote", withRemote, passphrase, version: 4, opens: true),
      try sealing("version 4 without a remote", open, passphrase, version: 4),
      try sealing("version 2 with a remote", withRemote, passphrase, version: 2),
    ]
  }

  /// Seals bytes under any version.
  private static func sealing(
    _ name: String, _ content: [UInt8], _ passphrase: [UInt8], version: UInt8, opens: Bool = false
  ) throws -> SealedCredentialVector {
    var header = Label("vault1.app.cred").padded + [0, version, 0, 0, 0, 0, 0, 1, 0, 0, 0x20, 0]
    let salt = [UInt8](countingFrom: 50, count: 16)
    header += salt
    let key = try Passphrase.stretch(
      GuardedBytes(testing: passphrase), salt: salt, cost: .init(passes: 1, memoryKiB: 8_192))
    let nonce = Nonce([UInt8](countingFrom: 70, count: 24))!
    let check = Array(key.mac(Label("vault1.cred.chk"), header).bytes.prefix(16))
    let bytes = header + check + nonce.bytes + SealedBox.seal(content, key: key, nonce: nonce, binding: header)
    return SealedCredentialVector(
      name: name, bytes: VectorIdentity.hashed(bytes, "vault1.cred.hash").hex, passphrase: passphrase.hex,
      credential: opens ? content.hex : nil, refusal: opens ? nil : .damaged(129, "credential"))
  }

  // MARK: The settings

  private static func refusedSettings() -> [Parsing] {
    let whole = Settings(keyFile: "/home/anna/key", lastBackup: 5).serialized()
    func refused(_ name: String, _ refusal: Refusal, _ change: (inout [UInt8]) -> Void) -> Parsing {
      var bytes = Array(whole.dropLast(32))
      change(&bytes)
      return Parsing(name: name, bytes: VectorIdentity.hashed(bytes, "vault1.set.hash").hex, refusal: refusal)
    }
    let damaged = { (reason: Int) in Refusal.damaged(reason, "settings") }
    return [
      refused("a later format's label", Refusal(141, "newer-format")) { $0[5] = UInt8(ascii: "9") },
      refused("another label", damaged(142)) { $0[7] = UInt8(ascii: "S") },
      Parsing(name: "a wrong hash", bytes: (whole.dropLast() + [whole.last! ^ 1]).hex, refusal: damaged(142)),
      refused("a path longer than the file", damaged(143)) { $0[16] = 1 },
      refused("a path that is not UTF-8", damaged(143)) { $0[18] = 255 },
      refused("a time of 2^53", damaged(143)) { $0[$0.count - 7] = 0x20 },
      refused("a byte left over", damaged(143)) { $0.append(0) },
    ]
  }

  // MARK: Registry and names

  private static func refusedRegistry() -> [Parsing] {
    let whole = Registry.Entry(groupID: .zero, presence: .present, created: 9).serialized()
    func damaged(_ name: String, _ bytes: [UInt8]) -> Parsing {
      Parsing(name: name, bytes: bytes.hex, refusal: .damaged(77, "registry"))
    }
    return [
      Parsing(
        name: "an unknown tag", bytes: (whole + [4, 0]).hex, refusal: Refusal(77, "newer-format")),
      damaged("nothing", []),
      damaged("no date", Array(whole.dropLast(3))),
      damaged("a date cut short", Array(whole.dropLast())),
      damaged("an unknown presence", Array(whole[..<36]) + [4] + whole[37...]),
      damaged("a group id of 31 bytes", [1, 31] + whole[3...]),
      damaged("fields out of order", Array(whole[34...] + whole[..<34])),
    ]
  }

  private static func applications() -> [Application] {
    func application(
      _ issue: UInt32, highest: UInt32, _ standing: Application.Standing, _ lifetime: GroupLifetime, created: UInt64,
      issued: UInt64?
    ) -> Application {
      Application(
        id: "app", issue: issue, highestIssue: highest, standing: standing, lifetime: lifetime,
        created: Timestamp(milliseconds: created), issued: issued.map(Timestamp.init(milliseconds:)))
    }
    return [
      application(1, highest: 1, .issued, .survives, created: 1_735_689_600_000, issued: 1_735_689_600_001),
      application(1, highest: 1, .interrupted, .purged, created: 9, issued: nil),
      application(256, highest: 1_280, .uninstalled, .purged, created: 9, issued: 10),
      application(.max, highest: .max, .revoked, .survives, created: 9, issued: 10),
    ]
  }

  private static func vector(_ application: Application) -> ApplicationVector {
    ApplicationVector(
      bytes: application.serialized().hex, issue: application.issue,
      highestIssue: application.highestIssue == application.issue ? nil : application.highestIssue,
      standing: application.standing.code, lifetime: application.lifetime == .survives ? 1 : 2,
      created: application.created.milliseconds, issued: application.issued?.milliseconds)
  }

  private static func refusedApplications() -> [Parsing] {
    // Five fields of one byte each: issue 2, a credential, lifetime "survives", dates 9 and 10.
    let whole: [UInt8] = [1, 1, 2, 2, 1, 1, 3, 1, 1, 4, 1, 9, 5, 1, 10]
    func damaged(_ name: String, _ bytes: [UInt8]) -> Parsing {
      Parsing(name: name, bytes: bytes.hex, refusal: .damaged(77, "registry"))
    }
    return [
      Parsing(name: "an unknown tag", bytes: (whole + [7, 0]).hex, refusal: Refusal(77, "newer-format")),
      damaged("an application without fields", []),
      damaged("no issue", Array(whole[3...])),
      damaged("no date of issue", Array(whole[..<12])),
      damaged("issue 0", [1, 0] + whole[3...]),
      damaged("issue 2^32", [1, 5, 1, 0, 0, 0, 0] + whole[3...]),
      damaged("a highest issue that is the issue", whole + [6, 1, 2]),
      damaged("a highest issue of 2^32", whole + [6, 5, 1, 0, 0, 0, 0]),
      damaged("an unknown standing", whole[..<5] + [5] + whole[6...]),
      damaged("an unknown lifetime", whole[..<8] + [3] + whole[9...]),
      damaged("a number with a zero in front", [1, 2, 0, 2] + whole[3...]),
      damaged("fields of an application out of order", Array(whole[3...]) + whole[..<3]),
    ]
  }

  private static func names() -> [NameVector] {
    [
      "db/password", "schlüssel", "schlu\u{308}ssel", "\u{212B}", "鍵/🔑", "\u{1112}\u{1161}\u{11AB}",
      String(repeating: "a", count: 1_024), "", String(repeating: "a", count: 1_025),
      String(repeating: "ä", count: 513), "a\nb", "a\u{7F}", "a\u{85}", "a\u{2028}", "a\u{378}", "a\u{2EE5D}",
      // A noncharacter, which a literal cannot contain.
      "a" + String(Unicode.Scalar(0xFDD0 as UInt16)!),
    ].map { (typed: String) in
      let scalars = typed.unicodeScalars.map(\.value)
      do throws(VaultError) {
        return NameVector(typed: scalars, name: Array(try Item.Name(typed).description.utf8).hex)
      } catch {
        return NameVector(typed: scalars, refusal: .damaged(63, "row"))
      }
    }
  }
}
