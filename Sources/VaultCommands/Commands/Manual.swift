import ArgumentParser
import Glibc
internal import Vault

/// `vault manual FOLDER`: what the installer calls.
struct Manual: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "manual", abstract: "Write the manual pages into a folder.", usage: "vault manual FOLDER",
    shouldDisplay: false)

  @Argument(help: ArgumentHelp("The folder, which exists.", valueName: "folder")) var folder: String

  func run(in session: Session) throws {
    for page in ManualPage.all {
      let path = "\(folder)/\(page.name).1"
      let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
      guard descriptor >= 0 else {
        throw Failure(.storage, "a manual page cannot be written: \(SystemReason.text(errno))")
      }
      defer { close(descriptor) }
      try Descriptor.write(page.text, to: descriptor)
    }
  }
}
