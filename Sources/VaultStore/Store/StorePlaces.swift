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
  }

  /// Everything that belongs to the store, there or not. Nothing is opened; the key file is named only where this machine
  /// remembers it.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` for an identity file that cannot be read; without a store the usual
  ///   places are told.
  public func all() throws(VaultError) -> [Place] {
    var found = [
      Place(what: "store", path: home, mode: "700", isBackedUp: true),
      Place(what: "identity", path: "\(home)/identity", mode: "700", isBackedUp: true),
      Place(what: "groups", path: "\(home)/groups", mode: "700", isBackedUp: true),
    ]
    let file: IdentityFile
    do { file = try identityFolder.read() } catch .noStore { return found } catch { throw VaultError(error) }
    if let state = places.stateFolder(of: file.ownerKey) {
      found.append(Place(what: "state", path: state, mode: "700", isBackedUp: false))
      let witnesses = "\(state)/\(WitnessFolder.name)/\(file.ownerKey.shortName)"
      found.append(Place(what: "witnesses", path: witnesses, mode: "700", isBackedUp: false))
    }
    if case .success(let path?) = rememberedKeyFile(of: file.ownerKey) {
      found.append(Place(what: "key file", path: path, mode: "600", isBackedUp: false))
    }
    return found
  }
}
