internal import Glibc
internal import Sealing

/// Connections to `vaultd`, which identifies this process through the kernel and gives it the rights of its application.
///
/// Safe from any number of threads. Calls at the same time have a connection each, so that `vaultd` can make the records
/// of several reads durable at once. A few connections are kept open. If one breaks, a call is repeated only if it reads.
final class ServiceClient: Sendable {
  let caller: ServiceAnswer.Caller
  let ownerKey: PublicKey
  private let path: String
  private let store: String?
  private let idle: Locked<[ServiceConnection]>

  /// How many connections are kept open, of the 1,024 that `vaultd` allows a user.
  private static let idleLimit = 8

  static let nobodyListens = VaultError.locked(.service("nobody listens on its socket"))
  static let misunderstood = VaultError.unexpected("vaultd sent an answer that is not understood")

  /// Connects to the socket at `path`, for the store at `store` if one is meant, and asks who this process is.
  ///
  /// - Throws: ``VaultError/locked(_:)`` if nobody listens there, an untrusted user does, or it is of another store;
  ///   ``VaultError/service(_:_:)`` if `vaultd` does not identify this process as an application.
  init(_ path: String, of store: String?) throws(VaultError) {
    let connection = try ServiceConnection(path, of: store)
    var hello = ServiceCall(.hello)
    hello.omitsGroups = true
    let answer = try connection.answer(to: hello, nil)
    if let failure = answer.failure { throw failure }
    guard let caller = answer.caller, let ownerKey = PublicKey(caller.ownerKey) else {
      throw ServiceClient.misunderstood
    }
    (self.path, self.store, self.caller, self.ownerKey) = (path, store, caller, ownerKey)
    idle = Locked([connection])
  }

  /// The groups that the application is a member of, sorted.
  func groups() throws(VaultError) -> [String] {
    guard let caller = try answer(to: ServiceCall(.hello)).caller else { throw ServiceClient.misunderstood }
    return caller.groups
  }

  func answer(to call: ServiceCall, _ value: OpenedSecret? = nil) throws(VaultError) -> ServiceAnswer {
    let kept = idleConnection()
    var connection = if let kept { kept } else { try ServiceConnection(path, of: store) }
    let answer: ServiceAnswer
    do throws(VaultError) { answer = try connection.answer(to: call, value) } catch ServiceConnection.brokenReading
      where kept != nil
    {
      connection = try ServiceConnection(path, of: store)
      answer = try connection.answer(to: call, value)
    }
    idle.withLock { if $0.count < Self.idleLimit { $0.append(connection) } }
    if let failure = answer.failure { throw failure }
    return answer
  }

  /// A connection that nobody uses. A change must not be sent on one that `vaultd` has closed, because it would be unknown
  /// whether it was made, and a forked child could take the answers to its parent's calls.
  private func idleConnection() -> ServiceConnection? {
    idle.withLock { idle in
      while let last = idle.popLast() { if last.process == getpid(), last.isOpen { return last } }
      return nil
    }
  }
}

extension VaultError {
  /// `vaultd` may answer others, but not this user.
  package static let closedSocket = VaultError.locked(.service("this user may not use its socket"))
}

extension SecretStore {
  /// Asks `vaultd` to close its store, if this process may. `vaultd` then answers nothing until it is reloaded.
  ///
  /// - Returns: whether a `vaultd` did.
  /// - Throws: ``VaultError/locked(_:)`` if `VAULT_SOCKET` names a socket and nobody answers there, or if none was closed
  ///   because it serves another store than `VAULT_HOME` names.
  public static func sealService(at location: StoreLocation? = nil) throws(VaultError) -> Bool {
    let location = if let location { location } else { try StoreLocation.standard() }
    if let path = location.variable("VAULT_SOCKET") {
      return try ServiceConnection(StoreLocation.absolute(path), of: location.namedHome).seal()
    }
    // A Secret Service of this user alone has a socket beside that of a vaultd with all interfaces.
    let desktop = location.variable("XDG_RUNTIME_DIR").map { [$0 + "/vault/secrets"] } ?? []
    let results = (location.serviceSockets + desktop).map { path in
      Result { () throws(VaultError) in try ServiceConnection(path, of: location.namedHome).seal() }
    }
    if results.contains(.success(true)) { return true }
    // `vaultd` names its store to those only whom it would have obeyed.
    for case .failure(let error) in results { if case .locked(.otherStore(_, _?)) = error { throw error } }
    return false
  }

