#if Daemon
  import VaultFoundation

  // What is answered from collections and items.
  extension SecretService {
    // MARK: Access

    /// The open store, for a program that no rule denies.
    ///
    /// - Throws: `denied`, which is recorded; `isLocked` while the daemon is sealed.
    @discardableResult
    func requireNoDenial(_ call: BusCall) async throws -> OpenedStore {
      guard let opened = seal.current else { throw BusFailure.isLocked }
      if try await rules(for: call).rule(for: call.program) == .deny {
        try await record(call, .login, nil, .denied)
        throw BusFailure.denied
      }
      return opened
    }

    /// The open store, for a program that may use the collection now.
    func require(_ collection: BusCollection, _ call: BusCall) async throws -> OpenedStore {
      let opened = try await requireNoDenial(call)
      guard try await !isLocked(collection, for: call) else { throw BusFailure.isLocked }
      return opened
    }

    func isLocked(_ collection: BusCollection, for call: BusCall) async throws -> Bool {
      guard seal.current != nil, !locked.contains(collection.id) else { return true }
      return try await !isOpen(collection, to: call.sender, rules(for: call).rule(for: call.program))
    }

    /// Makes the record of a decision durable.
    ///
    /// - Throws: `failed` if that fails; then nothing may be answered or changed.
    func record(
      _ call: BusCall, _ action: AuditRecord.Action, _ collection: BusCollection?, item: String? = nil,
      _ outcome: AuditRecord.Outcome = .allowed, detail: String? = nil
    ) async throws {
      let (visit, place) = try visit(call, collection)
      let detail = detail.map { "\(place), \($0)" } ?? place
      try await visit.record(action, group: collection?.group, item: item, outcome, detail: detail)
    }

    private func visit(_ call: BusCall, _ collection: BusCollection?) throws(BusFailure) -> (Visit, detail: String) {
      guard let opened = seal.current else { throw BusFailure.isLocked }
      let visit = Visit(opened: opened, connection: Connection(peer: call.program.peer), application: nil)
      let place = collection?.group == nil && collection != nil ? "secret service, in memory" : "secret service"
      return (visit, call.program.flatpak.map { "\(place), \($0)" } ?? place)
    }

    /// Reads from a collection, and tells everybody what others have changed in it.
    private func read<Result: Sendable>(
      _ collection: BusCollection, _ opened: OpenedStore, _ body: @escaping @Sendable (BusItems) throws -> Result
    ) async throws -> Result {
      let (result, changes) = try await Blocking.read { try collection.read(opened.store, body) }
      tell(changes, in: collection)
      return result
    }

    /// - Throws: `noObject` for an item that is not there.
    func item(_ id: String, of collection: BusCollection, _ opened: OpenedStore) async throws -> BusItem {
      guard let item = try await read(collection, opened, { $0.items[id] }) else { throw BusFailure.noObject }
      return item
    }

    // MARK: Reading

    /// The paths of the items with these attributes, by their collections. A group that cannot be read does not keep the
    /// items of the others from being found.
    ///
    /// While the store is closed, the items are those that were known before, so that a program finds what to unlock.
    func search(
      _ wanted: [String: String], in searched: [BusCollection], _ call: BusCall
    ) async throws -> [(collection: BusCollection, paths: [String])] {
      let known = rulesOfCalls[call.number]
      guard let opened = seal.current else {
        guard searched.contains(where: \.isKnown) else {
          noteClosed()
          throw BusFailure.isLocked
        }
        guard lastRules.rule(for: call.program) != .deny else { throw BusFailure.denied }
        return searched.map { ($0, Self.paths($0.known(wanted), in: $0)) }
      }
      // One turn of a thread that may wait for the disk, because each costs as much as the search itself.
      typealias Found = Result<(result: [String], changes: BusChanges), any Error>
      let (rules, found) = try await Blocking.read { () throws -> (ProgramRules, [Found]) in
        let rules = try known ?? ProgramRules(opened.callers.settings(of: opened.store))
        guard rules.rule(for: call.program) != .deny else { return (rules, []) }
        let found = searched.map { collection in
          Found { try collection.read(opened.store) { $0.matching(wanted).map(\.id) } }
        }
        return (rules, found)
      }
      note(rules, of: call)
      try await requireNoDenial(call)
      var (paths, failures): ([(BusCollection, [String])], [any Error]) = ([], [])
      for (collection, found) in zip(searched, found) {
        let (ids, changes): ([String], BusChanges)
        do { (ids, changes) = try found.get() } catch {
          noteUnread(collection, error)
          failures.append(error)
          continue
        }
        tell(changes, in: collection)
        if !ids.isEmpty {
          // The answer holds paths alone, so its record may go with that of the read that follows.
          let (visit, detail) = try visit(call, collection)
          try await visit.note(.list, group: collection.group, detail: detail)
        }
        paths.append((collection, Self.paths(ids, in: collection)))
      }
      if let failure = failures.first, failures.count == searched.count(where: { $0.group != nil }) { throw failure }
      return paths
    }

    private static func paths(_ ids: [String], in collection: BusCollection) -> [String] {
      ids.map { BusObject.item(collection: collection.id, $0).path }
    }

    /// The secrets of those items that are there and not locked.
    ///
    /// - Throws: the error of reading, if none of them can be read.
    func secrets(of paths: [String], for session: String, _ call: BusCall) async throws -> [String: BusValue] {
      let opened = try await requireNoDenial(call)
      let key = try self.session(session, of: call)
      var wanted: [(path: String, item: String, collection: BusCollection)] = []
      // A path that is named twice is answered once.
      for path in Set(paths) {
        guard case .item(let id, let item)? = BusObject(path: path),
          let collection = try? collection(id), try await !isLocked(collection, for: call)
        else { continue }
        wanted.append((path, item, collection))
      }
      typealias Secrets = (
        secrets: [String: BusValue], read: [(BusCollection, String)], [(BusCollection, BusChanges)],
        failures: [(BusCollection, any Error)]
      )
      let (secrets, read, changes, failures) = try await Blocking.read { [wanted] () throws -> Secrets in
        var secrets: [String: BusValue] = [:]
        var read: [(BusCollection, String)] = []
        var changes: [(BusCollection, BusChanges)] = []
        var failures: [(BusCollection, any Error)] = []
        var bytesLeft = 16 << 20
        for (path, id, collection) in wanted {
          let (item, value): (BusItem, [UInt8])
          do {
            let (found, changed) = try collection.read(opened.store) { $0.items[id] }
            changes.append((collection, changed))
            guard let found, let bytes = try collection.value(of: found, in: opened.store) else { continue }
            (item, value) = (found, bytes)
          } catch {
            failures.append((collection, error))
            continue
          }
          bytesLeft -= value.count
          guard bytesLeft >= 0 else { throw BusFailure.overLimit }
          secrets[path] = try key.seal(value, contentType: item.contentType, at: session)
          read.append((collection, item.name))
        }
        return (secrets, read, changes, failures)
      }
      for (collection, changed) in changes { tell(changed, in: collection) }
      for (collection, error) in failures { noteUnread(collection, error) }
      if secrets.isEmpty, let (_, error) = failures.first { throw error }
      try await withThrowingTaskGroup { tasks in
        for (collection, name) in read {
          tasks.addTask { try await self.record(call, .read, collection, item: name) }
        }
        try await tasks.waitForAll()
      }
      return secrets
    }

    // MARK: Calls

    func perform(_ call: BusCall, on collection: BusCollection) async throws -> [BusValue] {
      switch (call.member, call.given) {
      case ("SearchItems", (.attributes(let wanted)?, _, _)):
        return [.paths(try await search(wanted, in: [collection], call).flatMap(\.paths))]
      case ("CreateItem", (.properties(let properties)?, let secret?, .bool(let replaces)?)):
        guard let secret = BusSecret(secret) else { throw BusFailure.unknownMethod }
        let value = try session(secret.session, of: call).open(secret)
        var content = try Self.content(properties)
        content.label = content.label ?? ""
        content.attributes = content.attributes ?? [:]
        content.secret = .init(bytes: value, contentType: try Self.contentType(secret.contentType))
        let id = try await change(
          .create(content, replaces: replaces, as: nil), in: collection, .write, item: nil, call)
        return [.path(BusObject.item(collection: collection.id, id).path), .path("/")]
      case ("Delete", _):
        guard collection.group != nil else { throw BusFailure.unsupported("the collection in memory stays") }
        try await requireNoDenial(call)
        return [.path(try await prompt(.deleteCollection(collection), call))]
      default: throw BusFailure.unknownMethod
      }
    }

    func perform(_ call: BusCall, on id: String, of collection: BusCollection) async throws -> [BusValue] {
      let opened = try await require(collection, call)
      switch (call.member, call.given) {
      case ("GetSecret", (.path(let session)?, _, _)):
        let path = BusObject.item(collection: collection.id, id).path
        guard let secret = try await secrets(of: [path], for: session, call)[path] else { throw BusFailure.noObject }
        return [secret]
      case ("SetSecret", (let secret?, _, _)):
        guard let secret = BusSecret(secret) else { throw BusFailure.unknownMethod }
        let value = try session(secret.session, of: call).open(secret)
        let content = BusCollection.Content(
          secret: .init(bytes: value, contentType: try Self.contentType(secret.contentType)))
        let name = try await item(id, of: collection, opened).name
        _ = try await change(.change(id, content), in: collection, .write, item: name, call)
        return []
      case ("Delete", _):
        let name = try await item(id, of: collection, opened).name
        _ = try await change(.remove(id), in: collection, .remove, item: name, call)
        return [.path("/")]
      default: throw BusFailure.unknownMethod
      }
    }

    /// Makes a change, which is recorded before it is made; if it fails, a second record says so.
    func change(
      _ change: BusCollection.Change, in collection: BusCollection, _ action: AuditRecord.Action, item: String?,
      _ call: BusCall
    ) async throws -> String {
      // Each time that another program was faster, the item has another name.
      for _ in 0..<16 {
        do { return try await attempt(change, in: collection, action, item: item, call) } catch {
          guard (error as? BusFailure) == .plannedOtherwise else { throw error }
        }
      }
      throw BusFailure.plannedOtherwise
    }

    private func attempt(
      _ change: BusCollection.Change, in collection: BusCollection, _ action: AuditRecord.Action, item: String?,
      _ call: BusCall
    ) async throws -> String {
      let opened = try await require(collection, call)
      var (change, name) = (change, item)
      defer { if let name { collection.release(name) } }
      if case .create(let content, let replaces, _) = change {
        let planned = try await Blocking.read { try collection.plan(content, replaces: replaces, in: opened.store) }
        tell(planned.changes, in: collection)
        name = planned.name
        change = .create(content, replaces: replaces, as: planned.name)
      }
      try await record(call, action, collection, item: name)
      do {
        let (id, changes) = try await Blocking.write { [change] in try collection.make(change, in: opened.store) }
        tell(changes, in: collection)
        return id
      } catch {
        try await record(call, action, collection, item: name, Refusal(error).outcome)
        throw error
      }
    }

    /// What `CreateItem` gets besides the secret.
    private static func content(_ properties: [String: BusValue]) throws(BusFailure) -> BusCollection.Content {
      let prefix = BusInterface.item.name + "."
      var content = BusCollection.Content()
      if let label = properties[prefix + "Label"] {
        guard case .text(let text) = label else { throw .invalid("a label must be text") }
        content.label = text
      }
      if let attributes = properties[prefix + "Attributes"] {
        guard case .attributes(let pairs) = attributes else { throw .invalid("attributes must be strings") }
        content.attributes = try checked(pairs)
      }
      if case .text(let type)? = properties[prefix + "Type"], content.attributes?["xdg:schema"] == nil, !type.isEmpty {
        content.attributes = (content.attributes ?? [:]).merging(["xdg:schema": type]) { old, _ in old }
      }
      return content
    }

    static func checked(_ attributes: [String: String]) throws(BusFailure) -> [String: String] {
      guard attributes[BusItem.contentTypeKey] == nil else {
        throw .invalid("the service keeps content types in this attribute")
      }
      return attributes
    }

    /// The content type that is kept; an empty one is that of a text.
    private static func contentType(_ type: String) throws(BusFailure) -> String {
      guard type.utf8.count <= 256 else { throw .overLimit }
      return type.isEmpty ? "text/plain" : BusItem.withoutControls(type)
    }
  }
#endif
