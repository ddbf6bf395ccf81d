import ArgumentParser

/// `vault group …`
struct GroupFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "group",
    abstract: "Make, show and look after access groups.",
    usage: """
      vault group create NAME | list | show NAME | share NAME | accept NAME
      vault group compact NAME | rotate NAME | remove NAME
      """,
    discussion: """
      Example:
        vault group create team.shared --keep 50
      """,
    subcommands: [
      CreateGroup.self, ListGroups.self, ShowGroup.self, ShareGroup.self, AcceptGroup.self, CompactGroup.self,
      RotateGroup.self,
      RemoveGroup.self,
    ])
}
