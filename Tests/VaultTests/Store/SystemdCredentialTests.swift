import Foundation
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct SystemdCredentialTests {
  private let temporary = TemporaryFolder()

  private func read(_ bytes: [UInt8], mode: UInt32 = 0o400) throws -> [UInt8]? {
    try CredentialFile.ofSystemd(temporary.write("vault-\(bytes.count)-\(mode)", bytes, mode: mode))?.testBytes
  }

  @Test func `the content of a systemd credential decides whether it is a key or an application's credential`() throws {
    let store = try StoreFixture()
    let service = try StoreLocation(environment: [
      "VAULT_HOME": store.folder + "/home", "VAULT_STATE": store.folder + "/state",
      "CREDENTIALS_DIRECTORY": temporary.path,
    ])
    func open(_ bytes: [UInt8]) throws -> StoreAccess {
      try? FileManager.default.removeItem(atPath: temporary.file("vault"))
      _ = temporary.write("vault", bytes, mode: 0o400)
      return try StoreAccess.open(service, .automatic())
    }
    guard case .application(let credential) = try open(ForeignBytes.credential) else {
      Issue.record("the credential was not recognized")
      return
    }
    #expect(credential.application == "com.example.notes")
    #expect(throws: VaultError.locked(.noSlot(.systemdCredential))) { try open([UInt8](1...32)) }
    for other in [[], [UInt8](1...31), [UInt8](1...33), Array(ForeignBytes.credential.dropLast())] {
      let error = #expect(throws: VaultError.self) { try open(other) }
      #expect(error?.exitStatus == .damaged)
    }
    #expect(try CredentialFile.ofSystemd(temporary.file("gone")) == nil)
  }

  @Test func `a systemd credential with a group-readable mode is read only if it belongs to root`() throws {
    // systemd grants access to root's file by an access list, which its mode shows as group access. Another user's file is readable by a group.
    if geteuid() == 0 {
      #expect(try read(ForeignBytes.credential, mode: 0o440) == ForeignBytes.credential)
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
