internal import Glibc

/// A new file, mode 0600, before it gets its name. If the file system allows it, it has no name until then, so that a
/// killed process leaves nothing; otherwise it has a temporary one in the same folder.
package struct DraftFile: ~Copyable {
  package let file: OpenFile
  package let isNameless: Bool
  private let temporary: String

  /// O_TMPFILE, which Swift does not import.
  private static let nameless = 0o20_000_000 | O_DIRECTORY

  package init(beside path: String) throws(FileFault) {
    let folder = CanonicalPath.split(path).folder
    temporary = "\(folder)/.vault-\(String(UInt64.random(in: .min ... .max), radix: 16)).new"
    // A nameless file gets its name through /proc.
    if unsafe access("/proc/self/fd", X_OK) == 0,
      let file = try? OpenFile(folder + "/", O_WRONLY | DraftFile.nameless, mode: 0o600)
    {
      // Whatever the umask.
      try? file.setMode(0o600)
      self.file = file
      isNameless = true
    } else {
      file = try OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
      isNameless = false
    }
  }

  deinit { unsafe unlink(temporary) }

  /// Gives the complete file its name, unless something has it.
  package func place(at path: String) throws(FileFault) {
    try file.synchronize()
    if isNameless { try link(as: path) } else { try NewName.give(path, to: temporary) }
  }

  /// Gives the complete file its name in place of a file that has it. A nameless one gets a temporary name for a moment.
  package func replace(_ path: String) throws(FileFault) {
    if isNameless { try link(as: temporary) }
    guard unsafe rename(temporary, path) == 0 else { throw FileFault(errno: errno) }
  }

  private func link(as path: String) throws(FileFault) {
    let source = "/proc/self/fd/\(file.descriptor)"
    guard unsafe linkat(AT_FDCWD, source, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else { throw FileFault(errno: errno) }
  }
}
