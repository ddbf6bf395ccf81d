import KeyedArchives
internal import Vault

/// The documentation's page of commands. Like the manual pages, it is generated from the commands' own descriptions.
enum CommandReference {
  static var text: String {
    let commands = NamedCommand.all.filter { $0.type != nil }
    return """
      # Command reference

      Every command of `vault`, with its options and its exit statuses.

      ## Overview

      A value is never an argument. Every command on a store accepts `--key-file` and `--passphrase-fd`; with `--json`
      its output, and its error, is JSON.

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
