import ArgumentParser
internal import Vault

/// `vault passphrase change`
struct ChangePassphrase: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "change",
    abstract: "Replace the passphrase, or add the first one to a store with a key file.",
    usage: "vault passphrase change [--new-passphrase-fd N] [--common-passphrase]",
    discussion: """
      Only the passphrase's slot is written anew, never the data. What each guess costs is raised to what is usual today, \
      and never lowered. Old copies of the store's identity file still open with the old passphrase.

      Example:
        vault passphrase change
      """)

  @OptionGroup var new: NewPassphraseOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    try store.changePassphrase(to: new.passphrase(in: session))
    session.say("the passphrase is changed")
  }
}