  /// Asks `vaultd` to use the credentials that were joined at its store, and to fetch their groups, if this process
  /// may.
  ///
  /// - Returns: the groups that it then has.
  /// - Throws: ``VaultError/service(_:_:)``: with ``ExitStatus/busy`` if nobody listens, otherwise with the status that
  ///   `vaultd` returned; ``VaultError/locked(_:)`` if its socket cannot be trusted or used.
  public static func askServiceToJoin(at location: StoreLocation? = nil) throws(VaultError) -> [JoinedGroup] {
    let location = if let location { location } else { try StoreLocation.standard() }
    let answer = try location.listening { (path) throws(VaultError) in
      try ServiceConnection(path, of: location.home, patience: 600).answer(to: "/vault/1/join", [], limit: 1 << 20)
    }
    guard let answer else { throw .service(.busy, "no vaultd listens on its socket") }
    if let failure = answer.failure { throw .service(failure.exitStatus, "vaultd: " + failure.message) }
    return answer.joined
  }
}

extension StoreLocation {
  /// Sends `body` to the `vaultd` that `VAULT_SOCKET` names, or to the first of the standard sockets that answers.
  ///
  /// - Throws: ``VaultError/locked(_:)`` if nobody listens who serves this store; `broken` if no answer comes.
  func askService(
    _ path: String, _ body: [UInt8], _ value: OpenedSecret? = nil, patience: Int = 30,
    or broken: VaultError = ServiceConnection.brokenChange
  ) throws(VaultError) -> ServiceAnswer {
    let answer = try listening { (socket) throws(VaultError) in
      try ServiceConnection(socket, of: home, patience: patience).answer(to: path, body, value, or: broken)
    }
    guard let answer else { throw ServiceClient.nobodyListens }
    return answer
  }

  /// The result of `connect` for the socket that `VAULT_SOCKET` names, or for the first of the standard sockets on which
  /// somebody listens who does not serve another store; `nil` if nobody listens.
  func listening<Result>(_ connect: (String) throws(VaultError) -> Result) throws(VaultError) -> Result? {
    let named = variable("VAULT_SOCKET").map { [StoreLocation.absolute($0)] }
    var refusal: VaultError?
    for path in named ?? serviceSockets {
      do { return try connect(path) } catch ServiceClient.nobodyListens {} catch {
        guard case .locked(.otherStore) = error else { throw error }
        refusal = error
      }
    }
    if let refusal { throw refusal }
    return nil
  }

  /// The path of the store, if `VAULT_HOME` says which one is meant. Otherwise a user who has a store could not be an
  /// application of another user's.
  var namedHome: String? { variable("VAULT_HOME").map { _ in home } }

  /// What says in a request to `vaultd` which store is meant: device and inode of its folder of groups, which a copy does
  /// not share, and which are the same wherever the folder is mounted. `nil` if this process sees no such folder.
  package static func mark(of home: String) -> String? {
    FileIdentity("\(home)/\(IdentityFolder.groupsName)").map { "\($0.device):\($0.inode)" }
  }

  /// The sockets to try if `VAULT_SOCKET` is not set.
  fileprivate var serviceSockets: [String] {
    [variable("XDG_RUNTIME_DIR").map { $0 + "/vault/socket" }, "/run/vault/socket"].compactMap { $0 }
  }
}
