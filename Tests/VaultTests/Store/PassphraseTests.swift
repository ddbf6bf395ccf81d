import Testing
import Vault

struct StorePassphraseTests {
  @Test func `after a change only the new passphrase opens the store`() throws {
    let store = try StoreFixture()
    try store.open().group("default").set("a", to: "1")
    try store.open().changePassphrase(to: secret("first"))
    try store.open().changePassphrase(to: secret("second"))
    let opened = try SecretStore.open(at: store.location, unlocking: .passphrase(secret("second")))
    #expect(try text(of: opened.group("default").get("a")) == "1")
    #expect(throws: VaultError.wrongKey(.passphrase)) {
      try SecretStore.open(at: store.location, unlocking: .passphrase(secret("first")))
    }
    #expect(try store.value("a") == "1")
  }

  private func text(of secret: consuming Secret) -> String? { secret.exportInsecurelyAsString() }

  private func secret(_ text: String) throws -> Secret {
    try Secret(text)
  }
}
