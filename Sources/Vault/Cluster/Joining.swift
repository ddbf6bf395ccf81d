internal import Glibc
internal import Sealing

extension ApplicationCredential {
  /// Reads a credential.
  ///
  /// - Parameters:
  ///   - path: the credential's file.
  ///   - passphrase: returns the passphrase; called only if the credential is sealed.
  /// - Throws: ``VaultError/locked(_:)`` if the file is missing or unsuitable, or if it is sealed and there is no
  ///   passphrase; ``VaultError/wrongKey(_:)``; ``VaultError/damaged(group:level:detail:)``;
  ///   ``VaultError/newerFormat(read:write:)``; ``VaultError/storage(_:)``.
  public init(at path: String, passphrase: (@Sendable () throws(VaultError) -> Secret)? = nil) throws(VaultError) {
    self = try StoreAccess.credential(CredentialFile.bytes(path), passphrase)
  }

  /// The groups that the application was a member of when the credential was written, sorted by name.
  public var groups: [String] { floors.map(\.group) }
}

extension StoreLocation {
  /// The path of the stored copy of an application's credential.
  package func joinedCredential(of application: String) throws(VaultError) -> String {
    "\(home)/\(IdentityFolder.joinedName)/\(try Applications.name(application))"
  }

  /// The ids of the applications that joined here, sorted, unless others may change their folder.
  package func joinedApplications() throws(VaultError) -> [String] {
    do throws(FileFault) {
      let home = try Folder(home, .visible(), followingLink: true)
      let names = try home.folder(IdentityFolder.joinedName, .secret()).names()
      return names.filter { (try? Applications.name($0)) != nil }
    } catch {
      if error == .missing { return [] }
      // Who may only pass through the store's folder sees at least that there is no such folder.
      let isAbsent = FileIdentity("\(home)/\(IdentityFolder.joinedName)") == nil && errno == ENOENT
      if error == .denied, isAbsent { return [] }
      throw VaultError(error, at: .credential)
    }
  }

  /// Whether a `vaultd` here follows the groups of the application `id`.
  package func hasJoined(_ id: String) -> Bool { (try? joinedApplications().contains(id)) == true }

  /// Keeps a copy of `credential`, with mode 0600, for a `vaultd` that fetches the application's groups. Makes missing
  /// folders of the store, but no identity.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` if the credential names no remote; ``VaultError/exists(_:)`` if this store
  ///   has groups of another owner; ``VaultError/contradiction(_:)`` if a newer credential of the application was
  ///   joined; ``VaultError/denied(_:)``, ``VaultError/busy(group:)``, ``VaultError/storage(_:)``. Nothing is replaced
  ///   then.
  public func join(_ credential: ApplicationCredential) throws(VaultError) {
    guard credential.remote != nil else { throw .contradiction(.remotelessCredential) }
    let name = try Applications.name(credential.application).description
    try refuseAnotherOwner(than: credential.ownerKey)
    let store = try identityFolder.makeHome(with: [IdentityFolder.groupsName, IdentityFolder.joinedName])
    try makeStateFolder(of: credential.ownerKey)
    let folder = try atLevel(.credential) { () throws(FileFault) in
      let folder = try store.folder(IdentityFolder.joinedName, .secret())
      try folder.lock(waiting: 10_000)
      return folder
    }
    defer { folder.unlock() }
    if let known = try joined(name), known.ownerKey == credential.ownerKey, known.isNewer(than: credential) {
      throw .contradiction(.newerCredential)
    }
    let bytes = try credential.serialized()
    try atLevel(.credential) { () throws(FileFault) in
      try unsafe bytes.withUnsafeBytes { (bytes) throws(FileFault) in try unsafe folder.replace(name, with: bytes) }
    }
  }

  /// The stored copy of an application's credential; `nil` if there is none that can be read.
  private func joined(_ name: String) throws(VaultError) -> Credential? {
    do {
      return try CredentialFile.read(joinedCredential(of: name))
    } catch .locked(.credential(.missing)), .damaged {
      return nil
    }
  }

  /// - Throws: ``VaultError/exists(_:)`` if the store or a joined application belongs to another owner.
  private func refuseAnotherOwner(than ownerKey: PublicKey) throws(VaultError) {
    do throws(VaultError) {
      guard try identityFolder.read().ownerKey == ownerKey else { throw .exists(.storeAtPlace) }
    } catch .noStore, .locked(.joinedStore) {}
    for name in try joinedApplications() {
      guard try joined(name)?.ownerKey ?? ownerKey == ownerKey else { throw .exists(.storeAtPlace) }
    }
  }
}

extension Credential {
  /// Whether `other` is of an earlier identity, or knows an older list of members or key of one of the same groups.
  fileprivate func isNewer(than other: Credential) -> Bool {
    guard issue == other.issue else { return issue > other.issue }
    return floors.contains { floor in
      other.floors.contains { old in
        old.group == floor.group && old.state.groupID == floor.state.groupID
          && (old.state.rosterRevision < floor.state.rosterRevision || old.state.generation < floor.state.generation)
      }
    }
  }
}

/// A group that `vaultd` keeps for joined applications.
public struct JoinedGroup: Sendable, Equatable {
  public let name: String
  /// The epoch of its newest proved commit.
  public let epoch: UInt64

  package init(name: String, epoch: UInt64) { (self.name, self.epoch) = (name, epoch) }
}
