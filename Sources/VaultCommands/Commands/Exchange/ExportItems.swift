import ArgumentParser
internal import Vault

/// `vault export`
struct ExportItems: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Write all values of a group, readable by whoever sees them.",
    usage: "vault export --to dotenv|json -g GROUP [--output FILE] [--yes-print-secrets]",
    discussion: """
      Asks on the terminal first; --yes-print-secrets answers yes. Nothing is written unless all of it can be.

      json is complete: an object with the group's name and items, each with name, kind, value (or valueBase64, where it is \
      not UTF-8), label, attributes, expires and, for archives, type. Each value is a string of exactly the value's bytes; \
      import takes it back. dotenv holds names and values only, in the form that python-dotenv and import read back \
      exactly; a value that is not text is refused.

      Example:
        vault export --to json --group team.shared --output team.json
      """)

  @Option(name: .customLong("to"), help: ArgumentHelp("What to write: dotenv or json.", valueName: "form"))
  var format: String

  @OptionGroup var group: GroupOptions
  @Option(help: ArgumentHelp("Write to this file, new or replaced, for you alone.", valueName: "file"))
  var output: String?

  @Flag(help: "Do not ask.") var yesPrintSecrets = false
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    guard let format = ExportFormat(rawValue: format) else {
      throw Failure.usage("there is no such form", hint: "--to dotenv, or --to json")
    }
    guard let name = group.group else {
      throw Failure.usage("--group is missing", hint: "an export names the group whose values it prints")
    }
    let group = try session.openGroup(name, key.source)
    if !yesPrintSecrets { try ask(group, session) }
    let export = try ExportRequest(of: group)
    if let output {
      try OutputFile.write(output) { output in try export.write(format, to: output) }
    } else {
      try export.write(format, to: session.output)
    }
    if format == .dotenv, let lost = export.whatTextCannotHold { session.say(lost) }
  }

  private func ask(_ group: AccessGroup, _ session: Session) throws {
    guard let terminal = Terminal(path: session.streams.terminal) else {
      throw Failure(
        .usage, "there is no terminal to ask on whether to print secrets", hint: "if you mean it: --yes-print-secrets")
    }
    let count = try group.items().count
    let values = count == 1 ? "1 value" : "\(count) values"
    let place = output == nil ? "print" : "write to a file"
    guard try terminal.confirm("\(place) \(values) of '\(group.name)', readable by whoever sees them? (yes/no) ") else {
      throw Failure(.interrupted, "nothing was written")
    }
  }
}
