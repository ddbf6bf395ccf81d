import ArgumentParser

/// `vault recovery …`
struct RecoveryFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "recovery",
    abstract: "Make a code on paper that opens the store when everything else is lost.",
    usage: "vault recovery create [--replace]",
    discussion: """
      Example:
        vault recovery create
      """,
    subcommands: [CreateRecoveryCode.self])
}
