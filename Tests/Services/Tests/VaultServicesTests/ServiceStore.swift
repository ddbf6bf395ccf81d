import Foundation
import VaultFoundation

/// A store in a folder of its own, which is removed with this object.
final class ServiceStore: Sendable {
  private let folder = NSTemporaryDirectory() + "vault-services-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try SecretStore.create(at: location(), with: .keyFile(folder + "/key"))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func location() throws -> StoreLocation {
    try StoreLocation(home: folder + "/home", state: folder + "/state")
  }

  /// Opens the store anew, as another process does.
  func open() throws -> SecretStore { try SecretStore.open(at: location(), unlocking: .keyFile(folder + "/key")) }

  /// Opens the store on a machine where no state can be kept.
  func openWithoutState() throws -> SecretStore {
    try SecretStore.open(
      at: StoreLocation(home: folder + "/home", state: folder + "/key/state"), unlocking: .keyFile(folder + "/key"))
  }

  func group() throws -> AccessGroup { try open().group("default") }
}
