internal import Glibc

/// Where a store and its state folder are, and what the environment says about opening it.
///
/// | | user | root | environment |
/// | --- | --- | --- | --- |
/// | store | `$XDG_DATA_HOME/vault` | `/var/lib/vault` | `VAULT_HOME` |
/// | state | `$XDG_STATE_HOME/vault` | `/var/lib/vault-state` | `VAULT_STATE` |
///
/// The store is for backups; the state folder holds what must not be put back with it: the newest states seen.
public struct StoreLocation: Sendable {
  let places: Locations
  let environment: [String: String]

  /// The store's folder, an absolute path.
  public var home: String { places.home }

  /// The places that `environment` names.
  ///
  /// - Throws: ``VaultError/noStore(path:)`` if nothing says where the store is.
  public init(environment: [String: String]) throws(VaultError) {
    do { places = try Locations(environment: environment) } catch { throw VaultError(error) }
    self.environment = environment
  }

  /// A store at `home` with its state folder at `state`; nothing of the environment counts.
  public init(home: String, state: String) throws(VaultError) {
    try self.init(environment: ["VAULT_HOME": home, "VAULT_STATE": state])
  }

  /// The places that this process's environment names.
  ///
  /// - Throws: as ``init(environment:)``.
  public static func standard() throws(VaultError) -> StoreLocation {
    let variables = [
      "VAULT_HOME", "VAULT_STATE", "VAULT_KEY_FILE", "VAULT_CREDENTIAL", "CREDENTIALS_DIRECTORY", "XDG_DATA_HOME",
      "XDG_STATE_HOME", "HOME",
    ]
    var environment: [String: String] = [:]
    for variable in variables {
      if let value = unsafe getenv(variable) { environment[variable] = unsafe String(cString: value) }
    }
    return try StoreLocation(environment: environment)
  }
}
