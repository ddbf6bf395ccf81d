import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct IdentityTests {
  // Root seed 00 01 … 1f; computed with Python's hashlib and PyNaCl.
  @Test func `the owner's key is derived from the root seed`() throws {
    let identity = try Identity.testing()
    #expect(identity.ownerKey.bytes.hex == "9bfca602b6aa19ea01bff51d438bab03c5579cfd46611cb8c6d15fca8f039d34")
    #expect(try identity.ownerKey.verifies(identity.rosterSigningKey().sign([7]), of: [7]))
  }

  @Test func `every member seed is derived from the root seed`() throws {
    let identity = try Identity.testing()
    try expect(
      identity.registryMember(), seed: "017ea529c47f33463601e50a15cdc8a223b5999928fc89b37d384be44c115be9",
      key: "af63477941ec798a994abc99564402e3dc62e134540adb467fdb2c71be039cfc")
    try expect(
      identity.personalMember(), seed: "8fd6c642dc4c7d21fbca2da7b199a9e5e0729529090d73196e3c7e897a8a4cad",
      key: "2920e84d93796d25dae0de21f8c9e626d2be2d1bf82254d1e2e35c0c7d7e8809")
    try expect(
      identity.seed(application: "com.example.notes", issue: 2),
      seed: "1e921bffa84945dedd8161b0ff1f35c22d838c5b3d40354f62f23fc191b03034",
      key: "9390f28339c4946b3600c7b43e8bd36dafc6b50108a7fca1f2e1a466dce0572d")
  }

  private func expect(_ member: MemberSeed, seed: String, key: String) throws {
    #expect(unsafe member.withUnsafeBytes { unsafe Array($0) }.hex == seed)
    #expect(try member.signingPublicKey.bytes.hex == key)
  }

  @Test func `another id or issue gives another application seed`() throws {
    let identity = try Identity.testing()
    let members = try [("a", 1), ("a", 2), ("b", 1)].map {
      try identity.seed(application: $0.0, issue: UInt32($0.1)).signingPublicKey
    }
    #expect(Set(members).count == 3)
  }

  @Test func `two new identities differ`() throws {
    #expect(try Identity.random().ownerKey != Identity.random().ownerKey)
  }
}
