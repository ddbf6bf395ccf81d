#if Daemon
  import Exchange
  import Hummingbird
  import Logging
  import Synchronization
  import VaultFoundation

  /// The values that systemd gets for `LoadCredential=`: the items that the owner bound to the unit's name.
  ///
  /// The service manager vouches only for the unit, so the other conditions of a binding, which are about processes, do
  /// not count here.
  struct CredentialAnswers: Sendable {
    let seal: Seal
    let logger: Logger

    /// The value, after its record is durable; `nil` if the unit gets none.
    func value(for request: CredentialRequest) async -> [UInt8]? {
      guard let opened = seal.current else {
        logger.warning("a credential was asked for while the daemon is sealed")
        return nil
      }
      do {
        let found = try await Blocking.read {
          try opened.callers.bindings(of: opened.store).flatMap { binding in
            binding.alternatives.filter { $0.unit == request.unit }.compactMap { alternative in
              alternative.credentials[request.id].map {
                (application: binding.application, group: $0.group ?? binding.application, reference: $0)
              }
            }
          }
        }
        var peer = request.peer
        peer.unit = request.unit
        // If two applications offer different items under this id, neither is meant for certain.
        let items = Set(found.map { [$0.group, $0.reference.item, $0.reference.field] })
        let application = items.count == 1 ? found.first?.application : nil
        let visit = Visit(
          opened: opened, connection: Connection(peer: peer), application: application)
        guard let (_, group, reference) = found.first, application != nil else {
          try await visit.record(.read, .denied, detail: "credential \(request.id)")
          return nil
        }
        let value = Mutex<[UInt8]?>(nil)
        _ = try await visit.perform(
          Operation(action: .read, group: group, item: reference.item) { group in
            let bytes = try reference.value(in: group)
            value.withLock { $0 = bytes }
            return .nothing
          })
        return value.withLock { $0 }
      } catch {
        logger.warning(
          "a unit gets no credential", metadata: ["unit": "\(request.unit)", "status": "\(Refusal(error).status.code)"])
        return nil
      }
    }
  }

  extension ServiceBinding.Reference {
    /// The bytes of the item or of its field.
    fileprivate func value(in group: AccessGroup) throws(VaultError) -> [UInt8] {
      let opened = try group.open(item)
      let whole = unsafe opened.secret.withUnsafeBytes { unsafe Array($0) }
      guard let field else { return whole }
      guard opened.item.kind == .json, let part = JSONField.value(of: field, in: whole) else { throw .notFound(.item) }
      return part
    }
  }
#endif
