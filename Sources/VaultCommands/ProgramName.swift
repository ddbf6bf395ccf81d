/// The executable's name decides what it does, because git, docker and cargo find their helpers by file name.
enum ProgramName {
  /// The words of the command that a program with this name runs. Empty for any other name.
  ///
  /// - Parameter path: the process's first argument, which is a name or a path that ends in it.
  static func command(of path: String) -> [String] {
    // This compares bytes and uses no tables: every process runs it, and initializing types would cost more than the
    // comparison.
    let path = path.utf8
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] } ?? path[...]
    if name.count > 15, name.starts(with: "git-credential-".utf8) { return ["credential", "git"] }
    if name.count > 18, name.starts(with: "docker-credential-".utf8) { return ["credential", "docker"] }
    if name.count > 17, name.starts(with: "cargo-credential-".utf8) { return ["credential", "cargo"] }
    return []
  }
}
