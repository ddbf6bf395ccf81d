import ArgumentParser
internal import Vault

/// `vault unlock`
struct UnlockStore: SessionCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Let this user's programs open the store without being asked, for a time.",
    usage: "vault unlock [--for TIME] [--passphrase-fd N]",
    discussion: """
      The kernel keeps the key to the items until the time has passed, or until vault lock: for every program of this user, \
      those of cron and of services too. It is in no file and is never swapped. What changes groups, members or slots still \
      asks. Unlocking again sets a new time.

      In most containers the kernel keeps no keys; use a key file there.

      Example:
        vault unlock --for 8h
      """)

  @Option(name: .customLong("for"), help: ArgumentHelp("How long: 90s, 15m, 8h, at most 7d.", valueName: "time"))
  var length = "15m"

  @OptionGroup var key: KeyOptions

  func run(in session: Session) throws {
    guard let milliseconds = TimeLength.milliseconds(length) else {
      throw Failure.usage("--for needs a length of time: 90s, 15m, 8h, 7d")
    }
    let end = try session.unlock(key.source, for: .milliseconds(milliseconds))
    session.say("unlocked for \(length), until \(end.localText)")
  }
}
