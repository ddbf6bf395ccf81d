internal import Glibc

extension SecretStore {
  /// Lets the users of a Unix group open the files of a group: folder 2770 and files 0660, or 2750 and 0640 if they may
  /// only read. This does not make them members, and only members can read the contents.
  ///
  /// Everyone can then pass through the store's folder and its folder of groups (0711), but not list them.
  ///
  /// - Throws: ``VaultError/invalid(_:)`` for a group that is bound to this device; ``VaultError/denied(_:)`` for
  ///   anyone but the owner, for a Unix group that this user is not in, and for another user's files; the error of the
  ///   group.
  public func shareGroup(_ name: String, with unixGroup: UnixGroup) throws(VaultError) {
    _ = try owner()
    guard try !group(name).verifiedState().roster.flags.contains(.thisDeviceOnly) else {
      throw SecretStore.boundAndShared
    }
    try unixGroup.requireOurs()
    let detail = unixGroup.isReadOnly ? "read" : "write"
    try recording(.share, group: name, subject: unixGroup.name, detail: detail) { () throws(VaultError) in
      try take(.shared(unixGroup), name)
    }
  }

  /// Makes the files of a group private to their user again: folder 0700 and files 0600. If no group is shared any
  /// more, the store's folders are closed too.
  ///
  /// As with every change of sharing, the group continues in new files. Processes that have the old files open or
  /// locked see nothing that is written later, and block nobody. The contents are not checked, so that a damaged group
  /// can be closed.
  ///
  /// - Throws: ``VaultError/denied(_:)`` for anyone but the owner, and for another user's files;
  ///   ``VaultError/notFound(_:)``, ``VaultError/busy(group:)``, ``VaultError/storage(_:)``.
  public func unshareGroup(_ name: String) throws(VaultError) {
    _ = try owner()
    try recording(.unshare, group: group(name).name.description) { () throws(VaultError) in try take(.closed, name) }
  }

  static let boundAndShared = VaultError.invalid(
    "a group bound to this device cannot be shared with a Unix group: other users have other state folders")

  private func take(_ shape: ContainerShape, _ name: String) throws(VaultError) {
    let group = try group(name)
    try replacing(group.name) { (drafts) throws(VaultError) in
      let places = drafts.places(of: group.name)
      let file = try group.file
      // Before the files are open to others, because whoever is told that sharing failed expects a closed group.
      if shape != .closed {
        try lockingGroups { (groups) throws(VaultError) in try location.settleEntrance(groups, opening: true) }
      }
      let taken = Result { () throws(VaultError) in try inGroup(name, file.take(shape, at: places)) }
      try lockingGroups { (groups) throws(VaultError) in try location.settleEntrance(groups) }
      if try taken.get() { notices.post([.groupRemade(group: name, keptAside: places.kept)]) }
    }
  }
}

extension StoreLocation {
  /// Lets others pass through the store's folder and its folder of groups (0711) if any group is shared, and closes
  /// them (0700) if none is. Other modes, which somebody set on purpose, are kept.
  func settleEntrance(_ groups: borrowing Folder, opening isOpening: Bool = false) throws(VaultError) {
    try atLevel(.store) { () throws(FileFault) in
      var isShared = isOpening
      for name in try groups.names() {
        var status = stat()
        guard unsafe fstatat(groups.file.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
        if status.st_mode & S_IFMT == S_IFDIR, status.st_mode & 0o1070 != 0 { isShared = true }
      }
      let store = try Folder(home, .visible(), followingLink: true)
      // The outer folder is opened last and closed first.
      if !isShared { try store.file.settleEntrance(isShared) }
      try groups.file.settleEntrance(isShared)
      if isShared { try store.file.settleEntrance(isShared) }
    }
  }

  /// The groups that an application knows, for when it may not list the folder of groups.
  func knownGroupNames(_ credential: Credential, and served: [String] = []) -> [String] {
    let seen = (try? witnesses(of: credential.ownerKey).groups()) ?? []
    return Set([credential.application] + credential.floors.map(\.group) + seen + served)
      .filter { AccessGroupFile.exists(in: groupFolder($0)) }.sorted()
  }

  /// The store's owner: for an application, the only user besides root who may own the store's folders.
  ///
  /// - Throws: ``VaultError/noStore(path:)``; ``VaultError/denied(_:)`` if others may write to the store.
  func trustedOwner() throws(VaultError) -> UInt32 {
    var store = stat()
    // A link is allowed here, because users choose the store's place.
    guard unsafe stat(home, &store) == 0 else { throw missing(FileFault(errno: errno), home) }
    let trust = FileTrust(owners: [store.st_uid, 0], forbiddenMode: 0o022)
    let path = home + "/" + IdentityFolder.groupsName
    var groups = stat()
    guard unsafe lstat(path, &groups) == 0 else { throw missing(FileFault(errno: errno), path) }
    try atLevel(.store) { () throws(FileFault) in
      for status in [store, groups] {
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .wrongKind }
        try trust.check(status)
      }
    }
    return store.st_uid
  }

  private func missing(_ fault: FileFault, _ path: String) -> VaultError {
    switch fault {
    case .missing, .wrongKind: .noStore(path: home)
    case .denied: .denied(.permissions("entering '\(path)'"))
    default: VaultError(fault, at: .store)
    }
  }
}

extension OpenFile {
  /// Sets a folder's mode to 0711 or 0700, unless its mode already has this effect or is one that Vault never sets.
  fileprivate func settleEntrance(_ isShared: Bool) throws(FileFault) {
    let mode = try status().st_mode & 0o7777
    guard isShared ? mode & 0o011 != 0o011 : mode == 0o711 else { return }
    try setMode(isShared ? 0o711 : 0o700)
    try synchronize()
  }
}
