import ArgumentParser

/// `vault completions SHELL`
struct Completions: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "completions",
    abstract: "Write the completion script of a shell: bash, zsh or fish.",
    usage: "vault completions SHELL [--name NAME]",
    discussion: """
      It completes commands and options, groups, and items of a store that opens without a question. tools/install puts \
      the scripts where the shells look for them.

      Example:
        source <(vault completions bash)
      """)

  @Argument(help: ArgumentHelp("bash, zsh or fish.", valueName: "shell")) var shell: String
  @Option(help: ArgumentHelp("What the program is called, if it is not vault.", valueName: "name")) var name = "vault"

  func run(in session: Session) throws {
    guard let script = CompletionScript(rawValue: shell) else {
      throw Failure.usage("there is no script for that shell", hint: "it is bash, zsh or fish")
    }
    guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }) else {
      throw Failure.usage("the value of --name is not valid", hint: "use letters, digits, '-', '_' and '.'")
    }
    try session.output.write(script.text(for: name))
  }
}

/// `vault complete -- WORD...`: what the scripts ask.
struct Complete: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "complete", abstract: "Say what can stand at the end of a command line.",
    usage: "vault complete -- WORD...", shouldDisplay: false)

  @Argument(parsing: .captureForPassthrough) var words: [String] = []

  func run(in session: Session) throws {
    switch Completion(words.first == "--" ? Array(words.dropFirst()) : words, in: session) {
    case .files: try session.output.write("files\n")
    case .words(let candidates): try session.output.write((["words"] + candidates).joined(separator: "\n") + "\n")
    }
  }
}
