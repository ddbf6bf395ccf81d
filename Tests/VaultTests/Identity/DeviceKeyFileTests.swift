import Glibc
import GroupFile
import Sealing
import TestSupport
import Testing

@testable import Vault

/// The file `device.key` of a state folder.
@Suite struct DeviceKeyFileTests {
  private let folder = TemporaryFolder()

  private func reason(_ id: [UInt8] = [], in path: String? = nil) -> String? {
    do {
      _ = try DeviceKeyFile.key(id, in: path ?? folder.path)
    } catch .otherDevice(_, let reason) {
      return reason
    } catch {}
    return nil
  }

  @Test func `a device key has 32 bytes for its user alone, is made once and never replaced`() throws {
    #expect(try DeviceKeyFile.read(in: folder.path) == nil)
    let made = try DeviceKeyFile.readOrMake(in: folder.path)
    let bytes = try #require(folder.read("device.key"))
    #expect(bytes.count == 32 && folder.mode("device.key") == 0o600)
    #expect(try DeviceKeyFile.readOrMake(in: folder.path).id == made.id)
    #expect(folder.read("device.key") == bytes)
    #expect(folder.names() == ["device.key"])
    let found = try DeviceKeyFile.key(made.id, in: folder.path)
    #expect(unsafe found.withUnsafeBytes { unsafe Array($0) } == bytes)
  }

  @Test func `the device's id is derived from the key and does not reveal it`() throws {
    folder.write("device.key", [UInt8](countingFrom: 64, count: 32))
    let key = try #require(try DeviceKeyFile.read(in: folder.path))
    #expect(key.id.hex == "f997fa7c46c028814c869e5857c91aa3")
  }

  @Test func `the error for a group of another device says what this device has`() throws {
    #expect(reason() == "this machine has no device key")
    #expect(reason(in: folder.file("nowhere")) == "this machine has no device key")
    let made = try DeviceKeyFile.readOrMake(in: folder.path)
    #expect(reason([UInt8](repeating: 1, count: 16)) == "this machine has another device key")
    folder.setMode("device.key", 0o640)
    #expect(reason(made.id) == "the device key here is open to other users (mode 640)")
    folder.remove("device.key")
    folder.makeLink("device.key", to: "elsewhere")
    #expect(reason(made.id) == "the device key here is a symbolic link")
  }

  @Test(arguments: [0, 31, 33]) func `a device key of another size is neither used nor replaced`(_ count: Int) {
    let bytes = [UInt8](repeating: 7, count: count)
    folder.write("device.key", bytes)
    #expect(throws: VaultError.locked(.deviceKey(.wrongSize))) { try DeviceKeyFile.readOrMake(in: folder.path) }
    #expect(reason() == "the device key here has the wrong size")
    #expect(folder.read("device.key") == bytes)
  }

  @Test func `threads that need the first device key at the same time all get the same one`() async throws {
    let path = folder.path
    let ids = try await withThrowingTaskGroup(of: [UInt8].self) { tasks in
      for _ in 0..<8 { tasks.addTask { try DeviceKeyFile.readOrMake(in: path).id } }
      return try await tasks.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
    }
    #expect(ids.count == 1)
    #expect(folder.names() == ["device.key"])
  }

  @Test func `no device key is made in a state folder that others can write to`() {
    folder.setMode(".", 0o777)
    #expect(throws: VaultError.locked(.deviceKey(.openToOthers(mode: 0o777)))) {
      try DeviceKeyFile.readOrMake(in: folder.path)
    }
    #expect(folder.names().isEmpty)
  }
}
