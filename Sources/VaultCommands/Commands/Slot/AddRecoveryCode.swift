import ArgumentParser
internal import Vault

/// `vault slot add recovery`
struct AddRecoveryCode: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery",
    abstract: "Make a recovery code and print it, once; the same as: vault recovery create.",
    usage: "vault slot add recovery [--replace]",
    discussion: """
      Example:
        vault slot add recovery
      """)

  @OptionGroup var recovery: RecoveryOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws { try recovery.createCode(in: session, key.source) }
}
