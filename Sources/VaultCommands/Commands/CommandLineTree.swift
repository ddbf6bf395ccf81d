import ArgumentParser

/// The `vault` command: every form it has, in the order of its help.
struct CommandLineTree: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "vault",
    abstract: RootHelp.abstract,
    usage: "vault <command> …",
    discussion: "Example:\n\(RootHelp.firstSteps)\n\n\(RootHelp.surroundings)",
    groupedSubcommands: [
      CommandGroup(
        name: "Store",
        subcommands: [
          Init.self, Status.self, Verify.self, Paths.self, PassphraseFamily.self,
          SlotFamily.self, RecoveryFamily.self, IdentityFamily.self,
        ]),
      CommandGroup(
        name: "Item",
        subcommands: [
          SetItem.self, GetItem.self, EditItem.self, GenerateItem.self, ListItems.self, SearchItems.self, InfoItem.self,
          HistoryOfItem.self,
          RemoveItem.self,
          RestoreItem.self, CopyItem.self, MoveItem.self,
        ]),
      CommandGroup(
        name: "Use",
        subcommands: [
          UnlockStore.self, LockStore.self, RunProgram.self, ReadReference.self, InjectTemplate.self,
          PrintEnvironment.self, ShowOneTimeCode.self, CredentialFamily.self,
        ]),
      CommandGroup(name: "Exchange", subcommands: [ImportItems.self, ExportItems.self]),
      CommandGroup(name: "Backup", subcommands: [BackupStore.self, RestoreBackup.self, RepairGroup.self]),
      CommandGroup(
        name: "Group",
        subcommands: [
          GroupFamily.self, ApplicationFamily.self, GrantRights.self, RevokeRights.self, ShowExposure.self,
        ]),
      CommandGroup(name: "Archive", subcommands: [ArchiveFamily.self]),
      CommandGroup(name: "Shell", subcommands: [Completions.self, Complete.self, Manual.self]),
    ])
}
