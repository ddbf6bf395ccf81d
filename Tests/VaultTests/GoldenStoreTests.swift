import Foundation
import Testing
import Vault

/// Stores that earlier versions made and that every later version must open: `Tests/Golden/format-N`, made by `tools/golden-store`.
@Suite struct GoldenStoreTests {
  /// A copy of a golden store with the right modes, which git does not keep.
  private final class Golden {
    let folder = NSTemporaryDirectory() + "vault-golden-\(UUID().uuidString)"

    init(_ name: String) throws {
      let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Golden/" + name).path
      let files = FileManager.default
      try files.copyItem(atPath: source, toPath: folder)
      for path in try [""] + files.subpathsOfDirectory(atPath: folder) {
        var isFolder: ObjCBool = false
        _ = unsafe files.fileExists(atPath: folder + "/" + path, isDirectory: &isFolder)
        try files.setAttributes(
          [.posixPermissions: isFolder.boolValue ? 0o700 : 0o600], ofItemAtPath: folder + "/" + path)
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func location(state: String = "state") throws -> StoreLocation {
      try StoreLocation(home: folder + "/store", state: folder + "/" + state)
    }

    func open(_ unlocking: consuming Unlocking? = nil) throws -> SecretStore {
      try SecretStore.open(at: location(), unlocking: unlocking ?? .keyFile(folder + "/key"))
    }

    func line(_ file: String) throws -> Secret {
      let text = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
      return try Secret(text.trimmingCharacters(in: .newlines))
    }
  }

  @Test func `everything in a store of format 1 can be proved and read`() throws {
    let golden = try Golden("format-1")
    let store = try golden.open()
    for verification in try store.verify() {
      #expect(throws: Never.self, "\(verification.name)") { try verification.result.get() }
    }
    #expect(
      try store.groupNames() == ["com.example.api", "com.example.web", "default", "device.bound", "team.shared"])
    let shared = try store.group("team.shared")
    #expect(try store.value("db/password", in: "team.shared") == "second")
    #expect(try shared.get("db/password", version: 1).exportInsecurelyAsString() == "first")
    #expect(try shared.get("large").count == 100_000)
    #expect(try shared.items(prefix: "many/").count == 100)
    #expect(try shared.history("removed").map(\.isRemoved) == [true, false])
    #expect(try shared.history("destroyed").map(\.isRemoved) == [true])
    let item = try shared.history("db/password")
    #expect(item[0].writer == .application("com.example.web", issue: 1) && item[1].writer == .owner)
    #expect(item[1].label == "A label" && item[1].attributes == ["env": "prod"] && item[1].expires != nil)
    #expect(try store.value("bound", in: "device.bound") == "bound")
    #expect(try store.value("鍵/ü", in: "default") == "鍵")
    let kinds = try store.group("default").items(prefix: "typed/").map { "\($0.name) \($0.kind.name)" }
    #expect(
      kinds == [
        "typed/bool bool", "typed/date date", "typed/int int", "typed/json json", "typed/uuid uuid",
      ])
    #expect(try store.exposure().map(\.item.description).contains("large"))
  }

  @Test func `every slot of a store of format 1 opens it`() throws {
    let golden = try Golden("format-1")
    let systemd = try StoreLocation(environment: [
      "VAULT_HOME": golden.folder + "/store", "VAULT_STATE": golden.folder + "/state",
      "CREDENTIALS_DIRECTORY": golden.folder + "/credentials",
    ])
    try FileManager.default.createDirectory(
      atPath: golden.folder + "/credentials", withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try FileManager.default.moveItem(
      atPath: golden.folder + "/systemd-key", toPath: golden.folder + "/credentials/vault")
    for store in [
      try golden.open(.passphrase(golden.line("passphrase"))),
      try golden.open(.recoveryCode(golden.line("recovery-code"))), try SecretStore.open(at: systemd),
    ] {
      #expect(try store.value("鍵/ü", in: "default") == "鍵")
    }
  }

  @Test func `the applications of a store of format 1 reach their groups`() throws {
    let golden = try Golden("format-1")
    // This machine has seen nothing yet.
    try FileManager.default.createDirectory(
      atPath: golden.folder + "/fresh", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let location = try golden.location(state: "fresh")
    let api = try SecretStore.open(at: location, credential: golden.folder + "/api.credential")
    #expect(try api.value("db/password", in: "team.shared") == "second")
    #expect(try api.value("mine", in: "com.example.api") == "mine")
    #expect(throws: VaultError.denied(.readOnly)) { try api.group("team.shared").remove("large") }
    let web = try SecretStore.open(at: location, credential: golden.folder + "/web.credential")
    #expect(throws: VaultError.denied(.notAMember)) { try web.group("team.shared").items() }
  }

  @Test func `a store of format 1 can be written to`() throws {
    let golden = try Golden("format-1")
    try golden.open().group("team.shared").set("new", to: "value")
    try golden.open().rotateGroup("team.shared")
    try golden.open().grant(.read, in: "default", to: "com.example.api")
    #expect(try golden.open().value("new", in: "team.shared") == "value")
    for verification in try golden.open().verify() { #expect(throws: Never.self) { try verification.result.get() } }
  }
}
