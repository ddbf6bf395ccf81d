import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct SystemdCredentialTests {
  private let temporary = TemporaryFolder()

  private func read(_ bytes: [UInt8], mode: UInt32 = 0o400) throws -> SystemdCredential? {
    try SystemdCredential.read(temporary.write("vault-\(bytes.count)-\(mode)", bytes, mode: mode))
  }

  private func application(_ content: SystemdCredential?) -> String? {
    if case .application(let credential) = content { return credential.application }
    return nil
  }

  @Test func `what systemd gives decides by its content what it is`() throws {
    #expect(application(try read(ForeignBytes.credential)) == "com.example.notes")
    guard case .slotKey(let slot) = try read([UInt8](1...32)) else {
      Issue.record("32 bytes are no key")
      return
    }
    #expect(unsafe slot.key.withUnsafeBytes { unsafe Array($0) } == [UInt8](1...32))
    for other in [[], [UInt8](1...31), [UInt8](1...33), Array(ForeignBytes.credential.dropLast())] {
      #expect(throws: IdentityError.self) { try read(other) }
    }
    #expect(try SystemdCredential.read(temporary.file("gone")) == nil)
  }

  @Test func `a credential that systemd gives by an access list is read, although its mode shows a group`() throws {
    // Root's file may show a group; another user's is readable by that group.
    if geteuid() == 0 {
      #expect(application(try read(ForeignBytes.credential, mode: 0o440)) == "com.example.notes")
    } else {
      #expect(throws: IdentityError.locked(.credential(.openToOthers(mode: 0o440)))) {
        try read(ForeignBytes.credential, mode: 0o440)
      }
    }
    for mode in [UInt32(0o404), 0o420, 0o460] {
      #expect(throws: IdentityError.locked(.credential(.openToOthers(mode: mode)))) {
        try read(ForeignBytes.credential, mode: mode)
      }
    }
  }
}
