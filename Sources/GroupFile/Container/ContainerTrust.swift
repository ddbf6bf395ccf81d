internal import Glibc

/// Whom the modes of a group's folder and files let in: its user alone, or one other Unix group, in exactly the shapes that
/// Vault makes. Anything wider was not meant, and is said rather than used.
enum ContainerTrust {
  private static let permissions: mode_t = 0o7077

  /// Folders: 0700; 2770 and 2750 where the group is shared. What its own user may do is his business.
  private static let folders: [(folder: mode_t, files: mode_t)] = [(0, 0), (0o2070, 0o060), (0o2050, 0o040)]

  /// Checks the folder of a group and its files, as far as they are there.
  ///
  /// - Throws: `exposed` with the reason.
  static func check(
    folder: ContainerPlace.Status, files: [ContainerPlace.Status?], user: uid_t = geteuid()
  ) throws(GroupFileError) {
    let mode = folder.mode & permissions
    guard let shape = folders.first(where: { $0.folder == mode }) else { throw refused("folder", folder.mode) }
    // A shared folder belongs to whoever shares it.
    guard mode != 0 || folder.owner == user || folder.owner == 0 else {
      throw .exposed("the group's folder belongs to another user")
    }
    for case let file? in files where file.mode & permissions & ~shape.files != 0 { throw refused("file", file.mode) }
  }

  private static func refused(_ what: String, _ mode: mode_t) -> GroupFileError {
    .exposed("the group's \(what) is open to other users (mode \(String(mode, radix: 8)))")
  }
}
