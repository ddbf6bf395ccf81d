import ArgumentParser
internal import Vault

/// What is said about arguments that are not understood.
///
/// The parser's own messages repeat what was typed, which may have been a secret. Here its message only chooses among
/// our texts, and whatever stands in quotes is a name of ours that was found in it.
enum ArgumentErrors {
  /// - Parameter arguments: what was typed, without the program's name.
  static func failure(for error: any Error, arguments: [String]) -> Failure {
    let command = NamedCommand(arguments)
    let message = CommandLineTree.message(for: error)
    return command.subcommands.isEmpty
      ? explain(message, command, arguments) : noSuchCommand(command, arguments)
  }

  /// `vault` or `vault group` alone.
  static func missingCommand(_ arguments: [String]) -> Failure { noSuchCommand(NamedCommand(arguments), arguments) }

  /// Letters behind one hyphen: no option of ours.
  static func beginsWithHyphen(_ arguments: [String]) -> Failure {
    .usage(
      "'\(NamedCommand(arguments).path)' has no such option", hint: "before a name that begins with '-', write --")
  }

  /// - Throws: `usage` unless the words name a command.
  static func requireCommand(_ words: [String]) throws(Failure) {
    let command = NamedCommand(words)
    guard command.path.split(separator: " ").count - 1 == words.count else { throw noSuchCommand(command, words) }
  }

  /// - Parameter option: a name of ours, of an option with one value.
  static func repeated(_ option: String, _ arguments: [String]) -> Failure {
    .usage("\(option) is given more than once", hint: "see \(NamedCommand(arguments).path) --help")
  }

  /// The forms of the command that was meant, to be printed under the error.
  static func usage(of arguments: [String]) -> String {
    let command = NamedCommand(arguments)
    let forms = (command.type.configuration.usage ?? command.path).split(separator: "\n")
    return "usage: " + forms.joined(separator: "\n       ") + "\n"
  }

  private static func explain(_ message: String, _ command: NamedCommand, _ arguments: [String]) -> Failure {
    let hint = "see \(command.path) --help"
    if message.hasPrefix("Missing expected argument") {
      let name = command.helpWords.first { message.contains("'<\($0)>") }?.uppercased()
      return .usage("\(name ?? option(in: message, of: command) ?? "an argument") is missing", hint: hint)
    }
    if message.hasPrefix("Missing value for"), let option = option(in: message, of: command) {
      return .usage("\(option) needs a value", hint: hint)
    }
    if message.contains("is invalid for"), let option = option(in: message, of: command) {
      return .usage("the value of \(option) is not valid", hint: hint)
    }
    if message.contains("nexpected argument") { return tooMany(command, hint) }
    if message.hasPrefix("Unknown option") { return unknownOption(command, arguments, hint) }
    return .usage("the arguments of '\(command.path)' are not understood", hint: hint)
  }

  private static func tooMany(_ command: NamedCommand, _ hint: String) -> Failure {
    guard command.path == "vault set" else { return .usage("there are too many arguments", hint: hint) }
    return .usage(
      "a value is never taken from an argument: other users and your shell's history would see it",
      hint: "pipe it: printf %s \"$VALUE\" | vault set NAME")
  }

  private static func unknownOption(_ command: NamedCommand, _ arguments: [String], _ hint: String) -> Failure {
    let known = command.options
    let typed = arguments.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) }
    let meant = typed.lazy.filter { !known.contains($0) }.compactMap { Closeness.nearest(to: $0, among: known) }.first
    return .usage("'\(command.path)' has no such option", hint: meant.map { "did you mean \($0)?" } ?? hint)
  }

  private static func noSuchCommand(_ parent: NamedCommand, _ arguments: [String]) -> Failure {
    let depth = parent.path.split(separator: " ").count - 1
    guard arguments.count > depth, !arguments[depth].hasPrefix("-") else {
      return .usage("a command is missing", hint: "see \(parent.path) --help")
    }
    let meant = Closeness.nearest(to: arguments[depth], among: parent.subcommandNames)
    return .usage(
      "there is no such command",
      hint: meant.map { "did you mean '\(parent.path) \($0)'?" } ?? "see \(parent.path) --help")
  }

  /// The option of ours that the parser's message is about: the last one in it, behind whatever was typed.
  private static func option(in message: String, of command: NamedCommand) -> String? {
    let words = message.split { " '<>".contains($0) }.map(String.init)
    let known = command.options
    return words.last { known.contains($0) }
  }
}
