internal import Glibc
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
  /// - Parameter named: the credential of the application that asks; by default the one that the environment names.
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` for an identity file that cannot be read; without a store the usual
  ///   places are told.
  public func all(credential named: String? = nil) throws(VaultError) -> [Place] {
    let credentialPath = named.map(Locations.absolute) ?? namedCredential
    let credential = credentialPath.flatMap { try? CredentialFile.read($0) }
    let entrance = letsOthersPass ? "711" : "700"
    var found = [
      Place(what: "store", path: home, mode: entrance, isBackedUp: true),
      Place(what: "identity", path: "\(home)/identity", mode: "700", isBackedUp: true),
      Place(what: "groups", path: "\(home)/groups", mode: entrance, isBackedUp: true),
    ]
    found += sharedGroups(credential)
    // An application cannot read the identity; its credential says whose store it is.
    if let ownerKey = try credentialPath == nil ? ownerKey() : credential?.ownerKey { found += places(of: ownerKey) }
    if let path = credentialPath { found.append(Place(what: "credential", path: path, mode: "600", isBackedUp: false)) }
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

  /// Whether the store's folder has the mode of one in which a group is shared.
  private var letsOthersPass: Bool {
    var status = stat()
    return unsafe stat(home, &status) == 0 && status.st_mode & 0o011 == 0o011
  }

  /// The groups that are shared with a Unix group, as far as this user knows them.
  private func sharedGroups(_ credential: Credential?) -> [Place] {
    let names = (try? groupNames()) ?? credential.map(knownGroupNames) ?? []
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

  /// Whose store it is; `nil` where there is none.
  private func ownerKey() throws(VaultError) -> PublicKey? {
    do { return try identityFolder.read().ownerKey } catch .noStore { return nil } catch { throw VaultError(error) }
  }
}
