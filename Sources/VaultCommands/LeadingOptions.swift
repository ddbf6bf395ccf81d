/// `vault --credential FILE get NAME`: what opens the store may stand before the command too.
enum LeadingOptions {
  private static let names = ["--credential", "--key-file", "--passphrase-fd", "--recovery-fd"]

  /// The arguments with such options behind the command, where the parser looks for them.
  static func moved(_ arguments: [String]) -> [String] {
    let leading = arguments.prefix(count(in: arguments[...]))
    let rest = arguments[leading.endIndex...]
    guard !leading.isEmpty, let command = rest.first, !command.hasPrefix("-") else { return arguments }
    let end = rest.firstIndex(of: "--") ?? rest.endIndex
    return Array(rest[..<end] + leading + rest[end...])
  }

  /// How many words in front are such options and their values.
  static func count(in words: ArraySlice<String>) -> Int {
    var count = 0
    while let option = words.dropFirst(count).first {
      if names.contains(option), words.count > count + 1 {
        count += 2
      } else if names.contains(where: { option.hasPrefix($0 + "=") }) {
        count += 1
      } else {
        break
      }
    }
    return count
  }
}

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
