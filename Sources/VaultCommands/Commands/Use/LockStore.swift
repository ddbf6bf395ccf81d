import ArgumentParser
internal import Vault

/// `vault lock`
struct LockStore: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "lock",
    abstract: "End what vault unlock began.",
    usage: "vault lock",
    discussion: """
      The kernel forgets the key at once. Programs that have the store open keep it open, and a key file opens it as before.

      Example:
        vault lock
      """)

  func run(in session: Session) throws {
    let wasUnlocked = try SecretStore.lock(at: StoreLocation(environment: session.environment))
    session.say(wasUnlocked ? "locked" : "it was not unlocked")
  }
}
