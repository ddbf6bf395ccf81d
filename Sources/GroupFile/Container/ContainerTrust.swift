internal import Glibc

/// Whom the modes of a group's folder and files let in: nobody but a shape allows it. Anything wider was not meant, and is
/// said rather than used.
enum ContainerTrust {
  static let permissions: mode_t = 0o7077

  /// Checks the folder of a group and its files, as far as they are there.
  ///
  /// - Parameter owner: who may own the folder besides root. The files of a shared one belong to whoever made them.
  /// - Throws: `exposed` with the reason.
  static func check(
    folder: ContainerPlace.Status, files: [ContainerPlace.Status?], owner: uid_t
  ) throws(GroupFileError) {
    guard let shape = ContainerShape(folder: folder) else { throw refused("folder", folder.mode) }
    guard folder.owner == owner || folder.owner == 0 else {
      throw .exposed("the group's folder belongs to another user")
    }
    for case let file? in files where file.mode & permissions & ~shape.fileMode != 0 {
      throw refused("file", file.mode)
    }
  }

  static func refused(_ what: String, _ mode: mode_t) -> GroupFileError {
    .exposed("the group's \(what) is open to other users (mode \(String(mode, radix: 8)))")
  }
}
