internal import Vault

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

/// The output of `--help`, made from the table and the commands' own descriptions.
enum Help {
  /// The description of `vault` itself.
  static let about = About(
    "A keychain: small secrets, encrypted per access group, for scripts and services.", usage: "vault COMMAND …",
    example: """
      vault init --key-file ~/.config/vault.key
      export VAULT_KEY_FILE=~/.config/vault.key
      printf %s "$TOKEN" | vault set api/token
      vault get api/token
      """)

  /// The environment variables that are used.
  static let places = """
    VAULT_HOME      the store (else $XDG_DATA_HOME/vault; root: /var/lib/vault)
    VAULT_STATE     what this machine has seen (else $XDG_STATE_HOME/vault;
                    root: /var/lib/vault-state)
    VAULT_GROUP     the access group if -g is not given (else default, or
                    the application's own)
    VAULT_KEY_FILE  the key file if --key-file is not given
    VAULT_CREDENTIAL
                    the credential of the application to act as (else the
                    file vault in systemd's $CREDENTIALS_DIRECTORY)
    VAULT_SOCKET    the vaultd to ask (else the one on a usual socket, if
                    nothing else opens the store)
    """

  static var exitStatuses: String {
    ExitStatus.allCases.map { Help.right(String($0.rawValue), 3) + "  " + $0.meaning }.joined(separator: "\n")
  }

  /// - Parameter columns: the maximum width of a line.
  static func page(of command: NamedCommand, columns: Int) -> String {
    command.wordCount == 0 ? firstPage : page(command, columns)
  }

  // MARK: The first page

  private static var firstPage: String {
    let commands = CommandTable.sections.map { section in
      "\(section.title):\n" + section.entries.map(line).joined(separator: "\n")
    }
    return """
      \(about.abstract)

      usage: \(about.usage)

      First steps:
      \(indented(about.example))

      \(commands.joined(separator: "\n\n"))

      Places:
      \(indented(places))

      Exit statuses:
      \(indented(exitStatuses))

      More:
        vault COMMAND --help   the options of a command, and an example
        vault --version        the versions of vault, its format and its libraries

      """
  }

  private static func line(of entry: CommandTable.Entry) -> String {
    let label = entry.operands.isEmpty ? entry.path : "\(entry.path) \(entry.operands)"
    return row(label, entry.line, column: 23, columns: 80)
  }

  // MARK: The page of one command

  private static func page(_ command: NamedCommand, _ columns: Int) -> String {
    let about = command.about
    var parts = [wrapped("OVERVIEW: " + about.abstract, columns)]
    if !about.more.isEmpty { parts.append(wrapped(about.more, columns)) }
    if !about.example.isEmpty { parts.append("Example:\n" + indented(about.example)) }
    parts.append(forms(about.usage, after: "USAGE: ", columns))
    let (arguments, options) = (
      command.parameters.filter { $0.long == nil }, command.parameters.filter { $0.long != nil }
    )
    for (title, parameters) in [("ARGUMENTS", arguments), ("OPTIONS", options)] where !parameters.isEmpty {
      let rows = parameters.map { row($0.label, $0.help, column: 26, columns: columns) }
      parts.append("\(title):\n" + rows.joined(separator: "\n"))
    }
    let below = command.subcommands.map { row($0.name, $0.about.abstract, column: 26, columns: columns) }
    if !below.isEmpty { parts.append("COMMANDS:\n" + below.joined(separator: "\n")) }
    return parts.joined(separator: "\n\n") + "\n"
  }

  // MARK: Layout

  /// A label, followed by its text from a given column on. A long label gets a separate line.
  private static func row(_ label: String, _ text: String, column: Int, columns: Int) -> String {
    let margin = String(repeating: " ", count: column)
    let lines = wrapped(text, columns - column)
    let text = lines.utf8.contains(UInt8(ascii: "\n")) ? lines.exchanging("\n", for: "\n" + margin) : lines
    let isLong = label.count + 3 > column
    return "  " + label + (isLong ? "\n" + margin : String(repeating: " ", count: column - 2 - label.count)) + text
  }

