internal import Vault

/// `vault unlock`
struct UnlockStore: Command {
  static let about = About(
    "Let this user's programs open the store without a prompt for a time.",
    usage: "vault unlock [--for TIME] [--passphrase-fd N]",
    more: """
      Until the time has passed, or until vault lock, the kernel keeps the key to the items for every program of \
      this user, including those of cron and of services. It is in no file and is never swapped. Commands that \
      change groups, members or slots still ask. Unlocking again sets a new time.

      In most containers the kernel keeps no keys; use a key file there.
      """,
    example: """
      vault unlock --for 8h
      """)

  let length: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    length = arguments.option("--for", value: "time", "The time: 90s, 15m, 8h, at most 7d.", else: "15m")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    guard let milliseconds = TimeLength.milliseconds(length) else {
      throw Failure.usage("--for needs a length of time: 90s, 15m, 8h, 7d")
    }
    session.circumstances.needsKey = true
    let end = try session.unlock(key, for: .milliseconds(milliseconds))
    session.say("unlocked for \(length), until \(end.localText)")
  }
}

/// `vault lock`
struct LockStore: Command {
  static let about = About(
    "Lock a store that vault unlock opened.",
    usage: "vault lock",
    more: """
      The kernel deletes the key at once. Programs that have the store open keep it open, and a key file opens it as \
      before. If vaultd runs as this user, or this user is root, vaultd closes the store, too. It then answers nothing \
      until it is reloaded (systemctl reload vaultd), or until somebody answers yes when its Secret Service asks. If \
      VAULT_HOME names a store, a vaultd that serves another one stays open.
      """,
    example: """
      vault lock
      """)

  init(_ arguments: inout Arguments) {}

  func run(in session: Session) throws {
    let location = try StoreLocation(environment: session.environment)
    let sealing = Result { () throws(VaultError) in try SecretStore.sealService(at: location) }
    // The key is deleted even if vaultd refuses.
    let wasUnlocked = try deleteKey(at: location, needingStore: sealing == .success(false))
    switch (wasUnlocked, sealing) {
    case (true, .success(true)): session.say("locked; vaultd is sealed until it is reloaded")
    case (true, _): session.say("locked")
    case (false, .success(true)): session.say("vaultd is sealed until it is reloaded")
    case (false, .success(false)): session.say("it was not unlocked")
    case (false, .failure): break
    }
    guard case .failure(let error) = sealing else { return }
    // Without VAULT_SOCKET, nobody said that this vaultd was meant.
    guard case .locked(let why) = error, case .otherStore = why, session.variable("VAULT_SOCKET") == nil else {
      throw error
    }
    session.warn("\(why.words), and stays open")
  }

  /// Whether there was a key. With vaultd, there may be no store that this user can see.
  private func deleteKey(at location: StoreLocation, needingStore: Bool) throws(VaultError) -> Bool {
    do { return try SecretStore.lock(at: location) } catch .noStore where !needingStore { return false }
  }
}
