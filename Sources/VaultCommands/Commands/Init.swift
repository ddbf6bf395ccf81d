import ArgumentParser
internal import VaultStore

/// `vault init`
struct Init: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a store, and its group default; or bring a lost machine's store back.",
    usage: "vault init [--recover DIR [--recovery-fd N]] [--key-file FILE] [--passphrase-fd N]",
    discussion: """
      The store opens with the key file, which is made if it does not exist, or else with a passphrase, which is asked for \
      twice. Keep the key file apart from the store, and a copy of both.

      With --recover, DIR is a backup made by vault backup. Its recovery code is asked for, and a store of the same owner is \
      made with all groups of the backup. The code and the named key file or passphrase open it; everything else that opened \
      the old store is gone. What was interrupted is finished by the same command. A store that is there is never touched.

      Example:
        vault init --key-file ~/.config/vault.key
        vault init --recover /mnt/backup --key-file ~/.config/vault.key
      """)

  @Option(
    name: .customLong("recover"), help: ArgumentHelp("Bring back the store of this backup.", valueName: "folder"))
  var backup: String?

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    if let backup { return try recover(from: backup, in: session) }
    let location = try StoreLocation(environment: session.environment)
    _ = try SecretStore.create(at: location, with: slot(key.source, in: session))
    session.say("made a store at \(location.home)")
  }

  private func recover(from backup: String, in session: Session) throws {
    var new = key.source
    new.recoveryDescriptor = nil
    // Before the code is asked for.
    _ = try new.named()
    let recovery = try session.openRecovery(from: backup, descriptor: key.source.recoveryDescriptor)
    let (store, restoration) = try recovery.makeStore(with: slot(new, in: session)) { name, progress in
      session.showProgress("\(name): \(progress.text)")
    }
    session.endProgress()
    try restoration.table.write(to: session.output, style: session.outputStyle)
    session.say("the store is back at \(store.location.home); the recovery code still opens it")
    for notice in store.takeNotices() { session.warn(notice.message) }
    for case .failed(let error) in restoration.groups.map(\.outcome) { throw error }
  }

  private func slot(_ source: KeySource, in session: Session) throws -> NewSlot {
    switch try source.named() ?? session.variable("VAULT_KEY_FILE").map(KeySource.Named.keyFile) {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?: return .passphrase(try KeySource.passphrase(descriptor: descriptor))
    case .recoveryCode?: throw Failure.usage("a new store has no recovery code yet")
    case .credential?: throw Failure.usage("an application cannot make a store")
    case nil:
      guard let terminal = Terminal(path: session.streams.terminal) else {
        throw Failure(
          .locked, "there is no terminal to ask for a passphrase on", hint: "name --key-file or --passphrase-fd")
      }
      let typed = try terminal.askTwice("new passphrase: ", again: "the same again: ")
      return .passphrase(try typed.secret())
    }
  }
}
