#if Daemon
  import Glibc
  import Logging
  import VaultFoundation

  /// The objects of `org.freedesktop.secrets` (Secret Service 0.2) and what they answer.
  ///
  /// Collections are groups of the store, and one in memory. Any program on the bus may call; the owner's rules say what
  /// it gets, as far as it is known which program it is. An answer that shows an item is recorded first, except while the
  /// store, and with it the record, is closed: then labels and attributes that are shown are recorded once it is open.
  actor SecretService {
    let seal: Seal
    let asking: Asking
    let location: StoreLocation
    let logger: Logger
    private let send: @Sendable (BusSignal) -> Void
    /// Those that the command line names come first, then those that programs have made, and the one in memory.
    var collections: [BusCollection]
    /// The id of the collection with the alias `default`; `nil` if no group is left.
    private var defaultID: String?
    /// Whether a program has chosen it.
    private var isDefaultChosen = false
    /// The groups of which the log says that they cannot be read.
    private var unread: Set<String> = []
    /// Whether the log says that a search was refused because the store is closed.
    private var isClosedNoted = false
    /// The ids of collections that a program locked.
    var locked: Set<String> = []
    /// The ids of the collections that somebody let a client use, where the rule is to ask.
    var admitted: [String: Set<String>] = [:]
    private var sessions = BusSessions()
    var prompts: [String: BusPrompt] = [:]
    /// The calls of the portal that wait for their answers.
    var retrievals: [PortalRetrieval] = []
    var readers = BusReaders()
    /// The ids of collections of which clients will soon be told the items.
    var toldSoon: Set<String> = []
    /// Whether the store was open when clients were told last.
    var wasOpen: Bool
    /// What was shown while the store was closed, and is not in the record yet.
    var unrecorded: [String: ShownItem] = [:]
    private var lastNumber: UInt64 = 0
    /// The owner's rules, as they were when a call asked for them first.
    private(set) var rulesOfCalls: [UInt64: ProgramRules] = [:]
    /// The owner's rules, as they were when anybody asked for them last.
    private(set) var lastRules = ProgramRules([:])

    static let promptLimit = 16
    private static let login = "login"

    /// - Parameters:
    ///   - groups: the groups to answer from; the first one is the default.
    ///   - send: sends a signal.
    init(
      groups: [String], seal: Seal, location: StoreLocation, asking: Asking, logger: Logger,
      send: @escaping @Sendable (BusSignal) -> Void
    ) {
      (self.seal, self.location, self.asking, self.logger, self.send) = (seal, location, asking, logger, send)
      collections = groups.map { BusCollection(group: $0) } + [BusCollection(group: nil)]
      (defaultID, wasOpen) = (collections[0].id, seal.current != nil)
    }

    /// A number that no object had before.
    func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }

    // MARK: Calls

    func answer(_ call: BusCall) async -> Result<[BusValue], BusFailure> {
      defer { rulesOfCalls[call.number] = nil }
      do {
        return .success(try await values(for: call))
      } catch {
        return .failure(BusFailure(error))
      }
    }

    private func values(for call: BusCall) async throws -> [BusValue] {
      if call.isFromPortal, call.member == "Close", endRetrieval(call.path, of: call.sender) { return [] }
      guard let object = BusObject(path: call.path) else { throw BusFailure.unknownObject }
      let interfaces = [object.interface, .properties, .introspection].compactMap(\.self)
        .filter { call.interface == nil || $0.name == call.interface }
      for interface in interfaces {
        guard let method = interface.methods.first(where: { $0.name == call.member }) else { continue }
        guard method.signature == call.signature else {
          throw BusFailure.invalid("\(method.name) takes '\(method.signature)'")
        }
        switch interface.name {
        case BusInterface.introspection.name:
          // While the store is closed, the rules are those that were known before.
          if case .collection = object, seal.current != nil { try await requireNoDenial(call) }
          guard lastRules.rule(for: call.program) != .deny else { throw BusFailure.denied }
          return [.text(try document(of: object, call))]
        case BusInterface.properties.name: return try await properties(of: object, call)
        default: return try await perform(call, on: object)
        }
      }
      throw BusFailure.unknownMethod
    }

    private func perform(_ call: BusCall, on object: BusObject) async throws -> [BusValue] {
      switch object {
      case .service: return try await performOnService(call)
      case .collection(let id): return try await perform(call, on: try collection(id))
      case .alias(let name):
        guard let collection = aliased(name) else { throw BusFailure.noObject }
        return try await perform(call, on: collection)
      case .item(let id, let item): return try await perform(call, on: item, of: try collection(id))
      case .session(let id):
        guard sessions.close(id, of: call.sender) else { throw BusFailure.noSession }
        return []
      case .prompt(let id):
        guard let prompt = prompts[id], prompt.client == call.sender else { throw BusFailure.noObject }
        if call.member == "Prompt" { try await begin(prompt, id, call) } else { dismiss(id) }
        return []
      case .portal: return try await retrieveSecret(call)
      case .folder: throw BusFailure.unknownMethod
      }
    }

    private func performOnService(_ call: BusCall) async throws -> [BusValue] {
      switch (call.member, call.given) {
      case ("OpenSession", (.text(let algorithm)?, .variant(let input)?, _)):
        let (session, output) = try BusSession.open(algorithm, input, for: call.sender)
        let id = "s\(nextNumber())"
        sessions.add(session, id)
        return [.variant(output), .path(BusObject.session(id).path)]
      case ("SearchItems", (.attributes(let wanted)?, _, _)):
        var (unlocked, hidden): ([String], [String]) = ([], [])
        for (collection, found) in try await search(wanted, in: collections, call) {
          if try await isLocked(collection, for: call) { hidden += found } else { unlocked += found }
        }
        return [.paths(unlocked), .paths(hidden)]
      case ("GetSecrets", (.paths(let paths)?, .path(let session)?, _)):
        return [.secrets(try await secrets(of: paths, for: session, call))]
      case ("Unlock", (.paths(let paths)?, _, _)): return try await unlock(paths, call)
      case ("Lock", (.paths(let paths)?, _, _)):
        let wanted = try collections(of: paths)
        try await lock(wanted.map(\.collection), call)
        return [.paths(wanted.map(\.path)), .path("/")]
      case ("LockService", _):
        try await lock(collections, call)
        return []
      case ("ReadAlias", (.text(let name)?, _, _)):
        return [.path(aliased(name).map { BusObject.collection($0.id).path } ?? "/")]
      case ("SetAlias", (.text(let name)?, .path(let path)?, _)):
        guard name == "default", path != "/" else {
          throw BusFailure.unsupported("only 'default' is an alias that can be set, and it cannot be removed")
        }
        guard case .collection(let id)? = BusObject(path: path) else { throw BusFailure.noObject }
        let collection = try collection(id)
        // What other programs store by the alias must outlive the daemon.
        guard collection.group != nil else {
          throw BusFailure.unsupported("the collection in memory cannot be the default")
        }
        _ = try await require(collection, call)
        try await record(call, .login, collection)
        setDefault(collection)
        return []
      case ("CreateCollection", (.properties(let properties)?, .text(let alias)?, _)):
        if !alias.isEmpty, let known = aliased(alias) {
          return [.path(BusObject.collection(known.id).path), .path("/")]
        }
        guard ["", "default", Self.login].contains(alias) else {
          throw BusFailure.unsupported("there is no such alias")
        }
        guard case .text(let label)? = properties["org.freedesktop.Secret.Collection.Label"] else {
          throw BusFailure.invalid("a collection needs a label")
        }
        try await requireNoDenial(call)
        let wish = BusPrompt.Wish.createCollection(
          label: BusItem.withoutControls(label), isDefault: !alias.isEmpty)
        return [.path("/"), .path(try await prompt(wish, call))]
      default: throw BusFailure.unknownMethod
      }
    }

    // MARK: Objects

    func collection(_ id: String) throws(BusFailure) -> BusCollection {
      guard let collection = collections.first(where: { $0.id == id }) ?? (id == Self.login ? aliased(id) : nil) else {
        throw .noObject
      }
      return collection
    }

    /// Gives a group's collection the alias `default`, or the first of those that are left.
    func setDefault(_ collection: BusCollection? = nil) {
      isDefaultChosen = collection != nil
      defaultID = (collection ?? collections.first { $0.group != nil })?.id
    }

    /// Says in the log, once, that a group cannot be read.
    func noteUnread(_ collection: BusCollection, _ error: any Error) {
      guard let group = collection.group, unread.insert(group).inserted else { return }
      logger.error(
        "the items of a group are missing on the bus, because it cannot be read",
        metadata: ["group": "\(group)", "error": "\(Self.message(of: error))"])
    }

    /// The name for the path of a collection; `nil` if another one has that path.
    func freeName(_ name: String?) -> String? {
      guard let name, (1...100).contains(name.utf8.count) else { return nil }
      let id = BusCollection.id(of: name)
      return collections.contains { $0.id == id } ? nil : name
    }

    /// Says in the log, once, that nothing can be searched because the store has not been open yet.
    func noteClosed() {
      guard !isClosedNoted else { return }
      isClosedNoted = true
      logger.warning("programs find no items, because the store is closed and was not read before")
    }

    static func message(of error: any Error) -> String {
      (error as? VaultError)?.message ?? BusFailure(error).message
    }

    func aliased(_ name: String) -> BusCollection? {
      switch name {
      case "default": collections.first { $0.id == defaultID }
      // Elsewhere the default collection has this name, and programs name it.
      case Self.login: collections.first { $0.id == Self.login } ?? aliased("default")
      case BusCollection.memoryID: collections.first { $0.group == nil }
      default: nil
      }
    }

    /// The collections that paths of collections and of items stand for; unknown paths are left out.
    func collections(of paths: [String]) throws(BusFailure) -> [(path: String, collection: BusCollection)] {
      var found: [(path: String, collection: BusCollection)] = []
      for path in paths {
        let collection: BusCollection? =
          switch BusObject(path: path) {
          case .collection(let id), .item(let id, _): try? collection(id)
          case .alias(let name): aliased(name)
          default: nil
          }
        if let collection { found.append((path, collection)) }
      }
      return found
    }

    func session(_ path: String, of call: BusCall) throws(BusFailure) -> BusSession {
      guard case .session(let id)? = BusObject(path: path), let session = sessions.use(id, by: call.sender) else {
        throw .noSession
      }
      return session
    }

    private func document(of object: BusObject, _ call: BusCall) throws(BusFailure) -> String {
      let children: [String]
      switch object {
      case .service: children = ["aliases", "collection", "session", "prompt"]
      case .collection(let id): children = try collection(id).knownItems.map(\.id)
      case .folder(let path):
        switch path.split(separator: "/").last {
        case "aliases": children = ["default", Self.login, BusCollection.memoryID]
        case "collection": children = collections.map(\.id)
        case "session": children = sessions.ids(of: call.sender)
        case "prompt": children = prompts.filter { $0.value.client == call.sender }.map(\.key)
        case "org": children = ["freedesktop"]
        case "freedesktop": children = ["portal", "secrets"]
        case "portal": children = ["desktop"]
        default: children = ["org"]
        }
      default: children = []
      }
      let interfaces = [object.interface, .properties, .introspection, .peer].compactMap(\.self)
      return BusInterface.document(of: interfaces, children: children.sorted())
    }

    // MARK: Clients

    /// Drops everything of a client that has left.
    func forget(_ client: String) {
      sessions.forget(client: client)
      admitted = admitted.filter { $0.key != client && !$0.key.hasPrefix(client + " ") }
      endRetrievals(of: client)
      for (id, prompt) in prompts where prompt.client == client {
        prompt.task?.cancel()
        prompts[id] = nil
      }
      readers.forget(client: client)
    }

    /// Whether a rule, and what somebody agreed to, lets a client use a collection that is not locked.
    func isOpen(_ collection: BusCollection, to client: String, _ rule: ProgramRule) -> Bool {
      rule == .allow || rule == .ask && admitted[client]?.contains(collection.id) ?? false
    }

    func signal(
      _ object: BusObject, _ interface: BusInterface, _ member: String, _ values: [BusValue], to client: String? = nil
    ) {
      send(BusSignal(path: object.path, interface: interface.name, member: member, values: values, destination: client))
    }

    func rules(for call: BusCall) async throws -> ProgramRules {
      if let known = rulesOfCalls[call.number] { return known }
      guard let opened = seal.current else { return ProgramRules([:]) }
      let rules = try await readRules(opened)
      note(rules, of: call)
      return rules
    }

    func note(_ rules: ProgramRules, of call: BusCall) { (rulesOfCalls[call.number], lastRules) = (rules, rules) }

    @discardableResult
    func readRules(_ opened: OpenedStore) async throws -> ProgramRules {
      lastRules = ProgramRules(try await Blocking.read { try opened.callers.settings(of: opened.store) })
      return lastRules
    }

    func endRules(of call: BusCall) { rulesOfCalls[call.number] = nil }

    /// Adds the collections that programs have made before, as soon as the store is open. If the group of the default
    /// is not there any more, the first one that is becomes the default.
    func addMadeCollections() async {
      guard let opened = seal.current else { return }
      let (known, usual) = (collections.compactMap(\.group), aliased("default")?.group)
      let chosen = isDefaultChosen ? usual.map { [$0] } ?? [] : []
      let found = try? await Blocking.read {
        let made = try ProgramRules(opened.callers.settings(of: opened.store)).made.filter { made in
          !known.contains(made.group) && (try? opened.store.group(made.group).info()) != nil
        }
        func isThere(_ group: String) -> Bool {
          do { _ = try opened.store.group(group).info() } catch VaultError.notFound { return false } catch {}
          return true
        }
        return (made: made, usual: (chosen + known + made.map(\.group)).first(where: isThere))
      }
      guard let found else { return }
      for (group, name) in found.made where !collections.contains(where: { $0.group == group }) {
        add(BusCollection(group: group, name: freeName(name)))
      }
      // Meanwhile a program may have set another one.
      guard aliased("default")?.group == usual, found.usual != usual else { return }
      defaultID = collections.first { $0.group != nil && $0.group == found.usual }?.id
    }
  }
#endif
