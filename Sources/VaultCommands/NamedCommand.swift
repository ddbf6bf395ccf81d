/// What a command says of itself.
struct About {
  /// One sentence or two.
  let abstract: String
  /// Every form, each on a line that begins with `vault`, or indented as the rest of the one before.
  let usage: String
  /// Paragraphs, with an empty line between two.
  let more: String
  /// What one types.
  let example: String

  init(_ abstract: String, usage: String, more: String = "", example: String = "") {
    (self.abstract, self.usage, self.more, self.example) = (abstract, usage, more, example)
  }
}

/// A place in the table: `vault` itself, a family such as `vault group`, or a command.
struct NamedCommand {
  /// `vault group create`
  let path: String
  /// What it does; nil for `vault` and families.
  let type: (any Command.Type)?
  /// How many of the words named it.
  let wordCount: Int

  /// The command that the words lead to, as far as they name one.
  init(_ words: some Collection<String>) {
    var path = ""
    // The longest names have three words. What was typed as one word is never two, whatever it holds.
    for word in words.prefix(3).prefix(while: { !$0.isEmpty && !$0.utf8.contains(UInt8(ascii: " ")) }) {
      path += path.isEmpty ? word : " " + word
      if let entry = CommandTable.entry(path) {
        self.init(entry, wordCount: NamedCommand.wordCount(path))
        return
      }
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

  /// `vault` and all that is below it, but what no help shows.
  static var all: [NamedCommand] { NamedCommand([]).andBelow }

  private var andBelow: [NamedCommand] { [self] + subcommands.flatMap(\.andBelow) }

  /// The commands and families right below it, in the order of the table.
  var subcommands: [NamedCommand] {
    guard type == nil else { return [] }
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

  /// Its own word, without those in front of it.
  var name: String { path.split(separator: " ").last.map(String.init) ?? path }

  /// Every argument and option.
  var parameters: [Parameter] { (type?.parameters ?? []) + [.help] }

  var about: About {
    if let type { return type.about }
    guard let family = CommandTable.families.first(where: { "vault " + $0.path == path }) else { return Help.about }
    return About(family.abstract, usage: forms(of: family), more: family.more, example: family.example)
  }

  /// `vault slot list | add passphrase | …`, on as many lines as that takes.
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

  /// The forms of the command, to be printed under an error.
  var usage: String { "usage: " + about.usage.replacing("\n", with: "\n       ") + "\n" }
}

extension CommandTable {
  fileprivate static func entry(_ path: String) -> Entry? {
    for section in sections {
      for entry in section.entries where entry.path == path || entry.aliases.contains(path) { return entry }
    }
    return hidden.first { $0.path == path }
  }
}

/// What was typed, taken apart as far as the table goes.
struct TypedLine {
  /// As it was typed, without the program's name.
  let arguments: [String]
  let command: NamedCommand
  /// Whether `help` stands in front of the command.
  let asksForHelp: Bool
  /// How many words in front of the command name what opens the store.
  private let leadingCount: Int

  init(_ arguments: [String]) {
    self.arguments = arguments
    leadingCount = TypedLine.leadingCount(arguments)
    asksForHelp = arguments.dropFirst(leadingCount).first == "help"
    command = NamedCommand(arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0)))
  }

  /// What stands behind the command.
  var rest: ArraySlice<String> { arguments.dropFirst(leadingCount + (asksForHelp ? 1 : 0) + command.wordCount) }

  /// What the command is given: what opens the store may stand in front of it, too.
  var words: [String] { leadingCount == 0 ? Array(rest) : Array(arguments.prefix(leadingCount) + rest) }

  /// `--help` counts wherever it stands, but behind `--`.
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
