import Foundation
import Hummingbird
import Logging
import VaultFoundation
import VaultServices

/// A web service that logs in to its database with a password from an access group, and again when the password changes.
///
/// It opens the store with its own credential: `VAULT_CREDENTIAL`, or the unit's `LoadCredential=vault:…`.
@main struct OrdersService {
  static func main() async throws {
    hardenProcess()
    let logger = Logger(label: "orders")
    let database = Database()
    let vault = VaultService(
      group: "orders.shared", logger: logger,
      onChange: { change, group in
        guard change.name.description == "db/password" else { return }
        // An error would end the service. It goes on with the login it has, for example if the item was removed.
        do { try await database.logIn(with: group) } catch {
          logger.error("no login with the new password", metadata: ["error": "\(error)"])
        }
      })
    try await database.logIn(with: vault.group())

    let router = Router()
    router.get("database") { _, _ in
      "logged in with version \(await database.passwordVersion) of the password\n"
    }
    let port = ProcessInfo.processInfo.environment["HTTP_PORT"].flatMap { Int($0) } ?? 8080
    let service = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      services: [vault], logger: logger)
    try await service.runService()
  }
}

/// Stands for a pool of connections.
actor Database {
  private(set) var passwordVersion: UInt64 = 0

  func logIn(with group: AccessGroup) async throws {
    let password = try await group.open("db/password")
    password.secret.withBytes { bytes in connect(bytes) }
    passwordVersion = password.item.version
  }

  /// A real one hands the bytes to the driver of its database. They are wiped when it returns.
  private func connect(_ password: borrowing Span<UInt8>) {}
}
