/// What the executable is called decides what it does: git and docker find their helpers by a file's name.
enum ProgramName {
  /// The words of the command that a program of this name stands for; none for any other name.
  ///
  /// - Parameter path: the process's first argument: a name, or a path that ends in it.
  static func command(of path: String) -> [String] {
    // By bytes and without tables: every process comes here, and setting up types costs more than all of this.
    let path = path.utf8
    let name = path.lastIndex(of: UInt8(ascii: "/")).map { path[path.index(after: $0)...] } ?? path[...]
    if name.count > 15, name.starts(with: "git-credential-".utf8) { return ["credential", "git"] }
    if name.count > 18, name.starts(with: "docker-credential-".utf8) { return ["credential", "docker"] }
    return []
  }
}
