import ArgumentParser

/// `vault group …`
struct GroupFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "group",
    abstract: "Make, show and look after access groups.",
    usage: """
      vault group create NAME [--keep N] | list | show NAME
      vault group accept NAME | compact NAME | rotate NAME | remove NAME
      """,
    discussion: """
      Example:
        vault group create team.shared --keep 50
      """,
    subcommands: [
      CreateGroup.self, ListGroups.self, ShowGroup.self, AcceptGroup.self, CompactGroup.self, RotateGroup.self,
      RemoveGroup.self,
    ])
}
