import KeyedArchives

/// The description of a command.
struct About {
  /// One sentence or two.
  let abstract: String
  /// Every form on a separate line that begins with `vault`. An indented line continues the previous one.
  let usage: String
  /// Paragraphs, separated by empty lines.
  let more: String
  /// The lines to type.
  let example: String

  init(_ abstract: String, usage: String, more: String = "", example: String = "") {
    (self.abstract, self.usage, self.more, self.example) = (abstract, usage, more, example)
  }
}

/// A place in the table: `vault` itself, a family such as `vault group`, or a command.
struct NamedCommand {
  /// `vault group create`
  let path: String
  /// The command's type; nil for `vault` and families.
  let type: (any Command.Type)?
  /// The number of words that named it.
  let wordCount: Int

  /// The command or family that the words name.
  init(_ words: some Collection<String>) {
    var path = ""
    // The longest names have three words. One typed word never counts as two, whatever it contains.
    var named: (entry: CommandTable.Entry, path: String)?
    for word in words.prefix(3).prefix(while: { !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: " ")) }) {
      path += path.isEmpty ? word : " " + word
      // The longest match counts: `audit verify` is a command of its own, not an argument of `audit`.
      if let entry = CommandTable.entry(path) { named = (entry, path) }
    }
    if let named {
      self.init(named.entry, wordCount: NamedCommand.wordCount(named.path))
      return
    }
    let family = CommandTable.families.map(\.path).filter { path == $0 || path.hasPrefix($0 + " ") }.max {
      $0.utf8.count < $1.utf8.count
    }
    self.init(family: family ?? "")
  }

  private init(_ entry: CommandTable.Entry, wordCount: Int) {
    (path, type, self.wordCount) = ("vault " + entry.path, entry.type, wordCount)
  }

  private init(family: String) {
    (path, type, wordCount) = (family.isEmpty ? "vault" : "vault " + family, nil, NamedCommand.wordCount(family))
  }

  private static func wordCount(_ path: String) -> Int { path.split(separator: " ").count }

  /// `vault` and everything below it, except hidden commands.
  static var all: [NamedCommand] { NamedCommand([]).andBelow }

  private var andBelow: [NamedCommand] { [self] + subcommands.flatMap(\.andBelow) }

  /// The commands and families directly below it, in the order of the table.
  var subcommands: [NamedCommand] {
    var found: [NamedCommand] = []
    let words = path.split(separator: " ").dropFirst()
    for entry in CommandTable.entries {
      let names = entry.path.split(separator: " ")
      guard names.count > words.count, names.starts(with: words) else { continue }
      let next = NamedCommand(names.prefix(words.count + 1).map(String.init))
      if found.last?.path != next.path { found.append(next) }
    }
    return found
  }

  /// Its last word.
  var name: String { path.split(separator: " ").last.map(String.init) ?? path }

  /// Every argument and option.
  var parameters: [Parameter] { (type?.parameters ?? []) + [.help] }

  var about: About {
    if let type { return type.about }
    guard let family = CommandTable.families.first(where: { "vault " + $0.path == path }) else { return Help.about }
    return About(family.abstract, usage: forms(of: family), more: family.more, example: family.example)
  }

  /// `vault slot list | add passphrase | …`, on as many lines as needed.
  private func forms(of family: CommandTable.Family) -> String {
    var lines: [String] = []
    for entry in CommandTable.entries where entry.path.hasPrefix(family.path + " ") {
      let form = [String(entry.path.dropFirst(family.path.count + 1)), entry.operands].filter { !$0.isEmpty }
      let words = form.joined(separator: " ")
      if let last = lines.last, last.count + words.count <= 70 {
        lines[lines.count - 1] = "\(last) | \(words)"
      } else {
        lines.append("\(path) \(words)")
      }
    }
    return lines.joined(separator: "\n")
  }

  /// The command's usage, to be printed under an error.
  var usage: String { "usage: " + about.usage.exchanging("\n", for: "\n       ") + "\n" }
}

extension CommandTable {
  fileprivate static func entry(_ path: String) -> Entry? {
    for section in sections {
      for entry in section.entries where entry.path == path || entry.aliases.contains(path) { return entry }
    }
    return hidden.first { $0.path == path }
  }
}

/// The typed words, parsed with the table.
struct TypedLine {
  /// The typed words, without the program's name.
  let arguments: [String]
  let command: NamedCommand
  /// Whether `help` precedes the command.
  let asksForHelp: Bool
  /// The number of words before the command that open the store.
  private let leadingCount: Int

  init(_ arguments: [String]) {
    self.arguments = arguments
    leadingCount = TypedLine.leadingCount(arguments)
    asksForHelp = arguments.dropFirst(leadingCount).first == "help"
    command = NamedCommand(arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0)))
  }

  /// The words after the command.
  var rest: ArraySlice<String> { arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0) + command.wordCount) }

  /// The words for the command, including options before it that open the store.
  var words: [String] { leadingCount == 0 ? Array(rest) : Array(arguments.prefix(leadingCount) + rest) }

  /// `--help` counts in any position except after `--`.
  var hasHelpOption: Bool { rest.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" } }

  /// - Returns: nil if help is asked for.
  /// - Throws: an `ArgumentFault`.
  func parsed() throws(ArgumentFault) -> (any Command)? {
    if asksForHelp {
      guard rest.isEmpty || hasHelpOption else { throw unknownCommand }
      return nil
    }
    if hasHelpOption { return nil }
    guard let type = command.type else { throw unknownCommand }
    return try type.parsed(words)
  }

  private var unknownCommand: ArgumentFault {
    guard let word = rest.first, !Arguments.isOption(word) else { return .missingCommand }
    return .unknownCommand(meant: Closeness.nearest(to: word, among: command.subcommands.map(\.name)))
  }

  private static func leadingCount(_ words: [String]) -> Int {
    guard let first = words.first, Arguments.isOption(first) else { return 0 }
    var arguments = Arguments()
    _ = try? KeySource(&arguments)
    let names = arguments.parameters.compactMap(\.long)
    var count = 0
    while count < words.count {
      let word = words[count]
      if names.contains(word), count + 1 < words.count {
        count += 2
      } else if names.contains(where: { word.hasPrefix($0 + "=") }) {
        count += 1
      } else {
        break
      }
    }
    return count
  }
}
