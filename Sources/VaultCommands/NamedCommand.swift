import ArgumentParser

/// A command of ours, and the words that lead to it.
struct NamedCommand {
  private(set) var path = "vault"
  private(set) var type: any ParsableCommand.Type = CommandLineTree.self

  /// The command that the arguments lead to, as far as they name one.
  init(_ arguments: [String]) {
    for argument in arguments {
      guard let next = subcommands.first(where: { $0.configuration.commandName == argument }) else { break }
      path += " " + argument
      type = next
    }
  }

  /// Those of the groups of the help are among them.
  var subcommands: [any ParsableCommand.Type] { type.configuration.subcommands }

  /// The commands below it that the help shows.
  var subcommandNames: [String] {
    subcommands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
  }

  /// `-g`, `--group`, and so on.
  var options: [String] { helpWords.filter { $0.hasPrefix("-") && $0.count > 1 } }

  var helpWords: [String] {
    CommandLineTree.helpMessage(for: type).split { " ,\n<>[]()'.|".contains($0) }.map(String.init)
  }
}
