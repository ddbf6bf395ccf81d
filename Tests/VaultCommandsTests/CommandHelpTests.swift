import Testing

@testable import VaultCommands

extension NamedCommand {
  /// Every command that does something by itself.
  static var leaves: [NamedCommand] { all.filter { $0.type != nil } }

  /// `-g`, `--group`, and so on.
  var options: [String] { parameters.flatMap(\.names) }
}

@Suite struct CommandHelpTests {
  @Test func `the list of commands is complete`() {
    #expect(
      NamedCommand.leaves.map(\.path) == [
        "vault set", "vault get", "vault edit", "vault pick", "vault generate", "vault list", "vault search",
        "vault info", "vault history", "vault restore", "vault remove", "vault expiring", "vault rotate-value",
        "vault copy", "vault move",
        "vault unlock", "vault lock", "vault run", "vault allow", "vault read", "vault inject", "vault env",
        "vault watch", "vault totp", "vault ssh generate", "vault ssh add", "vault ssh list",
        "vault credential git", "vault credential docker", "vault credential cargo", "vault credential aws",
        "vault askpass", "vault askpass add", "vault askpass list",
        "vault import", "vault export",
        "vault init", "vault status", "vault verify", "vault paths", "vault passphrase change",
        "vault slot list", "vault slot add passphrase", "vault slot add key-file", "vault slot add recovery",
        "vault slot add systemd", "vault slot remove", "vault recovery create", "vault identity show",
        "vault backup", "vault restore-backup", "vault repair",
        "vault group create", "vault group list", "vault group show", "vault group share", "vault group accept",
        "vault group compact", "vault group rotate", "vault group publish", "vault group unpublish",
        "vault group remove",
        "vault app issue", "vault app list", "vault app show", "vault app bind", "vault app unbind",
        "vault app uninstall",
        "vault grant", "vault revoke", "vault exposure",
        "vault service enroll", "vault service show", "vault service revoke",
        "vault audit", "vault audit verify", "vault audit begin",
        "vault remote add", "vault remote list", "vault remote provision", "vault remote remove",
        "vault join", "vault sync",
        "vault archive show", "vault archive check", "vault archive convert",
        "vault completions",
      ])
  }

  @Test func `families are named in the table, and each of them has commands`() {
    let families = Set(CommandTable.families.map { "vault " + $0.path })
    let paths = NamedCommand.all.filter { $0.type == nil && $0.wordCount > 0 }.map(\.path)
    #expect(Set(paths) == families && paths.count == families.count)
    // A command's own words name no family, so that each word leads to one place.
    #expect(families.isDisjoint(with: NamedCommand.leaves.map(\.path)))
  }

  @Test func `a form begins with the command's name, and names no option that the command does not take`() {
    for command in NamedCommand.leaves
      + CommandTable.hidden.map({ NamedCommand($0.path.split(separator: " ").map(String.init)) })
    {
      let usage = command.about.usage
      #expect(usage.split(separator: "\n").allSatisfy { $0.hasPrefix(command.path) || $0.hasPrefix("  ") })
      for word in usage.split(whereSeparator: { " []|.\n".contains($0) }) where word.hasPrefix("-") && word != "--" {
        #expect(command.options.contains(String(word)), "\(command.path): \(word)")
      }
    }
  }

  @Test func `the options and arguments of a command have different names and a help text each`() {
    for command in NamedCommand.leaves {
      let names = command.parameters.flatMap { $0.long == nil ? [$0.value ?? ""] : $0.names }
      #expect(Set(names).count == names.count, "\(command.path)")
      #expect(command.parameters.allSatisfy { !$0.help.isEmpty && $0.long?.hasPrefix("--") ?? true })
    }
  }

  @Test func `the help of every command has its form and an example`() {
    for command in NamedCommand.leaves {
      let arguments = command.path.split(separator: " ").dropFirst().map(String.init)
      let help = Transcript(arguments + ["--help"])
      #expect(help.status == 0)
      #expect(help.errors.isEmpty)
      #expect(help.output.contains("USAGE: \(command.path)"))
      #expect(help.output.contains("Example:\n  "))
      #expect(help.output.contains(command.path + " ") || help.output.contains(command.path + "\n"))
      #expect(Transcript(["help"] + arguments).output == help.output)
    }
  }

  @Test(arguments: ["--help", "-h", "help"]) func `the first page of help names every command and fits its width`(
    form: String
  ) {
    let page = Transcript([form])
    #expect(page.status == 0)
    #expect(page.errors.isEmpty)
    let lines = page.output.split(separator: "\n")
    for command in NamedCommand.leaves {
      let words = command.path.dropFirst("vault".count) + " "
      #expect(lines.contains { $0.hasPrefix(" " + words) }, "\(command.path)")
    }
    #expect(lines.prefix { $0 != "Exit statuses:" }.allSatisfy { $0.count <= 80 })
  }

  @Test func `every command that opens a store has the options for a key`() {
    for command in NamedCommand.leaves
    where !command.path.hasPrefix("vault archive ")
      && !["vault completions", "vault lock", "vault allow", "vault join"].contains(command.path)
    {
      #expect(command.options.contains("--key-file"))
      #expect(command.options.contains("--passphrase-fd"))
      #expect(command.options.contains("--recovery-fd"))
    }
  }

  @Test func `the version names our version, the format and the libraries`() {
    let transcript = Transcript(["--version"])
    #expect(transcript.status == 0)
    #expect(transcript.output.contains(/^vault \d+\.\d+\.\d+\nformat 1\nlibsodium 1\.\d+\.\d+\nSQLite 3\.\d+\.\d+\n$/))
  }
}
