internal import GroupFile
internal import Sealing

extension StoreLocation {
  /// A file or folder that belongs to a store.
  public struct Place: Sendable, Equatable {
    /// What it is, for people.
    public let what: String
    public let path: String
    /// Its permissions as octal digits, as they are made.
    public let mode: String
    /// Whether it belongs into a backup.
    public let isBackedUp: Bool
    /// The Unix group that may use it; `nil` if it is its user's alone.
    public var unixGroup: UnixGroup?
  }

  /// Everything that belongs to the store, there or not, and the shared groups. No group is opened; the key file is named only
  /// where this machine remembers it, and the credential where the environment names one.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` for an identity file that cannot be read; without a store the usual
  ///   places are told.
  public func all() throws(VaultError) -> [Place] {
    let shared = sharedGroups()
    let entrance = shared.isEmpty ? "700" : "711"
    var found = [
      Place(what: "store", path: home, mode: entrance, isBackedUp: true),
      Place(what: "identity", path: "\(home)/identity", mode: "700", isBackedUp: true),
      Place(what: "groups", path: "\(home)/groups", mode: entrance, isBackedUp: true),
    ]
    found += shared
    let credential = namedCredential
    if let ownerKey = try ownerKey(credential) { found += places(of: ownerKey) }
    if let credential { found.append(Place(what: "credential", path: credential, mode: "600", isBackedUp: false)) }
    return found
  }

  /// What lies in the state folder, and the key file.
  private func places(of ownerKey: PublicKey) -> [Place] {
    var found: [Place] = []
    if let state = places.stateFolder(of: ownerKey) {
      let witnesses = "\(state)/\(WitnessFolder.name)/\(ownerKey.shortName)"
      found = [
        Place(what: "state", path: state, mode: "700", isBackedUp: false),
        Place(what: "witnesses", path: witnesses, mode: "700", isBackedUp: false),
        Place(what: "device key", path: "\(state)/\(DeviceKeyFile.name)", mode: "600", isBackedUp: false),
        Place(what: "settings", path: "\(state)/\(Settings.fileName)", mode: "600", isBackedUp: false),
      ]
    }
    if case .success(let path?) = rememberedKeyFile(of: ownerKey) {
      found.append(Place(what: "key file", path: path, mode: "600", isBackedUp: false))
    }
    return found
  }

  /// The groups that are shared with a Unix group, as far as this user may list them.
  private func sharedGroups() -> [Place] {
    guard let names = try? groupNames() else { return [] }
    return names.compactMap { name in
      let folder = places.groupFolder(name)
      guard let shape = try? ContainerPlace(folder: folder).containerShape(), let unixGroup = UnixGroup(shape) else {
        return nil
      }
      return Place(
        what: "group \(name)", path: folder, mode: String(shape.folderMode, radix: 8), isBackedUp: true,
        unixGroup: unixGroup)
    }
  }

  /// The credential that the environment names, if it names one.
  private var namedCredential: String? {
    if let path = variable("VAULT_CREDENTIAL") { return Locations.absolute(path) }
    guard let path = variable("CREDENTIALS_DIRECTORY").map({ $0 + "/vault" }) else { return nil }
    if case .application? = try? SystemdCredential.read(path) { return path }
    return nil
  }

  /// Whose store it is: what an application's credential says, which cannot read the identity; `nil` where there is no store.
  private func ownerKey(_ credential: String?) throws(VaultError) -> PublicKey? {
    if let credential { return try? CredentialFile.read(credential).ownerKey }
    do { return try identityFolder.read().ownerKey } catch .noStore { return nil } catch { throw VaultError(error) }
  }
}
