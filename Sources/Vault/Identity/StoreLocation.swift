internal import Glibc
internal import Sealing

/// The places of a store and its state folder, and how the environment says to open it.
///
/// | | user | root | environment |
/// | --- | --- | --- | --- |
/// | store | `$XDG_DATA_HOME/vault` | `/var/lib/vault` | `VAULT_HOME` |
/// | state | `$XDG_STATE_HOME/vault` | `/var/lib/vault-state` | `VAULT_STATE` |
///
/// If only `VAULT_HOME` is set, to another place than the usual one, the state is in a folder inside the usual state
/// folder, named after the owner's key, because two stores must not share witnesses. That folder is also used for a store
/// at the usual place if it is there.
///
/// The store belongs in backups. The state folder must not be restored with it, because it records the newest states
/// seen.
public struct StoreLocation: Sendable {
  /// The store's folder: an absolute path, unless that of the working directory is not UTF-8, or gone.
  public let home: String
  let environment: [String: String]
  /// The path of the state folder, or of the folder with one for each owner; `nil` if it cannot be determined.
  private let state: (path: String, hasOneForEachOwner: Bool, isOfUsualStore: Bool)?

  /// The places that `environment` names.
  ///
  /// - Throws: ``VaultError/noStore(path:)`` if the place of the store cannot be determined.
  public init(environment: [String: String]) throws(VaultError) {
    try self.init(environment: environment, user: geteuid(), homeFolder: UnixUser.homeFolder)
  }

