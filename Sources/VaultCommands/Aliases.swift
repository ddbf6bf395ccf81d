/// Short names that people bring from other tools; each is its command in every respect.
enum Aliases {
  static let commands = [
    "ls": "list", "rm": "remove", "cp": "copy", "mv": "move", "cat": "get", "show": "get",
  ]

  /// The arguments with the command's own name in the place of an alias.
  static func resolved(_ arguments: [String]) -> [String] {
    let place = arguments.first == "help" ? 1 : 0
    guard arguments.count > place, let command = commands[arguments[place]] else { return arguments }
    var resolved = arguments
    resolved[place] = command
    return resolved
  }
}
