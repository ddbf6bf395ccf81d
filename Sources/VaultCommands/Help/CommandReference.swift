import ArgumentParser
internal import Vault

/// The documentation's page of commands, made like the manual pages of what the commands say of themselves.
enum CommandReference {
  static var text: String {
    let commands = ManualPage.all.map(\.command).filter { $0.subcommands.isEmpty }
    return """
      # Command reference

      Every command of `vault`, with its options and its exit statuses.

      ## Overview

      A value never stands in an argument. Every command on a store takes `--key-file` and `--passphrase-fd`; with `--json`
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
    let configuration = command.type.configuration
    let options = command.optionForms.map { form in
      let label = (form.names + (form.valueName.map { ["<\($0)>"] } ?? [])).joined(separator: " ")
      return "| `\(label)` | \(form.help.replacing("|", with: "\\|")) |"
    }
    return """
      ## \(command.path)

      \(configuration.abstract)

      ```
      \(configuration.usage ?? command.path)
      ```

      \(discussion(configuration.discussion))

      | option | |
      | --- | --- |
      \(options.joined(separator: "\n"))

      """
  }

  /// Indented lines are what is typed, so they become a block of their own.
  private static func discussion(_ text: String) -> String {
    var lines: [String] = []
    var isBlock = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("  ") != isBlock, !line.isEmpty || isBlock {
        lines += isBlock ? ["```", ""] : ["", "```"]
        isBlock.toggle()
      }
      lines.append(isBlock ? String(line.dropFirst(2)) : String(line))
    }
    return (lines + (isBlock ? ["```"] : [])).joined(separator: "\n")
  }
}
