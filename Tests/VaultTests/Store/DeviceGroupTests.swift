import Foundation
import Glibc
import Testing

@testable import Ground
@testable import GroupFile
@testable import Vault

/// Groups that are bound to this device.
struct DeviceGroupTests {
  private let store: StoreFixture
  private let elsewhere: StoreLocation

  init() throws {
    store = try StoreFixture()
    let open = try store.open()
    try open.createGroup("laptop", NewGroup(isThisDeviceOnly: true)).set("a", to: "kept here")
    try open.group("default").set("a", to: "anywhere")
    // The same store as opened on another machine.
    elsewhere = try StoreLocation(home: store.location.home, state: store.folder + "/elsewhere")
    try FileManager.default.createDirectory(
      atPath: store.folder + "/elsewhere", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  private func openElsewhere() throws -> SecretStore {
    try SecretStore.open(at: elsewhere, unlocking: .keyFile(store.keyFile))
  }

  private let refusal = VaultError.otherDevice(group: "laptop", reason: "this machine has no device key")

  @Test func `a group of this device opens here and says that it is one`() throws {
    #expect(try store.value("a", in: "laptop") == "kept here")
    let info = try store.open().group("laptop").info()
    #expect(info.isThisDeviceOnly && info.lifetime == .survives && info.unixGroup == nil)
    #expect(try !store.open().group("default").info().isThisDeviceOnly)
  }

  @Test func `with another state folder everything but the device's group opens, and the error says why`() throws {
    let open = try openElsewhere()
    #expect(try open.group("default").get("a").exportInsecurelyAsString() == "anywhere")
    #expect(throws: refusal) { _ = try open.group("laptop").get("a") }
    #expect(throws: refusal) { try open.group("laptop").set("a", to: "x") }
    #expect(throws: refusal) { _ = try open.group("laptop").items() }
    #expect(try open.groupNames() == ["default", "laptop"])
    try open.createGroup("desktop", NewGroup(isThisDeviceOnly: true)).set("a", to: "there")
    #expect(throws: VaultError.otherDevice(group: "laptop", reason: "this machine has another device key")) {
      _ = try open.group("laptop").get("a")
    }
    #expect(throws: VaultError.otherDevice(group: "desktop", reason: "this machine has another device key")) {
      try store.value("a", in: "desktop")
    }
  }

  @Test func `status and verify on another device name the group and find nothing else wrong`() throws {
    let open = try openElsewhere()
    let status = try open.status()
    #expect(status.groups.map(\.isOfOtherDevice) == [false, true])
    #expect(status.groups.map(\.problem) == [nil, refusal])
    let verified = try open.verify()
    #expect(verified.map(\.name) == ["default", "laptop", "vault.owner"])
    #expect(verified.map(\.isOfOtherDevice) == [false, true, false])
    #expect(throws: refusal) { try verified[1].result.get() }
  }

  @Test func `a lost device key is not reported as another device`() throws {
    try FileManager.default.removeItem(atPath: store.folder + "/state/device.key")
    let verified = try store.open().verify()
    #expect(throws: refusal) { try verified[1].result.get() }
    #expect(!verified[1].isOfOtherDevice)
    #expect(try store.open().status().groups.map(\.isOfOtherDevice) == [false, false])
  }

