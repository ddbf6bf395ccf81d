import Glibc
import Sealing
import TestSupport
import Testing

@testable import Vault

@Suite struct SettingsTests {
  private let temporary = TemporaryFolder()
  private let owner = PublicKey([UInt8](repeating: 7, count: 32))!
  private var name: String { Settings.fileName(of: owner) }

  @Test(
    arguments: [
      Settings(), Settings(keyFile: "/home/ä/key"), Settings(lastBackup: 1_700_000_000_000),
      Settings(keyFile: "/k", lastBackup: 1),
    ])
  func `settings read back as they were written`(settings: Settings) throws {
    #expect(try Settings(parsing: settings.serialized()) == settings)
  }

  @Test func `the bytes of the settings are the documented ones`() {
    // Python: hashlib.blake2b(before, digest_size=32, person=b"vault1.set.hash\0")
    #expect(
      Settings(keyFile: "/k", lastBackup: 258).serialized().hex
        == "7661756c74312e73657474696e677300" + "00022f6b" + "0000000000000102"
        + "b4a83917b44a3e398254197c7a719a95d529204ca87635b3eedc8895d355057f")
  }

  @Test func `settings with a flipped bit are refused`() {
    let bytes = Settings(keyFile: "/k", lastBackup: 1).serialized()
    for bit in 0..<bytes.count * 8 {
      var altered = bytes
      altered[bit / 8] ^= 1 << (bit % 8)
      #expect(throws: VaultError.self) { try Settings(parsing: altered) }
    }
    #expect(throws: VaultError.self) { try Settings(parsing: []) }
  }

  @Test func `a path that is not UTF-8 or is too long is refused`() {
    for path in [[0xFF, 0xFE], [UInt8](repeating: 0x61, count: 4097)] as [[UInt8]] {
      var writer = ByteWriter()
      writer.write(Label("vault1.settings"))
      writer.writeCounted16(path)
      writer.write(UInt64(0))
      writer.write(Hash.digest(Label("vault1.set.hash"), writer.bytes))
      #expect(throws: VaultError.damaged(group: nil, level: .settings, detail: "their fields do not follow the format"))
      {
        try Settings(parsing: writer.bytes)
      }
    }
  }

  @Test func `without a state folder or file there are no settings`() throws {
    #expect(try Settings.read(in: temporary.file("no"), of: owner) == Settings())
    #expect(try Settings.read(in: temporary.path, of: owner) == Settings())
  }

  @Test func `a change of the settings is written for the owner alone and leaves no other file`() throws {
    try Settings.change(in: temporary.path, of: owner) { $0.keyFile = "/a/key" }
    try Settings.change(in: temporary.path, of: owner) { $0.lastBackup = 5 }
    #expect(try Settings.read(in: temporary.path, of: owner) == Settings(keyFile: "/a/key", lastBackup: 5))
    #expect(temporary.names() == [name])
    #expect(temporary.mode(name) == 0o600)
  }

  @Test func `damaged settings are reported and replaced by the next change`() throws {
    temporary.write(name, [1, 2, 3])
    #expect(
      throws: VaultError.damaged(group: nil, level: .settings, detail: "they are not vault settings, or were altered")
    ) {
      try Settings.read(in: temporary.path, of: owner)
    }
    try Settings.change(in: temporary.path, of: owner) { $0.keyFile = "/k" }
    #expect(try Settings.read(in: temporary.path, of: owner) == Settings(keyFile: "/k"))
  }

  @Test func `settings that cannot be read are not replaced`() throws {
    temporary.write(name, Array("vault2.settings".utf8) + [0, 1, 2, 3])
    #expect(throws: VaultError.newerFormat(read: nil, write: nil)) {
      try Settings.change(in: temporary.path, of: owner) { $0.lastBackup = 1 }
    }
    #expect(temporary.read(name)?.last == 3)
    temporary.write(name, Settings(keyFile: "/k").serialized(), mode: 0o666)
    #expect(throws: VaultError.denied(.file(.settings, .openToOthers(mode: 0o666)))) {
      try Settings.change(in: temporary.path, of: owner) { $0.lastBackup = 1 }
    }
    temporary.setMode(name, 0o600)
    #expect(try Settings.read(in: temporary.path, of: owner) == Settings(keyFile: "/k"))
  }

  @Test func `a state folder or file that others can change is refused`() throws {
    try Settings.change(in: temporary.path, of: owner) { $0.keyFile = "/k" }
    temporary.setMode(name, 0o622)
    #expect(throws: VaultError.denied(.file(.settings, .openToOthers(mode: 0o622)))) {
      try Settings.read(in: temporary.path, of: owner)
    }
    temporary.setMode(name, 0o600)
    temporary.setMode(".", 0o777)
    #expect(throws: VaultError.denied(.file(.settings, .openToOthers(mode: 0o777)))) {
      try Settings.change(in: temporary.path, of: owner) { $0.lastBackup = 1 }
    }
  }

  @Test func `two stores with one state folder do not see each other's settings`() throws {
    let other = PublicKey([UInt8](repeating: 8, count: 32))!
    temporary.write("settings", Settings(keyFile: "/former", lastBackup: 1).serialized())
    #expect(try Settings.read(in: temporary.path, of: owner).keyFile == "/former")
    try Settings.change(in: temporary.path, of: owner) { $0 = Settings(keyFile: "/a") }
    try Settings.change(in: temporary.path, of: other) { $0 = Settings() }
    try Settings.change(in: temporary.path, of: other) { $0.lastBackup = 2 }
    #expect(try Settings.read(in: temporary.path, of: owner) == Settings(keyFile: "/a"))
    #expect(try Settings.read(in: temporary.path, of: other) == Settings(lastBackup: 2))
  }

  @Test func `a FIFO in place of the settings is damage and does not hang the reader`() {
    temporary.makeFIFO(name)
    #expect(
      throws: VaultError.damaged(
        group: nil, level: .settings, detail: "it is not the kind of file or folder that belongs here")
    ) {
      try Settings.read(in: temporary.path, of: owner)
    }
  }

  @Test func `changes of the settings by many threads are all kept`() throws {
    let path = temporary.path
    let errors = onThreads(20) { _ in
      try persistently({ $0 as? VaultError == .busy(group: nil) }) {
        try Settings.change(in: path, of: owner) { $0.lastBackup = ($0.lastBackup ?? 0) + 1 }
      }
    }
    #expect(errors.isEmpty)
    #expect(try Settings.read(in: path, of: owner).lastBackup == 20)
  }
}