  /// - Parameter homeFolder: looks the user up in the system's database; called only if `HOME` is needed and not set.
  init(environment: [String: String], user: uid_t, homeFolder: (uid_t) -> String?) throws(VaultError) {
    self.environment = environment
    func named(_ variable: String) -> String? {
      environment[variable].flatMap { $0.isEmpty ? nil : StoreLocation.absolute($0) }
    }
    // XDG: a path that is not absolute is treated as not set.
    func rooted(_ variable: String) -> String? { environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    func usual(_ variable: String, _ below: String, root: String) -> String? {
      if user == 0 { return root }
      if let base = rooted(variable) { return StoreLocation.join(base, "vault") }
      return (rooted("HOME") ?? homeFolder(user)).map { StoreLocation.join($0, "\(below)/vault") }
    }
    func usualHome() -> String? { usual("XDG_DATA_HOME", ".local/share", root: "/var/lib/vault") }
    let namedHome = named("VAULT_HOME")
    guard let home = namedHome ?? usualHome() else { throw .noStore(path: "") }
    self.home = home
    let namedState = named("VAULT_STATE")
    let state = namedState ?? usual("XDG_STATE_HOME", ".local/state", root: "/var/lib/vault-state")
    // The store at the usual place has the same state folder however its place is spelled.
    let isNamedAlone = namedState == nil && namedHome != nil
    let isUsual =
      isNamedAlone && usualHome().map { StoreLocation.canonical($0) == StoreLocation.canonical(home) } == true
    self.state = state.map { ($0, isNamedAlone, isUsual) }
  }

  /// A store at `home` with its state folder at `state`; the environment is ignored.
  public init(home: String, state: String) throws(VaultError) {
    try self.init(environment: ["VAULT_HOME": home, "VAULT_STATE": state])
  }

  /// The places that this process's environment names.
  ///
  /// - Throws: as ``init(environment:)``.
  public static func standard() throws(VaultError) -> StoreLocation {
    let variables = [
      "VAULT_HOME", "VAULT_STATE", "VAULT_KEY_FILE", "VAULT_CREDENTIAL", "CREDENTIALS_DIRECTORY", "VAULT_SOCKET",
      "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME", "HOME",
    ]
    var environment: [String: String] = [:]
    for variable in variables {
      guard let value = unsafe getenv(variable) else { continue }
      let text = unsafe String(validatingCString: value)
      guard text != nil || variable == "HOME" else { throw .invalid("\(variable) is not UTF-8") }
      environment[variable] = text
    }
    return try StoreLocation(environment: environment)
  }

  /// The state folder of a store; `nil` if it cannot be determined.
  func stateFolder(of ownerKey: PublicKey) -> String? {
    guard let state, state.hasOneForEachOwner else { return self.state?.path }
    let own = StoreLocation.join(state.path, ownerKey.shortName)
    return unsafe state.isOfUsualStore && access(own, F_OK) != 0 ? state.path : own
  }

  /// Whether the state folder is inside the store, of which a copy would then bring back an older witness.
  var holdsState: Bool {
    state.map { CanonicalPath.isInside(StoreLocation.canonical($0.path), StoreLocation.canonical(home)) } ?? false
  }

  private static func canonical(_ path: String) -> String { (try? CanonicalPath.of(path)) ?? path }

  /// - Throws: `invalid` if the state folder is inside the store.
  func requireStateOutside() throws(VaultError) {
    guard holdsState else { return }
    throw .invalid("the state folder must be outside the store, because it shows that a copy of the store is older")
  }

  /// Makes the state folder; an existing one is left as it is.
  func makeStateFolder(of ownerKey: PublicKey) throws(VaultError) {
    guard let path = stateFolder(of: ownerKey) else { return }
    try atLevel(.state) { () throws(FileFault) in try Folder.make(path) }
  }

  func groupFolder(_ name: String) -> String { "\(home)/\(IdentityFolder.groupsName)/\(name)" }

  package func hasGroup(_ name: AccessGroup.Name) -> Bool { AccessGroupFile.exists(in: groupFolder(name.description)) }

  func witnesses(of ownerKey: PublicKey) -> WitnessFolder {
    WitnessFolder(stateFolder: stateFolder(of: ownerKey), ownerKey: ownerKey)
  }

  private static func join(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
  }

  static func absolute(_ path: String) -> String {
    var path = path
    if !path.hasPrefix("/"), let current = unsafe getcwd(nil, 0) {
      // A folder whose name is not UTF-8 is still reached by a relative path, and by no other.
      if let current = unsafe String(validatingCString: current) { path = join(current, path) }
      unsafe free(current)
    }
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }

  /// A file or folder that belongs to a store.
  public struct Place: Sendable, Equatable {
    /// A short description for people.
    public let what: String
    public let path: String
    /// The permissions with which it is created, as octal digits.
    public let mode: String
    /// Whether it belongs in a backup.
    public let isBackedUp: Bool
    /// The Unix group that may use it; `nil` if only its owner may.
    public var unixGroup: UnixGroup?
  }

  /// Everything that belongs to the store, existing or not, and the shared groups. No group is opened. The key file is
  /// listed only if this machine remembers it, and the credential only if the environment names one.
  ///
  /// - Parameter named: the credential of the calling application; by default the one that the environment names.
  /// - Throws: the error of an identity file that cannot be read. If there is no store, or its identity is damaged, the
  ///   places that do not depend on the owner are returned.
  public func all(credential named: String? = nil) throws(VaultError) -> [Place] {
    let credentialPath = named.map(StoreLocation.absolute) ?? namedCredential
    let credential = credentialPath.flatMap { try? CredentialFile.read($0) }
    let entrance = letsOthersPass ? "711" : "700"
    var found = [
      Place(what: "store", path: home, mode: entrance, isBackedUp: true),
      Place(what: "identity", path: "\(home)/identity", mode: "700", isBackedUp: true),
      Place(what: "groups", path: "\(home)/groups", mode: entrance, isBackedUp: true),
    ]
    if let joined = try? joinedApplications(), !joined.isEmpty {
      let path = "\(home)/\(IdentityFolder.joinedName)"
      found.append(Place(what: "joined credentials", path: path, mode: "700", isBackedUp: false))
    }
    found += sharedGroups(credential)
    // An application cannot read the identity; its credential names the store's owner.
    if let ownerKey = try credentialPath == nil ? ownerKey() : credential?.ownerKey { found += places(of: ownerKey) }
    if let path = credentialPath { found.append(Place(what: "credential", path: path, mode: "600", isBackedUp: false)) }
    return found
  }

  private func places(of ownerKey: PublicKey) -> [Place] {
    var found: [Place] = []
    if let state = stateFolder(of: ownerKey) {
      let witnesses = "\(state)/\(WitnessFolder.name)/\(ownerKey.shortName)"
      found = [
        Place(what: "state", path: state, mode: "700", isBackedUp: false),
        Place(what: "witnesses", path: witnesses, mode: "700", isBackedUp: false),
        Place(what: "device key", path: "\(state)/\(DeviceKeyFile.name)", mode: "600", isBackedUp: false),
        Place(what: "settings", path: "\(state)/\(Settings.fileName(of: ownerKey))", mode: "600", isBackedUp: false),
      ]
    }
    if case .success(let path?) = rememberedKeyFile(of: ownerKey) {
      found.append(Place(what: "key file", path: path, mode: "600", isBackedUp: false))
    }
    return found
  }

  /// Whether the store's folder has the mode that sharing a group requires.
  package var letsOthersPass: Bool {
    var status = stat()
    return unsafe stat(home, &status) == 0 && status.st_mode & 0o011 == 0o011
  }

  /// The groups that are shared with a Unix group, if this user knows of them.
  private func sharedGroups(_ credential: Credential?) -> [Place] {
    let names = (try? groupNames()) ?? credential.map { knownGroupNames($0) } ?? []
    return names.compactMap { name in
      let folder = groupFolder(name)
      guard let shape = try? ContainerPlace(folder: folder).containerShape(), let unixGroup = shape.unixGroup else {
        return nil
      }
      return Place(
        what: "group \(name)", path: folder, mode: String(shape.folderMode, radix: 8), isBackedUp: true,
        unixGroup: unixGroup)
    }
  }

  private var namedCredential: String? {
    if let path = variable("VAULT_CREDENTIAL") { return StoreLocation.absolute(path) }
    guard let path = variable("CREDENTIALS_DIRECTORY").map({ $0 + "/vault" }),
      let bytes = try? CredentialFile.ofSystemd(path), (try? Credential.version(of: bytes)) != nil
    else { return nil }
    return path
  }

  /// The store's owner; `nil` if there is no store, or its identity is damaged.
  private func ownerKey() throws(VaultError) -> PublicKey? {
    do { return try identityFolder.read().ownerKey } catch .noStore, .locked(.joinedStore), .damaged { return nil }
  }
}

extension PublicKey {
  /// The first 16 bytes in lower-case hexadecimal digits, used in names of folders.
  var shortName: String { bytes.prefix(16).hexadecimal }
}
