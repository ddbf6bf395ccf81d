/// What the executable is called decides what it does: git and docker find their helpers by a file's name.
enum ProgramName {
  private static let commands = [
    "git-credential-": ["credential", "git"], "docker-credential-": ["credential", "docker"],
  ]

  /// The words of the command that a program of this name stands for; none for any other name.
  ///
  /// - Parameter path: the process's first argument: a name, or a path that ends in it.
  static func command(of path: String) -> [String] {
    let name = path.split(separator: "/").last ?? ""
    return commands.first { name.hasPrefix($0.key) && name.count > $0.key.count }?.value ?? []
  }
}
