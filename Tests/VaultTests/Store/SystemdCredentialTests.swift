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

  @Test func `the content of a systemd credential decides whether it is a key or an application's credential`() throws {
    #expect(application(try read(ForeignBytes.credential)) == "com.example.notes")
    guard case .slotKey(let slot) = try read([UInt8](1...32)) else {
      Issue.record("32 bytes are no key")
      return
    }
    #expect(unsafe slot.key.withUnsafeBytes { unsafe Array($0) } == [UInt8](1...32))
    for other in [[], [UInt8](1...31), [UInt8](1...33), Array(ForeignBytes.credential.dropLast())] {
      #expect(throws: VaultError.self) { try read(other) }
    }
    #expect(try SystemdCredential.read(temporary.file("gone")) == nil)
  }

  @Test func `a systemd credential with a group-readable mode is read only if it belongs to root`() throws {
    // systemd grants access to root's file by an access list, which its mode shows as group access. Another user's file is readable by a group.
    if geteuid() == 0 {
      #expect(application(try read(ForeignBytes.credential, mode: 0o440)) == "com.example.notes")
    } else {
      #expect(throws: VaultError.locked(.credential(.openToOthers(mode: 0o440)))) {
        try read(ForeignBytes.credential, mode: 0o440)
      }
    }
    for mode in [UInt32(0o404), 0o420, 0o460] {
      #expect(throws: VaultError.locked(.credential(.openToOthers(mode: mode)))) {
        try read(ForeignBytes.credential, mode: mode)
      }
    }
  }
}
