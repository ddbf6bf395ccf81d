#if Daemon
  import Synchronization
  import VaultFoundation

  /// Whether the daemon has an open store. It opens one with its own credential, and answers nothing from it while sealed.
  final class Seal: Sendable {
    private let open: @Sendable () throws(VaultError) -> SecretStore
    private let store = Mutex<SecretStore?>(nil)

    /// - Parameter open: opens the store with the daemon's credential.
    init(opening open: @escaping @Sendable () throws(VaultError) -> SecretStore) { self.open = open }

    convenience init(_ configuration: Configuration) {
      let (location, credential) = (configuration.location, configuration.credential)
      self.init { () throws(VaultError) in
        guard let credential else { throw .locked(.credential(.missing)) }
        return try SecretStore.open(at: location, credential: credential)
      }
    }

    /// The open store; `nil` while sealed.
    var current: SecretStore? { store.withLock { $0 } }

    var isSealed: Bool { current == nil }

    /// Opens the store, if it is not open.
    ///
    /// - Throws: the error of opening it; the daemon stays sealed.
    func unseal() throws(VaultError) {
      guard isSealed else { return }
      let opened = try open()
      store.withLock { $0 = opened }
    }

    /// Lets go of the store. Its keys are wiped when the calls that have begun end.
    func seal() { store.withLock { $0 = nil } }
  }
#endif
