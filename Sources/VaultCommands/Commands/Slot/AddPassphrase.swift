import ArgumentParser
internal import Vault

/// `vault slot add passphrase`
struct AddPassphrase: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "passphrase",
    abstract: "Add a passphrase to a store that has none; it is asked for twice.",
    usage: "vault slot add passphrase [--new-passphrase-fd N] [--common-passphrase]",
    discussion: """
      A store has one passphrase at most; to replace it: vault passphrase change.

      Example:
        vault slot add passphrase
      """)

  @OptionGroup var new: NewPassphraseOptions
  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    let store = try session.openStore(key.source)
    let slot = try store.addPassphrase(new.passphrase(in: session))
    session.say("the passphrase opens slot \(slot.number)")
  }
}

struct CommonPassphraseOption: ParsableArguments {
  @Flag(help: "Take the new passphrase although it is one of the most common.") var commonPassphrase = false
}

/// Where a new passphrase comes from.
struct NewPassphraseOptions: ParsableArguments {
  @Option(
    name: .customLong("new-passphrase-fd"),
    help: ArgumentHelp("Read the new passphrase from this descriptor: its first line.", valueName: "n"))
  var descriptor: Int32?

  @OptionGroup var common: CommonPassphraseOption

  func passphrase(in session: Session) throws -> Secret {
    guard let descriptor else { return try NewPassphrase.ask(in: session, isMeant: common.commonPassphrase) }
    return try NewPassphrase.read(
      descriptor: descriptor, isMeant: common.commonPassphrase, KeySource.newPassphrase(descriptor:))
  }
}
