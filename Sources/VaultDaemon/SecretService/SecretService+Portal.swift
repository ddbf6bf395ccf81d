#if Daemon
  import VaultFoundation

  // The backend of the portal for secrets: `org.freedesktop.impl.portal.Secret`.
  extension SecretService {
    private static let keyByteCount = 64
    /// gnome-keyring's attribute, so that applications find the keys that were imported from there.
    private static let attribute = "app_id"

    /// `RetrieveSecret`: writes an application's own key to the pipe or socket that it passed to the portal. The key is
    /// made at the first call.
    ///
    /// An application proves its id to xdg-desktop-portal alone, so nobody else is answered.
    func retrieveSecret(_ call: BusCall) async throws -> [BusValue] {
      guard case (_, .text(let id)?, .file(let file)?) = call.given else { throw BusFailure.unknownMethod }
      guard call.isFromPortal else {
        if seal.current != nil { try await record(call, .login, nil, .denied) }
        throw BusFailure.denied
      }
      guard let program = call.program.calling(for: id) else {
        throw BusFailure.invalid("a key is an application's, and this is no application's id")
      }
      var call = call
      // What somebody agrees to is for this application, and not for all that the portal calls for.
      (call.sender, call.program) = (call.queue, program)
      if seal.current != nil { try await requireNoDenial(call) }
      guard let collection = aliased("default") else { throw BusFailure.noObject }
      if try await isLocked(collection, for: call) {
        let path = BusObject.collection(collection.id).path
        // 1 tells the application that somebody said no.
        guard try await fulfil(.unlock([path]), call) != nil else { return [.word(1), .properties([:])] }
      }
      guard file.write(try await key(of: id, in: collection, call)) else {
        throw BusFailure.failed("the application does not read its key, or passed no pipe or socket for it")
      }
      return [.word(0), .properties([:])]
    }

    private func key(of id: String, in collection: BusCollection, _ call: BusCall) async throws -> [UInt8] {
      let attributes = [Self.attribute: id]
      for _ in 0..<2 {
        let opened = try await require(collection, call)
        let (found, changes) = try await Blocking.read {
          // The oldest, so that two portals that make a key at once get the same one.
          try collection.read(opened.store) { items in
            items.matching(attributes).min { ($0.created, $0.id) < ($1.created, $1.id) }
          }
        }
        tell(changes, in: collection)
        if let found {
          try await record(call, .read, collection, item: found.name)
          guard let value = try await Blocking.read({ try collection.value(of: found, in: opened.store) }),
            !value.isEmpty
          else { throw BusFailure.noObject }
          return value
        }
        let key = (0..<Self.keyByteCount).map { _ in UInt8.random(in: .min ... .max) }
        let content = BusCollection.Content(
          label: "Application key of \(id)", attributes: attributes,
          secret: .init(bytes: key, contentType: "application/octet-stream"))
        _ = try await change(.create(content, replaces: false, as: nil), in: collection, .write, item: nil, call)
      }
      throw BusFailure.plannedOtherwise
    }
  }
#endif
