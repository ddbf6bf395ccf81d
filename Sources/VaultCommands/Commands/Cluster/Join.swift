internal import Vault

/// `vault join --credential FILE`
struct JoinApplication: Command {
  static let about = About(
    "Let vaultd fetch an application's groups to this machine and keep them up to date.",
    usage: "vault join --credential FILE [--passphrase-fd N] [--store FOLDER]",
    more: """
      The credential must have been written by 'vault app issue --remote', because it says where the groups are \
      published. A copy is kept for vaultd in the store's folder joined; vaultd must run for this store as the same \
      user. The store needs no owner; the groups' owner stays on the other machine. If the credential is sealed, the \
      command asks for its passphrase, and the copy is not sealed.

      The same command with a newer credential of the application replaces the copy.
      """,
    example: """
      vault join --credential api.credential
      """)

  let credential: String
  let passphraseDescriptor: Int32?
  let store: String?

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    credential = try arguments.required(
      "--credential", value: "file", "The application's credential.", completes: .files)
    passphraseDescriptor = try arguments.descriptor(
      "--passphrase-fd", "Read the passphrase of a sealed credential from this descriptor: its first line.")
    store = arguments.option(
      "--store", value: "folder", "The store's folder (else VAULT_HOME, else the usual place).", completes: .files)
  }

  func run(in session: Session) throws {
    var environment = session.environment
    if let store { environment["VAULT_HOME"] = store }
    let location = try StoreLocation(environment: environment)
    let source = KeySource(passphraseDescriptor: passphraseDescriptor, credential: credential)
    let joining = try ApplicationCredential(
      at: credential, passphrase: session.credentialPrompt(source, true, session.shown(credential)))
    try location.join(joining)
    session.say("kept the credential of '\(joining.application)' for vaultd in \(session.shown(location.home))")
    let groups = try Self.fetched(at: location).filter { joining.groups.contains($0.name) }
    guard !groups.isEmpty else {
      throw Failure(
        .notFound, "vaultd keeps no group of '\(joining.application)'",
        hint: "see whether it serves the store at \(session.shown(location.home)), and whether a group is published")
    }
    for group in groups { session.say("'\(group.name)' is here, up to commit \(group.epoch)") }
  }

  private static func fetched(at location: StoreLocation) throws -> [JoinedGroup] {
    do {
      return try SecretStore.askServiceToJoin(at: location)
    } catch VaultError.service(.busy, let why) {
      throw Failure(
        .busy, why,
        hint:
          "start it, and run the same command again: systemctl start vaultd; if it runs, its log says more: journalctl -u vaultd"
      )
    } catch VaultError.service(.denied, let why) {
      throw Failure(
        .denied, why,
        hint:
          "vaultd must run as this user; if the cluster refuses the login, the owner must run (as after each app issue with --own-login or --replace): vault remote provision NAME; if the application is not a member, join with a newer credential: vault app issue APP --output FILE --remote NAME --again"
      )
    }
  }
}
