import ArgumentParser

/// `vault archive …`
struct ArchiveFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "archive",
    abstract: "Look into keyed archives (NSKeyedArchiver) without building anything in them; no store is needed.",
    usage: """
      vault archive show FILE [--raw] [--json] | check FILE [--allow CLASS]... [--json]
      vault archive convert FILE --to xml|binary|json [-o OUT]
      """,
    discussion: """
      Example:
        vault archive show settings.plist
      """,
    subcommands: [ShowArchive.self, CheckArchive.self, ConvertArchive.self])
}
