import ArgumentParser
internal import Vault

/// The `vault` command: every form it has, in the order of its help.
struct CommandLineTree: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "vault",
    abstract: "A keychain: small secrets, encrypted per access group, for scripts and services.",
    usage: "vault <command> …",
    discussion: """
      Example:
        vault init --key-file ~/.config/vault.key
        printf %s "$TOKEN" | vault set api/token
        vault get api/token

      Places:
        VAULT_HOME      the store (else $XDG_DATA_HOME/vault, and /var/lib/vault for root)
        VAULT_STATE     what this machine has seen (else $XDG_STATE_HOME/vault, and /var/lib/vault-state)
        VAULT_GROUP     the access group where -g is not given (else default)
        VAULT_KEY_FILE  the key file where --key-file is not given

      Exit statuses:
      \(statuses)
      """,
    groupedSubcommands: [
      CommandGroup(
        name: "Store", subcommands: [Init.self, Status.self, Verify.self, Paths.self, PassphraseFamily.self]),
      CommandGroup(
        name: "Item",
        subcommands: [
          SetItem.self, GetItem.self, GenerateItem.self, ListItems.self, InfoItem.self, HistoryOfItem.self,
          RemoveItem.self,
          RestoreItem.self,
        ]),
      CommandGroup(name: "Group", subcommands: [GroupFamily.self]),
      CommandGroup(name: "Archive", subcommands: [ArchiveFamily.self]),
    ])

  private static let statuses = ExitStatus.allCases
    .map { status in
      let number = String(status.rawValue)
      return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + status.meaning
    }
    .joined(separator: "\n")
}
