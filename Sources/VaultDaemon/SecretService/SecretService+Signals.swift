#if Daemon
  import VaultFoundation

  // What clients are told without having asked.
  extension SecretService {
    /// Labels and attributes that a program got while the store was closed.
    struct ShownItem: Sendable {
      let call: BusCall
      let collection: BusCollection
      let item: String
    }

    /// The most items that are noted as shown while the store is closed.
    private static let shownLimit = 4_096

    // MARK: The store

    /// Reads all collections, and tells what others have changed, and whether the store was opened or closed.
    ///
    /// All of them, so that a program finds its items after `vault lock`, whether or not anybody asked for them before.
    func lookForChanges() async {
      guard let opened = seal.current, (try? await readRules(opened)) != nil else { return followSeal() }
      await addMadeCollections()
      for collection in collections {
        guard let changes = try? await Blocking.read({ try collection.refresh(opened.store) }) else { continue }
        tell(changes, in: collection)
      }
      followSeal()
      await recordShown()
    }

    /// Tells whether the store was opened or closed since the last call. Then all collections and items are locked or are not.
    private func followSeal() {
      let isOpen = seal.current != nil
      guard isOpen != wasOpen else { return }
      wasOpen = isOpen
      for collection in collections where !locked.contains(collection.id) {
        tellLocked(collection, !isOpen)
        if isOpen { tellItems(of: collection) }
      }
    }

    /// Notes that a program got an item's label and attributes while the store, and with it the record, is closed.
    ///
    /// - Returns: `false` if no more can be noted, so that it must not be shown.
    func noteShown(_ item: BusItem, in collection: BusCollection, to call: BusCall) -> Bool {
      let key = "\(call.sender) \(BusObject.item(collection: collection.id, item.id).path)"
      guard unrecorded[key] != nil || unrecorded.count < Self.shownLimit else { return false }
      unrecorded[key] = ShownItem(call: call, collection: collection, item: item.name)
      return true
    }

    private func recordShown() async {
      let shown = unrecorded
      unrecorded = [:]
      do {
        try await recordAll(shown.values.map { ($0.call, $0.collection, $0.item) }, "while the store was closed")
      } catch {
        // It may have been closed again. Twice in the record is better than not at all.
        unrecorded.merge(shown) { $1 }
      }
    }

    /// Records that programs get labels and attributes of items.
    func recordAll(_ shown: [(BusCall, BusCollection, item: String)], _ detail: String? = nil) async throws {
      try await withThrowingTaskGroup { tasks in
        for (call, collection, item) in shown {
          tasks.addTask { try await self.record(call, .inspect, collection, item: item, detail: detail) }
        }
        try await tasks.waitForAll()
      }
    }

    // MARK: Collections and items

    /// Tells what changed. Only clients that have read an item's properties are told the new ones.
    func tell(_ changes: BusChanges, in collection: BusCollection) {
      guard !changes.isEmpty else { return }
      let object = BusObject.collection(collection.id)
      for (ids, member) in [
        (changes.created, "ItemCreated"), (changes.changed, "ItemChanged"), (changes.deleted, "ItemDeleted"),
      ] {
        for id in ids {
          let item = BusObject.item(collection: collection.id, id)
          signal(object, .collection, member, [.path(item.path)])
          if member == "ItemDeleted" { readers.forget(item: item.path) }
          guard member == "ItemChanged", !locked.contains(collection.id), let changed = collection.known(id) else {
            continue
          }
          for (client, program) in readers.ofItem(item.path) where isOpen(collection, to: client, program) {
            tell(Self.properties(of: changed, isLocked: false), of: item, to: client)
          }
        }
      }
      tellItems(of: collection)
    }

    /// Tells the clients that keep a collection's properties which items it has: soon, and once for all that changes
    /// meanwhile, because a list can be long.
    private func tellItems(of collection: BusCollection) {
      guard !readers.ofCollection(collection.id).isEmpty, toldSoon.insert(collection.id).inserted else { return }
      Task {
        try? await Task.sleep(for: .milliseconds(100))
        toldSoon.remove(collection.id)
        let properties = Self.properties(ofItems: collection.knownItems, in: collection)
        for (client, program) in readers.ofCollection(collection.id) where lastRules.rule(for: program) != .deny {
          tell(properties, of: .collection(collection.id), to: client)
        }
      }
    }

    /// Tells whether a collection and its items are locked: everybody, and then the readers for whom that differs.
    func tellLocked(_ collection: BusCollection, _ isLocked: Bool) {
      let object = BusObject.collection(collection.id)
      tellEverybody(["Locked": .bool(isLocked)], of: collection)
      if !isLocked {
        for (client, program) in readers.ofCollection(collection.id) where lastRules.rule(for: program) == .ask {
          if !isOpen(collection, to: client, .ask) { tell(["Locked": .bool(true)], of: object, to: client) }
        }
      }
      for (client, program, items) in readers.items(of: collection) where isOpen(collection, to: client, program) {
        for item in items { tellLocked(item, of: collection, isLocked, to: client) }
      }
    }

    /// Tells a client that somebody let it use a collection what it was not shown before.
    func tellAdmitted(_ client: String, to collection: BusCollection) {
      if readers.ofCollection(collection.id).contains(where: { $0.client == client }) {
        tell(["Locked": .bool(false)], of: .collection(collection.id), to: client)
      }
      for item in readItems(of: collection, by: client) { tellLocked(item, of: collection, false, to: client) }
    }

    /// The ids of a collection's items whose properties a client has read.
    func readItems(of collection: BusCollection, by client: String) -> [String] {
      readers.items(of: collection).first { $0.client == client }?.items ?? []
    }

    /// An item that is not locked any more is told with all its properties, because the client may not have seen them.
    private func tellLocked(_ id: String, of collection: BusCollection, _ isLocked: Bool, to client: String) {
      let known = isLocked ? nil : collection.known(id)
      tell(
        known.map { Self.properties(of: $0, isLocked: false) } ?? ["Locked": .bool(isLocked)],
        of: .item(collection: collection.id, id), to: client)
    }

    private func isOpen(_ collection: BusCollection, to client: String, _ program: BusProgram) -> Bool {
      isOpen(collection, to: client, lastRules.rule(for: program))
    }

    // MARK: Properties

    /// The properties that an item shows to a program that may use it.
    static func properties(of item: BusItem, isLocked: Bool) -> [String: BusValue] {
      [
        "Label": .text(item.label), "Attributes": .attributes(item.attributes),
        "Type": .text(item.attributes["xdg:schema"] ?? "org.freedesktop.Secret.Generic"),
        "Created": .number(item.created.milliseconds / 1_000), "Modified": .number(item.modified.milliseconds / 1_000),
        "Locked": .bool(isLocked),
      ]
    }

    /// The properties that a collection has from its items: how many there are, and nothing of what they are.
    static func properties(ofItems items: [BusItem], in collection: BusCollection) -> [String: BusValue] {
      [
        "Items": .paths(items.map { BusObject.item(collection: collection.id, $0.id).path }.sorted()),
        "Created": .number((items.map(\.created.milliseconds).min() ?? 0) / 1_000),
        "Modified": .number((items.map(\.modified.milliseconds).max() ?? 0) / 1_000),
      ]
    }

    /// Tells the new values of an object's properties.
    func tell(_ properties: [String: BusValue], of object: BusObject, to client: String? = nil) {
      let values: [BusValue] = [.text(object.interface?.name ?? ""), .properties(properties), .texts([])]
      signal(object, .properties, "PropertiesChanged", values, to: client)
    }

    func tellEverybody(_ properties: [String: BusValue], of collection: BusCollection) {
      tell(properties, of: .collection(collection.id))
      signal(.service, .service, "CollectionChanged", [.path(BusObject.collection(collection.id).path)])
    }

    func tellCollections() {
      tell(["Collections": .paths(collections.map { BusObject.collection($0.id).path })], of: .service)
    }
  }
#endif
