import ArgumentParser

/// `vault slot …`
struct SlotFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "slot",
    abstract: "Show and change what opens the store.",
    usage: "vault slot list | add KIND | remove NUMBER",
    discussion: """
      A slot is one way to open the store: a passphrase, a key file, a recovery code or a systemd credential. Each opens all \
      of it, and changing one leaves the others as they are.

      Example:
        vault slot list
      """,
    subcommands: [ListSlots.self, SlotAddFamily.self, RemoveSlot.self])
}

/// `vault slot add …`
struct SlotAddFamily: CommandFamily {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add one more way to open the store.",
    usage: "vault slot add passphrase | key-file | recovery | systemd",
    discussion: """
      Example:
        vault slot add recovery
      """,
    subcommands: [AddPassphrase.self, AddKeyFile.self, AddRecoveryCode.self, AddSystemdCredential.self])
}
