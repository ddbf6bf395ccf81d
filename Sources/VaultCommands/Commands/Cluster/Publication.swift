internal import Glibc
internal import Vault

/// `vault group publish NAME`
struct PublishGroup: Command {
  static let about = About(
    "Publish a group: a cluster orders its changes, and other machines have copies of it.",
    usage: "vault group publish NAME --remote REMOTE",
    more: """
      From then on, the cluster decides the order of the group's changes, and vaultd makes them in that order. The \
      cluster sees only sealed bytes. Reading works as before, without the cluster. The group gets a new key, and \
      vaultd must be a member of it: vault grant GROUP vault.service --rights write.
      """,
    example: """
      vault group publish team.shared --remote prod
      """)

  let name: String
  let remote: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    remote = try arguments.required(
      "--remote", value: "remote", "The remote that orders its changes; see 'remote add'.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    do {
      try session.openStore(key).publishGroup(name, at: remote) { session.showProgress("\(name): \($0.text)") }
    } catch VaultError.service(let status, let why) where [.busy, .denied].contains(status) {
      throw Failure(
        status, why,
        hint:
          "if the cluster has users, let the remote's user write: vault remote provision \(remote) \(name); if vaultd is not a member: vault service enroll --output FILE --group \(name):write --again"
      )
    }
    session.say("'\(name)' is published at '\(remote)'")
  }
}

/// `vault group unpublish NAME`
struct UnpublishGroup: Command {
  static let about = About(
    "Stop publishing a group; each machine keeps its copy as a separate group.",
    usage: "vault group unpublish NAME",
    more: """
      This is the last change that the cluster orders. Every machine proves it before it changes its copy without the \
      cluster. Later changes on one machine do not reach the others.
      """,
    example: """
      vault group unpublish team.shared
      """)

  let name: String
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    name = try arguments.argument("name", "The group's name.", completes: .groups)
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    try session.openStore(key).unpublishGroup(name)
    session.say("'\(name)' is no longer published")
  }
}

/// `vault sync [GROUP]...`
struct SynchronizeGroups: Command {
  static let about = About(
    "Bring the copies of published groups up to date, through vaultd.",
    usage: "vault sync [GROUP]... [--watch]",
    more: """
      vaultd does this by itself whenever something changes; this command waits until it is done. Without names \
      it waits for all published groups, including those whose copy is missing here. With --watch it continues until \
      it is interrupted, and says when a copy changes.
      """,
    example: """
      vault sync team.shared
      """)

  let names: [String]
  let watch: Bool
  let key: KeySource

  init(_ arguments: inout Arguments) throws(ArgumentFault) {
    names = arguments.anyArguments("group", "The groups; all published ones if none is named.", completes: .groups)
    watch = arguments.flag("--watch", "Continue until interrupted.")
    key = try KeySource(&arguments)
  }

  func run(in session: Session) throws {
    let store = try session.openStore(key)
    var known: [String: UInt64] = [:]
    // Nobody else knows which groups of the credential are published before the first of them is here.
    if names.isEmpty, store.awaitsGroups { _ = try SecretStore.askServiceToJoin(at: store.location) }
    repeat {
      var failures: [VaultError] = []
      for name in try names.isEmpty ? store.publishedCopies() : names {
        let epoch: UInt64
        do throws(VaultError) { epoch = try store.synchronize(name) } catch {
          // The other groups come first.
          failures.append(error)
          continue
        }
        guard known.updateValue(epoch, forKey: name) != epoch else { continue }
        try session.output.tell(of: "'\(name)' was updated") { () throws(Failure) in
          try session.output.write("\(name): epoch \(epoch)\n")
        }
      }
      let end = failures.first { if case .unordered = $0 { !watch } else { true } }
      for failure in failures where failure != end { session.say(failure.message) }
      if let end { throw end }
      if watch { sleep(failures.isEmpty ? 1 : 5) }
    } while watch
  }
}
