import ArgumentParser

/// `vault identity …`
struct IdentityFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "identity",
    abstract: "Show who the store belongs to.",
    usage: "vault identity show [--json]",
    discussion: """
      Example:
        vault identity show
      """,
    subcommands: [ShowIdentity.self])
}
