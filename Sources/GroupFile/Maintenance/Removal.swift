internal import Glibc

extension AccessGroupFile {
  /// Removes the group: flags its witness, so that the file cannot come back unnoticed, and moves its folder to the
  /// unused `path`, from where the caller removes it. If others may write the files or keep their lock, the group is
  /// closed before. In a folder that cannot move, the group's files are removed. `begin` is called once or twice before
  /// anything is final, and throws if the group is to stay. On an error it is there as before; if only its files cannot
  /// be removed, repeating the removal finishes it.
  package func remove(
    to path: String, at places: DraftPlaces, beginning begin: (Roster) throws(VaultError) -> Void = { _ in }
  ) throws(VaultError) {
    do throws(VaultError) {
      let place = try resolvedPlace()
      _ = try place.file()
      let lock = try WriterLock(at: place, toChangeModes: true, replacing: true)
      var hasBegun = false
      func remove(from place: ContainerPlace) throws(VaultError) {
        let connection = try isReadAlone ? openAlone() : Connection(at: place, access: .reading)
        try connection.begin(.reading)
        let state = try snapshot(connection, witness.readToWrite(), strict: true).state
        try state.confirmRoster(connection)
        try state.roster.flags.version.check(.writing)
        try state.requireWriter()
        guard !state.isPublished || publisher() != nil else { throw .unordered(.notHere) }
        try begin(state.roster)
        hasBegun = true
        connection.close()
        try markRemoved(state.witnessRecord())
        // From here on the group is refused, and the same call finishes its removal.
        do throws(VaultError) { try place.removeFolder(folder, to: path) } catch { throw .storage(.unconfirmed) }
      }
      do throws(VaultError) {
        try withClosedFiles(of: place, under: lock, at: places, for: nil) { (place, _, _) throws(VaultError) in
          try remove(from: place)
        }
      } catch {
        // The copies do not fit, or the folder cannot be exchanged.
        guard case .storage = error, !hasBegun else { throw error }
        for ending in ["", "+1", "+2", "+3"] { SalvageCopy.remove(places.draft + ".copy" + ending) }
        try remove(from: place)
      }
      _ = lock.isShared
    } catch {
      throw meaning(of: error, toWrite: true)
    }
    forgetPlace()
  }

  /// Finishes a removal that was interrupted after the witness was flagged; `false` if it is not. The state is not
  /// proved, because the owner has decided; so nothing behind a link is touched, and the owner has to look at it.
  package func finishRemoval(to path: String) throws(VaultError) -> Bool {
    func isWanted() -> Bool { witness.read().record?.flags.contains(.removed) == true }
    guard isWanted() else { return false }
    switch try ContainerPlace.status(folder)?.isFolder {
    case nil: break
    case true?: try AccessGroupFile.removeFolder(folder, to: path, while: isWanted)
    case false?:
      guard !AccessGroupFile.exists(in: folder) else {
        throw .denied(.permissions("the folder that '\(folder)' leads to"))
      }
      guard unsafe unlink(folder) == 0 else { throw VaultError(FileFault(errno: errno)) }
    }
    forgetPlace()
    return true
  }

  /// Moves away what a process that was killed while it made a group has left in `folder`; `path` is as for
  /// `remove(to:)`. A group's file, a log with content, and anything that Vault does not make there stay.
  ///
  /// - Parameter movesLog: whether a log with content is moved away, too.
  package static func clearFolder(
    _ folder: String, movingTo path: String, withLog movesLog: Bool = false
  ) throws(VaultError) {
    func isLeftover() throws(VaultError) -> Bool {
      guard try ContainerPlace.status(folder)?.isFolder == true, !exists(in: folder) else { return false }
      let log = try ContainerPlace.status(ContainerPlace(folder: folder).logPath)
      if !movesLog, let log, log.byteCount > 0 { return false }
      // Others may have put any number of names there.
      var areOurs = true
      try unsafe onDisk(
        Folder(folder, FileTrust(owners: [geteuid(), 0], forbiddenMode: 0)).visit { (_, name) in
          areOurs = ContainerPlace.isOwnName(name)
          return areOurs
        })
      return areOurs
    }
    if try isLeftover() { try removeFolder(folder, to: path, while: isLeftover) }
  }

  private static func removeFolder(
    _ folder: String, to path: String, while isWanted: () throws(VaultError) -> Bool
  ) throws(VaultError) {
    do throws(VaultError) {
      let place = try ContainerPlace(folder: folder)
      let lock = try WriterLock(at: place, toChangeModes: true, replacing: true)
      // Another process may have put a group there before this one had the lock.
      if try isWanted() { try place.removeFolder(folder, to: path) }
      _ = consume lock
    } catch .notFound(.group) {}
  }
}
