package import Sealing

/// The remotes, and where groups are published: items of `vault.service`, which the owner writes and the service reads.
extension SecretStore {
  private static let remotePrefix = "remote/"
  private static let publishedPrefix = "published/"

  /// All remotes, sorted by name. The owner and the service can read them.
  ///
  /// - Throws: ``VaultError/damaged(group:level:detail:)`` for a remote that does not follow the format; no remote is
  ///   returned then.
  public func remotes() throws(VaultError) -> [Remote] {
    guard try expects(.service) else { return [] }
    return try ownersItems(prefix: SecretStore.remotePrefix) { (item, value) throws(VaultError) in
      let name = item.dropFirst(SecretStore.remotePrefix.count)
      let damage = VaultError.damagedServiceRow("a remote does not follow the format")
      let remote = try unsafe value.withUnsafeBytes { (bytes) throws(VaultError) in
        try unsafe Remote(parsing: bytes, orThrow: damage)
      }
      guard remote.name == name else { throw damage }
      return remote
    }
  }

  /// The remote `name`.
  ///
  /// - Throws: ``VaultError/notFound(_:)``; as ``remotes()``.
  public func remote(_ name: String) throws(VaultError) -> Remote {
    let name = try Remote.name(name)
    guard let found = try remotes().first(where: { $0.name == name }) else { throw .notFound(.remote) }
    return found
  }

  /// Stores a remote. Makes the groups `vault.service` and `vault.audit` if they are missing.
  ///
  /// - Parameters:
  ///   - remote: the remote, with its login.
  ///   - isReplacing: whether to replace a remote of the same name, which must exist.
  /// - Throws: ``VaultError/exists(_:)``; ``VaultError/notFound(_:)`` if there is nothing to replace;
  ///   ``VaultError/denied(_:)`` for anyone but the owner.
  public func addRemote(_ remote: Remote, replacing isReplacing: Bool = false) throws(VaultError) {
    try makeServiceGroups()
    let value = NewValue(secret: try remote.serialized().opened, kind: .bytes)
    let item = try Item.Name(SecretStore.remotePrefix + remote.name)
    try recording(.addRemote, subject: remote.name, detail: remote.address) { () throws(VaultError) in
      try changeServiceGroup { (edit) throws(VaultError) in
        let isKnown = try edit.isPresent(item.description)
        guard isKnown == isReplacing else { throw isKnown ? .exists(.remote) : .notFound(.remote) }
        _ = try edit.set(item, to: value, Details(), ifVersion: nil)
      }
    }
  }

  /// Asks `vaultd` whether the servers of `remote` have the log of a published group, up to the state of its copy here.
  ///
  /// - Throws: ``VaultError/contradiction(_:)`` if they do not; the errors of `vaultd` and of the cluster.
  public func requireLog(of group: String, at remote: Remote) throws(VaultError) {
    let path = ClusterRequest.servers.path(of: group)
    let answer = try location.askService(
      path, [], remote.serialized().opened, or: ServiceConnection.brokenReading)
    if let failure = answer.failure { throw failure }
    guard answer.number != nil else { throw .otherCluster(group: group) }
  }

  /// Removes the remote `name` and its older versions.
  ///
  /// - Throws: ``VaultError/notFound(_:)``; ``VaultError/contradiction(_:)`` while a group is published there;
  ///   ``VaultError/denied(_:)`` for anyone but the owner.
  public func removeRemote(_ name: String) throws(VaultError) {
    _ = try owner()
    let item = SecretStore.remotePrefix + (try Remote.name(name))
    try recording(.removeRemote, subject: name) { () throws(VaultError) in
      try changeServiceGroup { (edit) throws(VaultError) in
        guard try edit.isPresent(item) else { throw .notFound(.remote) }
        // The transaction excludes other writers, so no group can be published there in the meantime.
        if let published = try publishedGroups().filter({ $0.value == name }).keys.min() {
          throw .publishedGroup(published)
        }
        try edit.destroy(item)
      }
    }
  }

  /// The name of the remote of each published group. The owner and the service can read it.
  public func publishedGroups() throws(VaultError) -> [String: String] {
    Dictionary(try publications().map { ($0.group, $0.remote) }) { $1 }
  }

  /// Where the log of each published group is. The owner and the service can read it, even without a copy of the group.
  package func publications() throws(VaultError) -> [Publication] {
    guard try expects(.service) else { return [] }
    return try ownersItems(prefix: SecretStore.publishedPrefix).map { (item, bytes) throws(VaultError) in
      let text = String(validating: bytes, as: UTF8.self) ?? ""
      let words = text.split(separator: " ", omittingEmptySubsequences: false)
      guard let group = try? AccessGroup.Name(String(item.dropFirst(SecretStore.publishedPrefix.count))),
        words.count == 2, let remote = try? Remote.name(String(words[0])), let id = GroupID(hexadecimal: words[1])
      else { throw .damagedServiceRow("the note of a published group does not follow the format") }
      return Publication(group: group.description, remote: remote, id: id)
    }
  }

  /// Notes that `group`, with this id, is published at the remote `name`, which must exist; replaces an earlier note.
  package func setPublished(_ group: String, _ id: GroupID, at name: String) throws(VaultError) {
    _ = try owner()
    let group = try AccessGroup.Name(group).description
    let remote = SecretStore.remotePrefix + (try Remote.name(name))
    try recording(.publish, group: group, subject: name) { () throws(VaultError) in
      try changeServiceGroup { (edit) throws(VaultError) in
        guard try edit.isPresent(remote) else { throw .notFound(.remote) }
        try edit.set(Array("\(name) \(id.hexadecimal)".utf8), at: SecretStore.publishedPrefix + group, kind: .string)
      }
    }
  }

  /// Removes the note that `group` is published. Without a note, nothing changes.
  package func clearPublished(_ group: String) throws(VaultError) {
    _ = try owner()
    let item = SecretStore.publishedPrefix + (try AccessGroup.Name(group).description)
    guard location.hasGroup(.service), try ownersItem(item) != nil else { return }
    try recording(.unpublish, group: group) { () throws(VaultError) in
      do throws(VaultError) { _ = try self.group(.service).remove(item) } catch .notFound {}
    }
  }

  private func changeServiceGroup(_ body: (WriteTransaction) throws(VaultError) -> Void) throws(VaultError) {
    guard location.hasGroup(.service) else { throw .notFound(.remote) }
    // Not shared with the changes of other threads, which a look at the committed state would miss.
    try group(.service).writing(isRepeatable: false, body)
  }
}

/// Where the log of a published group is.
package struct Publication: Sendable, Equatable {
  package let group: String
  package let remote: String
  package let id: GroupID
}

extension WriteTransaction {
  fileprivate func isPresent(_ name: String) throws(VaultError) -> Bool { try stored(name)?.isPresent ?? false }
}
