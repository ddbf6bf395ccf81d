#if Daemon
  import Synchronization
  import VaultFoundation

  /// Identifies callers by the owner's bindings, and reads the owner's settings, which are in the same group.
  final class Callers: Sendable {
    private struct State: Sendable {
      var epoch: UInt64?
      var bindings: [ServiceBinding] = []
      var settings: [String: String] = [:]
      /// When the secrets of AppRole logins expire, by application.
      var roleEnds: [String: Timestamp] = [:]
    }

    private let state = Mutex(State())
    /// The numbers of users by name; `nil` for an unknown one. They are looked up again after five seconds: the list may
    /// be on the network.
    private let users = Mutex([String: (number: UInt32?, end: ContinuousClock.Instant)]())
    private let look: @Sendable (String) -> UInt32?
    private let slowness: Duration

    /// - Parameters:
    ///   - slowness: how long a look-up without a result takes before others are spared it.
    ///   - look: finds the number of a user by name.
    init(
      slowness: Duration = .milliseconds(20), look: @escaping @Sendable (String) -> UInt32? = UnixUser.number(of:)
    ) {
      (self.slowness, self.look) = (slowness, look)
    }

    /// The application of the process at the other end of a connection; `nil` if no binding matches it, or if bindings
    /// of two applications do, because then it is ambiguous.
    ///
    /// - Throws: the error of reading the bindings.
    func application(of peer: Peer, in store: SecretStore) throws(VaultError) -> String? {
      try match(of: peer, in: store)?.application
    }

    /// Whether a binding that was read before identifies the process, as far as that is known without asking a disk or the
    /// network for anything.
    func recognizes(_ peer: Peer) -> Bool {
      let numbers = users.withLock { $0 }
      return state.withLock { $0.bindings }.contains { binding in
        binding.alternatives.contains { $0.matches(peer) { numbers[$0]?.number } }
      }
    }

    /// Reads the bindings and looks up the users that they name, so that ``recognizes(_:)`` knows them.
    func prime(in store: SecretStore) {
      for binding in (try? bindings(of: store)) ?? [] {
        for alternative in binding.alternatives { if let user = alternative.user { _ = number(of: user) } }
      }
    }

    /// As ``application(of:in:)``, with what identifies the process.
    func match(of peer: Peer, in store: SecretStore) throws(VaultError) -> Match? {
      guard peer.user != nil else { return nil }
      return try match(in: store) { $0.matches(peer, number: number) }
    }

    /// The application that presents a certificate, which TLS has verified.
    ///
    /// - Parameters:
    ///   - name: the application that the client named, if several have the certificate.
    ///   - authorities: the setting that the certificate was verified with.
    func match(
      of certificate: ClientCertificate, named name: String?, confirmedBy authorities: String?, in store: SecretStore
    ) throws(VaultError) -> Match? {
      try match(in: store, named: name, confirmedBy: authorities ?? "") { $0.matches(certificate) }
    }

    private func match(
      in store: SecretStore, named name: String? = nil, confirmedBy authorities: String = "",
      _ matches: (ServiceBinding.Alternative) -> Bool
    ) throws(VaultError) -> Match? {
      let matching = try bindings(of: store).compactMap { binding -> Match? in
        guard name ?? binding.application == binding.application else { return nil }
        return binding.alternatives.first(where: matches).map {
          Match(application: binding.application, basis: $0.basis(confirmedBy: authorities))
        }
      }
      return matching.count == 1 ? matching.first : nil
    }

    /// An application that is identified, and what a token that is issued for that rests on.
    struct Match: Sendable, Equatable {
      let application: String
      let basis: String
    }

    /// What a token of an application can rest on now. A secret that has expired still counts: that ends logins alone.
    func bases(of application: String, by method: String, in store: SecretStore) throws(VaultError) -> [String] {
      let state = try current(store)
      if method == ServiceTokens.Method.role { return state.settings[Self.rolePrefix + application].map { [$0] } ?? [] }
      let isOfProcess = method == ServiceTokens.Method.unix
      let authorities = isOfProcess ? "" : state.settings[TLSIdentity.authoritiesSetting] ?? ""
      return state.bindings.filter { $0.application == application }.flatMap(\.alternatives)
        .filter { ($0.certificate == nil) == isOfProcess }.map { $0.basis(confirmedBy: authorities) }
    }

    private func number(of user: String) -> UInt32? {
      let known: UInt32?? = users.withLock { users in
        guard let found = users[user] else { return nil }
        if found.end > .now { return .some(found.number) }
        // The list may take long to answer, and one thread is enough to ask; the others use what was known.
        users[user]?.end = .now + .seconds(5)
        return nil
      }
      if let known { return known }
      let start = ContinuousClock.now
      let number = look(user)
      // A user that is made while its service starts is known at once, unless that costs everybody time.
      let isKept = number != nil || start.duration(to: .now) > slowness
      users.withLock { $0[user] = isKept ? (number, .now + .seconds(5)) : nil }
      return number
    }

    func bindings(of store: SecretStore) throws(VaultError) -> [ServiceBinding] { try current(store).bindings }

    /// The values of the items `settings/NAME`, by name.
    func settings(of store: SecretStore) throws(VaultError) -> [String: String] { try current(store).settings }

    /// The secret of an application's AppRole login; `nil` if there is none, or if it has expired.
    func roleSecret(of application: String, in store: SecretStore) throws(VaultError) -> String? {
      let state = try current(store)
      if let end = state.roleEnds[application], end <= .now { return nil }
      return state.settings[Self.rolePrefix + application]
    }

    /// The contents of the group, read again when it has changed.
    private func current(_ store: SecretStore) throws(VaultError) -> State {
      let epoch = try store.group(Applications.service).info().epoch
      if let known = state.withLock({ $0.epoch == epoch ? $0 : nil }) { return known }
      // If the group changes during this, the next call sees another epoch and reads again.
      var new = State(epoch: epoch, bindings: try store.serviceBindings())
      for (name, bytes) in try store.ownersItems(prefix: Self.settingsPrefix) {
        new.settings[String(name.dropFirst(Self.settingsPrefix.count))] = String(decoding: bytes, as: UTF8.self)
      }
      for item in try store.group(Applications.service).items(prefix: ServiceBinding.rolePrefix) {
        new.roleEnds[String(item.name.description.dropFirst(ServiceBinding.rolePrefix.count))] = item.expires
      }
      state.withLock { $0 = new }
      return new
    }

    static let settingsPrefix = "settings/"
    /// The prefix of the settings with the secrets of AppRole logins.
    static let rolePrefix = String(ServiceBinding.rolePrefix.dropFirst(settingsPrefix.count))
  }

  extension ServiceBinding.Alternative {
    /// The conditions, and for a certificate the authorities that confirm it. No text of a condition contains NUL.
    fileprivate func basis(confirmedBy authorities: String) -> String {
      (conditions.map { "\($0.name) \($0.text)" } + [authorities]).joined(separator: "\0")
    }

    /// Whether all conditions hold for `peer`.
    ///
    /// If it is not certain which process the peer is, the user must be a condition; unit and executable can then only
    /// narrow what the user alone would get.
    ///
    /// - Parameter number: finds the number of a user by name.
    func matches(_ peer: Peer, number: (String) -> UInt32? = UnixUser.number(of:)) -> Bool {
      guard certificate == nil else { return false }
      guard peer.isProcessCertain || user != nil || unit == nil && exe == nil else { return false }
      // Any process can connect and then start another program, so an executable alone proves nothing.
      guard unit != nil || user != nil || label != nil else { return false }
      return unit.map { $0 == peer.unit } ?? true
        && exe.map { $0 == peer.executable } ?? true
        && label.map { $0 == peer.label } ?? true
        && user.map { peer.user == number($0) } ?? true
    }
  }
#endif
