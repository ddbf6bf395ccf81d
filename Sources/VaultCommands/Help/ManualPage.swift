internal import Vault

/// A manual page, generated from the command's own description, so there is no second copy to maintain.
///
/// The language is man(7), which both groff and mandoc show.
struct ManualPage {
  let command: NamedCommand

  /// `vault`, `vault-group-list`.
  var name: String { command.path.split(separator: " ").joined(separator: "-") }

  /// The pages of `vault` and of every command below it.
  static var all: [ManualPage] { NamedCommand.all.map(ManualPage.init) }

  var text: String {
    let about = command.about
    var page = ".TH \(Self.quoted(name.uppercased())) 1 \"\" \"vault \(Versions.vault)\" \"Vault\"\n"
    page += ".SH NAME\n\(Self.escaped(name)) \\- \(Self.escaped(Self.uncapitalized(about.abstract)))\n"
    page += ".SH SYNOPSIS\n" + Self.literal(about.usage)
    page += ".SH DESCRIPTION\n\(Self.escaped(about.abstract))\n"
    if !about.more.isEmpty { page += Self.escaped(about.more).exchanging("\n\n", for: "\n.PP\n") + "\n" }
    if !about.example.isEmpty { page += ".SH EXAMPLE\n" + Self.literal(about.example) }
    if command.wordCount == 0 {
      page += ".SH PLACES\n" + Self.literal(Help.places) + ".SH EXIT STATUSES\n" + Self.literal(Help.exitStatuses)
    }
    page += options
    page += subcommands
    page += ".SH SEE ALSO\n.BR \(command.wordCount > 0 ? "vault (1)" : "vaultd (8)")\n"
    return page
  }

  private var options: String {
    let entries = command.parameters.map { parameter in
      ".TP\n.B \(Self.escaped(parameter.label))\n\(Self.escaped(parameter.help))\n"
    }
    return ".SH OPTIONS\n" + entries.joined()
  }

  private var subcommands: String {
    guard command.type == nil else { return "" }
    let entries = command.subcommands.map { command in
      ".TP\n.BR \(Self.escaped(ManualPage(command: command).name)) (1)\n\(Self.escaped(command.about.abstract))\n"
    }
    return ".SH COMMANDS\n" + entries.joined()
  }

  private static func literal(_ text: String) -> String { ".nf\n\(escaped(text))\n.fi\n" }

  private static func uncapitalized(_ text: String) -> String {
    let end = text.hasSuffix(".") ? text.index(before: text.endIndex) : text.endIndex
    return text.prefix(1).lowercased() + text[..<end].dropFirst()
  }

  private static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// Escapes text so that no line is read as a request, and a hyphen stays one that can be pasted into a shell.
  private static func escaped(_ text: String) -> String {
    let escaped = text.exchanging("\\", for: "\\e").exchanging("-", for: "\\-").exchanging("'", for: "\\(aq")
    return escaped.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.hasPrefix(".") ? "\\&" + $0 : String($0) }.joined(separator: "\n")
  }
}

/// The documentation's page of commands. Like the manual pages, it is generated from the commands' own descriptions.
enum CommandReference {
  static var text: String {
    let commands = NamedCommand.all.filter { $0.type != nil }
    return """
      # Command reference

      Every command of `vault` with its options, and all exit statuses.

      ## Overview

      A value is never an argument. Every command on a store accepts `--key-file` and `--passphrase-fd`. Where there is
      an option `--json`, it makes the output and any error JSON.

      | status | meaning |
      | --: | --- |
      \(statuses)

      \(commands.map(section).joined(separator: "\n"))
      """
  }

  private static var statuses: String {
    ExitStatus.allCases.map { "| \($0.rawValue) | \($0.meaning) |" }.joined(separator: "\n")
  }

  private static func section(of command: NamedCommand) -> String {
    let about = command.about
    let options = command.parameters.map { "| `\($0.label)` | \($0.help.exchanging("|", for: "\\|")) |" }
    return """
      ## \(command.path)

      \(about.abstract)

      ```
      \(about.usage)
      ```

      \(about.more.isEmpty ? "" : about.more + "\n\n")Example:

      ```
      \(about.example)
      ```

      | option | |
      | --- | --- |
      \(options.joined(separator: "\n"))

      """
  }
}