  /// The forms of a command after a title. Lines that are too long are wrapped, if possible not within brackets.
  static func forms(_ lines: String, after title: String, _ columns: Int) -> String {
    func margin(of line: Substring?) -> String { String(repeating: " ", count: line?.prefix { $0 == " " }.count ?? 0) }
    var rows: [String] = []
    var rest = lines.split(separator: "\n")[...]
    while let line = rest.popFirst() {
      // What continues a form stands where its other options do.
      let indent = margin(of: line)
      let options = indent.isEmpty ? margin(of: rest.first) : indent
      let further = options.isEmpty ? "    " : options
      var row = indent
      for part in parts(of: line, columns - title.count - further.count) {
        if row != indent, title.count + row.count + 1 + part.count >= columns {
          rows.append(row)
          row = further + part
        } else {
          row += row == indent ? part : " " + part
        }
      }
      rows.append(row)
    }
    return title + rows.joined(separator: "\n" + String(repeating: " ", count: title.count))
  }

  /// The words of a line of usage; those in brackets are one, if they fit into a line.
  private static func parts(of line: Substring, _ width: Int) -> [String] {
    var parts: [String] = []
    var depth = 0
    for word in line.split(separator: " ") {
      if depth > 0, let last = parts.last, last.count + 1 + word.count < width {
        parts[parts.count - 1] = "\(last) \(word)"
      } else {
        parts.append(String(word))
      }
      depth += word.count { $0 == "[" } - word.count { $0 == "]" }
    }
    return parts
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func indented(_ text: String) -> String { "  " + text.exchanging("\n", for: "\n  ") }

  /// A message that follows `title` on its line. If it is wrapped, the commands in it are not, so that they can be copied.
  static func wrapped(_ line: String, after title: String, _ columns: Int?) -> String {
    guard let columns else { return " \(line)\n" }
    var (text, width) = ("", title.count)
    var words = line.split(separator: " ", omittingEmptySubsequences: false)[...]
    while let word = words.popFirst() {
      var part = String(word)
      // A command follows a colon, and ends with a mark, or with the message.
      if text.hasSuffix(":"), part == "vault" {
        while !";,)".contains(part.last ?? " "), let next = words.popFirst() { part += " \(next)" }
      }
      let partWidth = DisplayWidth.of(part)
      if width + 1 + partWidth < columns || text.isEmpty {
        text += " " + part
        width += 1 + partWidth
      } else {
        text += "\n  " + part
        width = 2 + partWidth
      }
    }
    return text + "\n"
  }

  /// Wraps lines between words.
  private static func wrapped(_ text: String, _ columns: Int) -> String {
    // Most texts are one line that fits.
    if text.utf8.count < columns, !text.utf8.contains(UInt8(ascii: "\n")) { return text }
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      var lines: [String] = []
      for word in line.split(separator: " ") {
        if let last = lines.last, last.count + 1 + word.count < columns {
          lines[lines.count - 1] = "\(last) \(word)"
        } else {
          lines.append(String(word))
        }
      }
      return lines.joined(separator: "\n")
    }
    .joined(separator: "\n")
  }
}

extension Parameter {
  /// `-g, --group <group>`
  var label: String {
    [names.joined(separator: ", "), value.map { "<\($0)>" } ?? ""].filter { !$0.isEmpty }.joined(separator: " ")
  }
}

extension ExitStatus {
  /// One line for the help and for docs/statuses.md.
  var meaning: String {
    switch self {
    case .success: "done"
    case .unexpected: "unexpected: something that should not happen"
    case .notFound: "not found: an item, a version, a group, an application or a member"
    case .locked: "locked: nothing opens the store, or its key file or credential cannot be used"
    case .denied: "denied: by rights, or by the system's permissions"
    case .damaged: "damaged or altered: not a vault file, or a proof failed"
    case .rolledBack: "rolled back: older than what this machine has seen"
    case .busy: "busy: others kept the group locked for ten seconds, or vaultd or a cluster does not answer"
    case .wrongKey: "wrong passphrase or key"
    case .newerFormat: "newer format: a newer vault wrote this"
    case .conflict: "conflict: the version is not the expected one"
    case .classRefused: "class refused: an archive holds a class that was not allowed"
    case .overLimit: "over a limit"
    case .noStore: "no store here"
    case .exists: "already exists"
    case .storage: "storage: disk full, read-only, or an I/O error"
    case .expiring: "only of expiring: something has expired, or will soon"
    case .usage: "usage: a mistake on the command line or in a named file, or nobody to ask"
    case .notExecutable: "only of run, watch and rotate-value: the program is not executable"
    case .commandNotFound: "only of run, watch and rotate-value: the program was not found"
    case .interrupted: "interrupted, or a question was answered with no"
    }
  }
}
