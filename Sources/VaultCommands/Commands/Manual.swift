import ArgumentParser
import Glibc
internal import Vault

/// `vault manual FOLDER`: what the installer and the documentation call.
struct Manual: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Write the manual pages into a folder.",
    usage: "vault manual FOLDER [--markdown]", shouldDisplay: false)

  @Argument(help: ArgumentHelp("The folder, which exists.", valueName: "folder")) var folder: String
  @Flag(help: "Write one page in Markdown instead: CommandReference.md.") var markdown = false

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
