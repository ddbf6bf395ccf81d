#if Daemon
  import VaultFoundation

  /// A call of the portal for an application's key, which may wait for somebody's answer to a question.
  struct PortalRetrieval: Sendable {
    /// The path by which the portal ends it.
    let handle: String
    let client: String
    let application: String
    let task: Task<[UInt8]?, any Error>
  }

  // The backend of the portal for secrets: `org.freedesktop.impl.portal.Secret`.
  extension SecretService {
    private static let keyByteCount = 64
    /// gnome-keyring's attribute, so that applications find the keys that were imported from there.
    private static let attribute = "app_id"
    /// The most calls that wait for their answers, for one application and for all.
    private static let (applicationLimit, retrievalLimit) = (4, 64)

    /// `RetrieveSecret`: writes an application's own key to the pipe or socket that it passed to the portal. The key is
    /// made at the first call.
    ///
    /// An application proves its id to xdg-desktop-portal alone, so nobody else is answered.
    func retrieveSecret(_ call: BusCall) async throws -> [BusValue] {
      guard call.isFromPortal, case .none = call.program.sandbox else {
        if seal.current != nil { try await record(call, .login, nil, .denied) }
        throw BusFailure.denied
      }
      guard case (.path(let handle)?, .text(let id)?, .file(let file)?) = call.given else {
        throw BusFailure.unknownMethod
      }
      guard let program = call.program.calling(for: id) else {
        throw BusFailure.invalid("only an application has a key, and this is not an application's id")
      }
      guard retrievals.count < Self.retrievalLimit,
        retrievals.count(where: { $0.application == id }) < Self.applicationLimit
      else { throw BusFailure.overLimit }
      var own = call
      // What somebody agrees to is for this application, and not for all that the portal calls for.
      (own.sender, own.program) = ("\(call.sender) \(id)", program)
      let task = Task { [own] in try await key(of: id, own) }
      let retrieval = PortalRetrieval(handle: handle, client: call.sender, application: id, task: task)
      retrievals.append(retrieval)
      defer { retrievals.removeAll { $0.task == task } }
      let made: [UInt8]?
      // A call that was ended fails wherever it was.
      do { made = try await task.value } catch {
        guard task.isCancelled else { throw error }
        made = nil
      }
      // 1 tells the application that somebody said no.
      guard let key = made else { return [.word(1), .properties([:])] }
      // The file may be one of a file system that the application itself answers for.
      guard try await Blocking.read({ file.write(key) }) else {
        throw BusFailure.failed("the application does not read its key, or passed no pipe or socket for it")
      }
      return [.word(0), .properties([:])]
    }

    /// Ends the question of a call, because the application does not wait for its key any more.
    ///
    /// - Returns: whether there is such a call.
    func endRetrieval(_ handle: String, of client: String) -> Bool {
      let found = retrievals.filter { $0.handle == handle && $0.client == client }
      for retrieval in found { retrieval.task.cancel() }
      return !found.isEmpty
    }

    func endRetrievals(of client: String) {
      for retrieval in retrievals where retrieval.client == client { retrieval.task.cancel() }
    }

    /// - Returns: `nil` if somebody said no, or nobody could be asked.
    private func key(of id: String, _ call: BusCall) async throws -> [UInt8]? {
      let attributes = [Self.attribute: id]
      if seal.current == nil {
        // The collection where the key was known to be, else the first one.
        let groups = collections.filter { $0.group != nil }
        guard let collection = groups.first(where: { !$0.known(attributes).isEmpty }) ?? groups.first else {
          throw BusFailure.noObject
        }
        guard try await unlock(collection, for: id, call) else { return nil }
      }
      for _ in 0..<4 {
        let opened = try await requireNoDenial(call)
        let (found, collection) = try await place(of: attributes, opened)
        if try await isLocked(collection, for: call) {
          guard try await unlock(collection, for: id, call) else { return nil }
          continue
        }
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

    private func unlock(_ collection: BusCollection, for application: String, _ call: BusCall) async throws -> Bool {
      let path = BusObject.collection(collection.id).path
      if try await fulfil(.unlock([path]), call) != nil { return true }
      // One no is the answer to all that the application asks at the moment.
      for retrieval in retrievals where retrieval.application == application { retrieval.task.cancel() }
      return false
    }

    /// The item with an application's key, and its collection; without an item, the collection to make it in.
    ///
    /// The oldest of all collections, whichever is the default: any program may choose that, and with another key the
    /// application could not read its files. Calls that make a key at once get the same one, too.
    ///
    /// - Throws: the error of a group that cannot be read, if no other one has the key. It may have it.
    private func place(
      of attributes: [String: String], _ opened: OpenedStore
    ) async throws -> (item: BusItem?, BusCollection) {
      var (oldest, first): ((item: BusItem, collection: BusCollection)?, BusCollection?) = (nil, nil)
      var failure: (any Error)?
      for collection in collections where collection.group != nil {
        let found: BusItem?
        do {
          let (item, changes) = try await Blocking.read {
            try collection.read(opened.store) { items in
              items.matching(attributes).min { ($0.created, $0.id) < ($1.created, $1.id) }
            }
          }
          tell(changes, in: collection)
          found = item
        } catch VaultError.notFound {
          continue
        } catch {
          failure = failure ?? error
          continue
        }
        first = first ?? collection
        if let found, oldest.map({ found.created < $0.item.created }) ?? true { oldest = (found, collection) }
      }
      if let oldest { return (oldest.item, oldest.collection) }
      if let failure { throw failure }
      guard let first else { throw BusFailure.noObject }
      return (nil, first)
    }
  }
#endif
