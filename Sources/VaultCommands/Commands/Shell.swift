import Glibc
internal import Vault

/// `vault completions SHELL`
struct Completions: Command {
  static let about = About(
    "Write the completion script of a shell: bash, zsh or fish.",
    usage: "vault completions SHELL [--name NAME]",
    more: """
      It completes commands, options and groups, and items of a store that opens without a prompt. tools/install \
      puts the scripts where the shells look for them.
      """,
    example: """
      source <(vault completions bash)
      """)

  let shell: String
  let name: String

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    shell = try arguments.argument(
      "shell", "bash, zsh or fish.", completes: .words(CompletionScript.allCases.map(\.rawValue)))
    name = arguments.option("--name", value: "name", "The program's name, if it is not vault.", else: "vault")
  }

  func run(in session: Session) throws {
    guard let script = CompletionScript(rawValue: shell) else {
      throw Failure.usage("there is no script for that shell", hint: "use bash, zsh or fish")
    }
    guard !name.isEmpty, name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }) else {
      throw Failure.usage("the value of --name is not valid", hint: "use letters, digits, '-', '_' and '.'")
    }
    try session.output.write(script.text(for: name))
  }
}

/// `vault complete -- WORD...`, which the completion scripts call.
struct Complete: Command {
  static let about = About(
    "List the candidates for the end of a command line.",
    usage: "vault complete -- WORD...")

  let words: [String]

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    words = try arguments.wordsBehindDashes("word", "The words typed so far.", mayBeEmpty: true)
  }

  func run(in session: Session) throws {
    switch Completion(words.first == "--" ? Array(words.dropFirst()) : words, in: session) {
    case .files: try session.output.write("files\n")
    case .words(let candidates): try session.output.write((["words"] + candidates).joined(separator: "\n") + "\n")
    }
  }
}

/// `vault manual FOLDER`, which the installer and the documentation call.
struct Manual: Command {
  static let about = About(
    "Write the manual pages into a folder.",
    usage: "vault manual FOLDER [--markdown]")

  let folder: String
  let markdown: Bool

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    folder = try arguments.argument("folder", "The folder, which must exist.", completes: .files)
    markdown = arguments.flag("--markdown", "Write one page in Markdown instead: CommandReference.md.")
  }

  func run(in session: Session) throws {
    if markdown { return try write(CommandReference.text, as: "CommandReference.md") }
    for page in ManualPage.all { try write(page.text, as: page.name + ".1") }
  }

  private func write(_ text: String, as name: String) throws(Failure) {
    let descriptor = unsafe open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Failure(.storage, "a page cannot be written: \(SystemReason.text(errno))") }
    defer { close(descriptor) }
    try Descriptor.write(text, to: descriptor)
  }
}
