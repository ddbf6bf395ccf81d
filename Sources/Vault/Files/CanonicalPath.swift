internal import Glibc

/// Paths as the system sees them.
enum CanonicalPath {
  /// `path` from the root, without links as far as it exists.
  ///
  /// - Throws: `denied`, `storage`, `link` for links that lead in a circle.
  static func of(_ path: String) throws(FileFault) -> String {
    guard !path.isEmpty, !path.utf8.contains(0) else { throw .missing }
    if let resolved = unsafe realpath(path, nil) {
      defer { unsafe free(resolved) }
      return unsafe String(cString: resolved)
    }
    guard errno == ENOENT || errno == ENOTDIR else { throw FileFault(errno: errno) }
    let (parent, name) = split(path)
    guard parent != path, name != ".." else { throw .missing }
    let above = try of(parent)
    return name.isEmpty || name == "." ? above : above == "/" ? above + name : above + "/" + name
  }

  /// What the link at `path` leads to, or `path` itself where there is none.
  ///
  /// - Throws: `link` for a link that somebody other than root and `user` made or could exchange, and for links in a circle.
  static func followingLinks(_ path: String, user: uid_t) throws(FileFault) -> String {
    var path = path
    for _ in 0..<40 {
      var status = stat()
      guard !path.utf8.contains(0), unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else {
        return path
      }
      let folder = split(path).folder
      var parent = stat()
      guard unsafe stat(folder, &parent) == 0 else { throw FileFault(errno: errno) }
      // In a folder with the sticky bit others can make links, but not exchange ours.
      let isOpen = parent.st_mode & 0o022 != 0 && parent.st_mode & S_ISVTX == 0
      guard [user, 0].contains(status.st_uid), [user, 0].contains(parent.st_uid), !isOpen else { throw .link }
      var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
      let count = unsafe readlink(path, &target, Int(PATH_MAX))
      guard count > 0 else { throw FileFault(errno: errno) }
      let text = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      path = text.hasPrefix("/") ? text : folder + "/" + text
    }
    throw .link
  }

  /// The folder of `path` and the name in it.
  static func split(_ path: String) -> (folder: String, name: String) {
    var trimmed = path[...]
    while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
    guard let slash = trimmed.lastIndex(of: "/") else { return (".", String(trimmed)) }
    let name = String(trimmed[trimmed.index(after: slash)...])
    return slash == trimmed.startIndex ? ("/", name) : (String(trimmed[..<slash]), name)
  }

  /// Whether the canonical `path` is the canonical `folder` or lies in it.
  static func isInside(_ path: String, _ folder: String) -> Bool {
    path == folder || folder == "/" || path.hasPrefix(folder + "/")
  }
}
