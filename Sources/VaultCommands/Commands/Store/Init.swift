import Glibc
internal import Vault

/// `vault init`
struct Init: Command {
  static let about = About(
    "Make a store with the group default, or bring back the store of a lost machine.",
    usage: """
      vault init [--key-file FILE | --passphrase-fd N] [--common-passphrase]
      vault init --recover DIR [--recovery-fd N] [--key-file FILE | --passphrase-fd N]
      """,
    more: """
      The store opens with the key file, which is made if it does not exist, or with a passphrase, which is asked \
      for twice. Keep the key file apart from the store, and keep a copy of both. On a terminal the command offers a \
      recovery code.

      With --recover, the command makes a store of the same owner with all groups of DIR, which is a backup made by \
      vault backup. A key file or passphrase of the old store opens the backup and then also the new store. \
      Otherwise the command asks for the recovery code, and the named key file or passphrase is a new one. Nothing \
      else that opened the old store opens the new one. The same command finishes an interrupted recovery. An \
      existing store is never touched.
      """,
    example: """
      vault init --key-file ~/.config/vault.key
      vault init --recover /mnt/backup --key-file ~/.config/vault.key
      """)

  let backup: String?
  let takesCommon: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    backup = arguments.option("--recover", value: "folder", "Restore the store from this backup.", completes: .files)
    takesCommon = arguments.commonPassphrase()
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    session.circumstances.makesSteps = true
    try refuseTilde(session)
    if let backup { return try recover(from: backup, in: session) }
    let location = try StoreLocation(environment: session.environment)
    // Check this first, so that nobody types a passphrase in vain.
    try SecretStore.requireNone(at: location)
    let store: SecretStore
    do { store = try SecretStore.create(at: location, with: slot(key, in: session)) } catch let error as VaultError {
      guard case .denied(.file(let place, .denied)) = error, [.store, .state].contains(place) else { throw error }
      throw Failure(
        .denied, error.message, hint: "name folders that this user may make: set VAULT_HOME and VAULT_STATE")
    }
    session.say("made a store at \(location.home)")
    for notice in store.takeNotices() { session.warn(notice.message) }
    try offerRecoveryCode(of: store, in: session)
  }

  /// A shell expands `~` only at the beginning of an unquoted word. Otherwise a file of that name would be made here.
  private func refuseTilde(_ session: Session) throws(Failure) {
    let variables = ["VAULT_HOME", "VAULT_STATE", "VAULT_KEY_FILE"]
    let named = variables.map { ($0, session.variable($0)) } + [("--key-file", key.keyFile)]
    for (name, path) in named where path?.first == "~" {
      throw Failure(
        .usage, "\(name) begins with '~', which is not the home folder here",
        hint: "write $HOME instead; for a name that begins with '~': ./~")
    }
  }

  /// A user at a terminal gets the code at once. Scripts create one when they need it.
  private func offerRecoveryCode(of store: SecretStore, in session: Session) throws {
    guard isatty(session.streams.input) == 1, session.output.isTerminal,
      let terminal = session.terminal,
      try terminal.confirm("print a recovery code now, which opens the store when all else is lost? (yes/no) ")
    else { return session.say("there is no recovery code yet; make one: vault recovery create") }
    try RecoveryOptions(replace: false).createCode(of: store, in: session)
  }

  private func recover(from backup: String, in session: Session) throws {
    var new = key
    new.recoveryDescriptor = nil
    // Check this before any prompt.
    let named = try new.named() ?? session.variable("VAULT_KEY_FILE").map(KeySource.Named.keyFile)
    session.restoresBackup(in: backup)
    session.circumstances.needsKey = true
    // Before the backup is opened, so that a store without its identity is not taken for a damaged backup.
    do { try SecretStore.requireNone(at: StoreLocation(environment: session.environment)) } catch {
      switch error {
      case .exists(.storeInRecovery): break
      case .exists: throw VaultError.exists(.store)
      default: throw error
      }
    }
    session.circumstances.opensBackup = true
    let opened = try BackupKey(named, key.recoveryDescriptor, backup, session).open {
      try slot(new, in: session)
    }
    let (store, restoration) = try opened.recovery.makeStore(with: opened.slot) { name, progress in
      session.showProgress("\(name): \(progress.text)")
    }
    let isWritten = restoration.told("the store was restored", in: session) { () throws(Failure) in
      try restoration.table.write(to: session.output, style: session.outputStyle)
    }
    session.say(
      """
      the store is back at \(store.location.home); it opens with what opened the backup, and with nothing else that \
      opened the old store
      """)
    restoration.warnOfMissingLogs(in: backup, session)
    for notice in store.takeNotices() { session.warn(notice.message) }
    if try !store.location.identity().slots.contains(where: { $0.kind == .recoveryCode }) {
      session.say("there is no recovery code; make a new one: vault recovery create")
    }
    try restoration.finish(store, in: session)
    try isWritten.get()
  }

  private func slot(_ source: KeySource, in session: Session) throws -> NewSlot {
    switch try source.named() ?? session.variable("VAULT_KEY_FILE").map(KeySource.Named.keyFile) {
    case .keyFile(let path)?: return .keyFile(path)
    case .passphrase(let descriptor)?:
      return .passphrase(
        try NewPassphrase.read(
          descriptor: descriptor, isMeant: takesCommon, KeySource.passphrase(descriptor:)))
    case .recoveryCode?: throw Failure.usage("a new store has no recovery code yet")
    case .credential?, .credentialBytes?: throw Failure.usage("an application cannot make a store")
    case nil:
      return .passphrase(
        try NewPassphrase.ask(
          in: session, isMeant: takesCommon, or: "--key-file FILE or --passphrase-fd N"))
    }
  }
}
