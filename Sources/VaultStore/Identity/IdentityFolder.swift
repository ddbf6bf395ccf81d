internal import Glibc
internal import GroupFile

/// The folder `identity` of a store: reads, makes and changes the identity file in it.
///
/// The file is never written in place: what a reader finds is whole, and what a full disk leaves is the old file.
struct IdentityFolder: Sendable {
  /// The store's folder.
  let store: String
  private let user: uid_t
  private let waiting: Int

  /// - Parameter milliseconds: how long a change waits for other processes.
  init(store: String, user: uid_t = geteuid(), waiting milliseconds: Int = 10_000) {
    self.store = store
    self.user = user
    waiting = milliseconds
  }

  static let folderName = "identity"
  static let fileName = "identity"
  static let lockName = "lock"
  static let groupsName = "groups"

  /// Reads the identity file; it needs no right to write.
  ///
  /// - Throws: `noStore`; `damaged`, also where groups are left and the identity is gone; `newerFormat`; `denied`;
  ///   `networkFileSystem`; `storage`.
  func read() throws(IdentityError) -> IdentityFile {
    let home = try openHome()
    return try IdentityFile(parsing: try bytes(in: home))
  }

  /// Makes the folders of a new store, and its identity file.
  ///
  /// - Throws: `exists`; `damaged` where groups of another identity are left; `denied`; `busy`; `networkFileSystem`;
  ///   `storage`. Nothing that was there is changed.
  func create(_ file: IdentityFile) throws(IdentityError) {
    try refuseNetworkFileSystem()
    try atLevel(.store) { () throws(FileFault) in try Folder.make(store) }
    let home = try openHome()
    let folder = try atLevel(.store) { () throws(FileFault) in
      try home.makeFolder(IdentityFolder.groupsName)
      try home.makeFolder(IdentityFolder.folderName)
      return try home.folder(IdentityFolder.folderName, .secret(user: user))
    }
    let lock = try lock(folder)
    defer { lock.unlock() }
    if folder.contains(IdentityFolder.fileName) { throw .exists(.store) }
    try refuseOrphanedGroups(home)
    try replace(file, in: folder)
  }

  /// Changes the identity file while no other process can.
  ///
  /// - Throws: what ``read()`` throws, what `body` throws, `busy`. The file is not changed then.
  func change<Result>(
    _ body: (inout IdentityFile) throws(IdentityError) -> Result
  ) throws(IdentityError) -> Result {
    let home = try openHome()
    // Before the lock: where there is no store, none of its files is made.
    _ = try bytes(in: home)
    let folder = try atLevel(.identity) { () throws(FileFault) in
      try home.folder(IdentityFolder.folderName, .secret(user: user))
    }
    let lock = try lock(folder)
    defer { lock.unlock() }
    var file = try IdentityFile(parsing: try bytes(in: home))
    let before = file
    let result = try body(&file)
    if file != before { try replace(file, in: folder) }
    return result
  }

  // MARK: - Steps

  private func openHome() throws(IdentityError) -> Folder {
    try refuseNetworkFileSystem()
    do throws(FileFault) {
      return try Folder(store, .visible(user: user), followingLink: true)
    } catch {
      throw error == .missing ? .noStore(path: store) : IdentityError(error, at: .store)
    }
  }

  private func bytes(in home: borrowing Folder) throws(IdentityError) -> [UInt8] {
    do throws(FileFault) {
      let folder = try home.folder(IdentityFolder.folderName, .secret(user: user))
      return try folder.read(IdentityFolder.fileName, .secret(user: user), limit: IdentityFile.byteLimit)
    } catch {
      guard error == .missing else { throw IdentityError(error, at: .identity) }
    }
    try refuseOrphanedGroups(home)
    throw .noStore(path: store)
  }

  /// A store without its identity file, but with groups, is not an empty place.
  private func refuseOrphanedGroups(_ home: borrowing Folder) throws(IdentityError) {
    do throws(FileFault) {
      let groups = try home.folder(IdentityFolder.groupsName, .visible(user: user))
      if try groups.names(limit: 1).isEmpty { return }
    } catch {
      if error == .missing { return }
      throw IdentityError(error, at: .store)
    }
    throw .damaged(.identity, "it is gone, but its groups are here")
  }

  private func lock(_ folder: borrowing Folder) throws(IdentityError) -> OpenFile {
    do throws(FileFault) {
      return try folder.lockFile(IdentityFolder.lockName, waiting: waiting)
    } catch {
      throw IdentityError(error, at: .identity)
    }
  }

  private func replace(_ file: IdentityFile, in folder: borrowing Folder) throws(IdentityError) {
    do throws(FileFault) {
      try folder.replace(IdentityFolder.fileName, with: file.serialized())
    } catch {
      throw IdentityError(error, at: .identity)
    }
  }

  private func refuseNetworkFileSystem() throws(IdentityError) {
    var path = store
    while true {
      if let kind = NetworkFileSystem.kind(of: path) { throw .networkFileSystem(kind) }
      // A store that is still to be made lies where its nearest folder lies.
      guard unsafe access(path, F_OK) != 0, path != "/", path != "." else { return }
      path = CanonicalPath.split(path).folder
    }
  }
}
