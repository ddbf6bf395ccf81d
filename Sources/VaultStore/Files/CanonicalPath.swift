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