  @Test func `a group of this device cannot be shared with a Unix group`() throws {
    let unixGroup = try UnixGroup(String(getegid()))
    let open = try store.open()
    let refused = VaultError.invalid(
      "a group bound to this device cannot be shared with a Unix group: other users have other state folders")
    #expect(throws: refused) {
      try open.createGroup("both", NewGroup(isThisDeviceOnly: true, unixGroup: unixGroup))
    }
    #expect(throws: refused) { try open.shareGroup("laptop", with: unixGroup) }
    #expect(try open.groupNames() == ["default", "laptop"])
  }

  @Test func `a group of this device stays bound to it when its key is rotated`() throws {
    let open = try store.open()
    try open.rotateGroup("laptop")
    #expect(try store.value("a", in: "laptop") == "kept here")
    #expect(throws: refusal) { _ = try openElsewhere().group("laptop").get("a") }
    #expect(try store.open().group("laptop").info().generation == 2)
  }

  private enum HeaderChange: CaseIterable { case otherDevice, noDevice, missing }

  /// Changes the part of the group's state that is in the clear, as anyone can who may write the file.
  private func alterHeader(_ change: HeaderChange) throws {
    var header = StateHeader(of: try store.open().group("laptop").verifiedState().roster)
    let place = try ContainerPlace(folder: store.location.home + "/groups/laptop")
    let connection = try Connection(at: place, access: .writing)
    defer { connection.close() }
    try connection.begin(.immediate)
    switch change {
    case .otherDevice: header.deviceKeyID = [UInt8](repeating: 1, count: 16)
    case .noDevice:
      header.flags.remove(.thisDeviceOnly)
      header.deviceKeyID = [UInt8](repeating: 0, count: 16)
    case .missing: break
    }
    if change == .missing {
      try connection.statement("DELETE FROM state WHERE part=1").run()
    } else {
      try connection.storePart(.header, header.serialized())
    }
    try connection.commit()
  }

  @Test(arguments: HeaderChange.allCases)
  private func `a changed header does not keep a member in a group of this device`(_ change: HeaderChange) throws {
    let member = try store.issue("com.example.api", grants: [.init(.write, in: "laptop")])
    #expect(try member.group("laptop").get("a").exportInsecurelyAsString() == "kept here")
    try alterHeader(change)
    try store.open().revoke("com.example.api", from: "laptop")
    #expect(throws: VaultError.denied(.notAMember)) { try member.group("laptop").items() }
    #expect(try store.value("a", in: "laptop") == "kept here")
    #expect(throws: refusal) { _ = try openElsewhere().group("laptop").get("a") }
  }

  @Test func `on another device a change of members and a repair change nothing, not even the lock`() throws {
    _ = try store.issue("com.example.api", grants: [.init(.write, in: "laptop")])
    let path = store.location.home + "/groups/laptop/lock"
    let lock = try OpenFile(path, O_RDWR)
    try lock.lock(waiting: 1_000)
    let before = FileIdentity(try lock.status())
    let open = try openElsewhere()
    #expect(throws: refusal) { _ = try open.repairGroup("laptop") }
    #expect(FileIdentity(try OpenFile(path, O_RDWR).status()) == before)
    lock.unlock()
    #expect(throws: refusal) { try open.revoke("com.example.api", from: "laptop") }
    #expect(throws: refusal) { try open.rotateGroup("laptop") }
    #expect(try store.value("a", in: "laptop") == "kept here")
  }

  @Test func `a group that was altered to look like another device's is no silent gap in a backup`() throws {
    let place = try ContainerPlace(folder: store.location.home + "/groups/default")
    let connection = try Connection(at: place, access: .writing)
    try connection.begin(.immediate)
    var header = StateHeader(of: try store.open().group("default").verifiedState().roster)
    header.flags.insert(.thisDeviceOnly)
    header.deviceKeyID = [UInt8](repeating: 1, count: 16)
    try connection.storePart(.header, header.serialized())
    try connection.statement("UPDATE state SET bytes = randomblob(length(bytes)) WHERE part = 2").run()
    try connection.commit()
    connection.close()
    let outcomes = try store.open().backUp(to: store.path("backup")).groups
    let outcome = try #require(outcomes.first { $0.name == "default" }?.outcome)
    guard case .failed(.otherDevice) = outcome else {
      Issue.record("\(outcome)")
      return
    }
  }

  @Test(arguments: HeaderChange.allCases)
  private func `a changed header of a group of this device is repaired`(_ change: HeaderChange) throws {
    try alterHeader(change)
    #expect(try store.open().repairGroup("laptop")?.lost == 0)
    #expect(try store.value("a", in: "laptop") == "kept here")
    #expect(try store.open().group("laptop").info().isThisDeviceOnly)
  }
}
