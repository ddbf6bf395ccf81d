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
      until it is reloaded (systemctl reload vaultd), or until somebody answers yes when its Secret Service asks.
      """,
    example: """
      vault lock
      """)

  init(_ arguments: inout Arguments) {}

  func run(in session: Session) throws {
    let location = try StoreLocation(environment: session.environment)
    let isSealed = try SecretStore.sealService(at: location)
    let wasUnlocked: Bool
    // With vaultd, there may be no store that this user can see.
    do { wasUnlocked = try SecretStore.lock(at: location) } catch .noStore where isSealed { wasUnlocked = false }
    switch (wasUnlocked, isSealed) {
    case (true, true): session.say("locked; vaultd is sealed until it is reloaded")
    case (true, false): session.say("locked")
    case (false, true): session.say("vaultd is sealed until it is reloaded")
    case (false, false): session.say("it was not unlocked")
    }
  }
}
