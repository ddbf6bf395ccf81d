import ArgumentParser

/// An option with one value that was given twice. The parser would silently take the last one, and a script that names
/// two groups or two files means something else.
enum RepeatedOption {
  private static let mayRepeat: Set = ["--attribute", "--allow", "--env-file", "--set", "--as-file"]
  /// `vault app issue` names a group for each right.
  private static let mayRepeatInIssue = mayRepeat.union(["--group"])
  private static let longNames = ["-g": "--group", "-a": "--attribute"]

  /// - Parameter arguments: what the parser has accepted; so a word with a dash in front is no option's value.
  /// - Returns: the long name of the first such option.
  static func first(in arguments: [String]) -> String? {
    var seen: Set<String> = []
    let mayRepeat = NamedCommand(arguments).path == "vault app issue" ? mayRepeatInIssue : mayRepeat
    for word in arguments.prefix(while: { $0 != "--" }) where word.hasPrefix("-") {
      let name = longName(of: word)
      guard !seen.insert(name).inserted, !mayRepeat.contains(name) else { continue }
      // Flags may be repeated: they have nothing to contradict.
      let help = CommandLineTree.helpMessage(for: NamedCommand(arguments).type)
      if help.contains("\(name) <") { return name }
    }
    return nil
  }

  private static func longName(of word: String) -> String {
    let name = String(word.prefix { $0 != "=" })
    return longNames[name] ?? name
  }
}
