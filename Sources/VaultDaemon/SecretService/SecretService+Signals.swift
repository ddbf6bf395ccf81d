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
      guard let opened = seal.current, (try? await readRules(opened)) != nil else { return await followSeal() }
      await addMadeCollections()
      for collection in collections {
        guard let changes = try? await Blocking.read({ try collection.refresh(opened.store) }) else { continue }
        tell(changes, in: collection)
      }
      await followSeal()
      await recordShown()
    }

    /// Tells whether the store was opened or closed since the last call. Then all collections and items are locked or are not.
    private func followSeal() async {
      let isOpen = seal.current != nil
      guard isOpen != wasOpen else { return }
      wasOpen = isOpen
      for collection in collections where !locked.contains(collection.id) {
        await tellLocked(collection, !isOpen)
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

    /// Tells what changed. Only clients that have read an item's properties are told the new ones, once that is recorded.
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
        }
      }
      if !changes.changed.isEmpty {
        let changed = Set(changes.changed)
        for (call, items) in readers.items(of: collection) where mayUse(collection, call) {
          let items = items.filter { $0.showsContent && changed.contains($0.id) }
          if !items.isEmpty { Task { await show(items, of: collection, to: call) } }
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
        for call in readers.ofCollection(collection.id) where lastRules.rule(for: call.program) != .deny {
          tell(properties, of: .collection(collection.id), to: call.sender)
        }
      }
    }

    /// Tells whether a collection and its items are locked: everybody, and then the readers for whom that differs.
    func tellLocked(_ collection: BusCollection, _ isLocked: Bool) async {
      // Others may have closed the store while what was shown was recorded.
      guard isLocked || seal.current != nil else { return }
      tellEverybody(["Locked": .bool(isLocked)], of: collection)
      if !isLocked {
        for call in readers.ofCollection(collection.id)
        where lastRules.rule(for: call.program) == .ask && !isOpen(collection, to: call) {
          tell(["Locked": .bool(true)], of: .collection(collection.id), to: call.sender)
        }
      }
      for (call, items) in readers.items(of: collection) where isOpen(collection, to: call) {
        if isLocked {
          for item in items {
            tell(["Locked": .bool(true)], of: .item(collection: collection.id, item.id), to: call.sender)
          }
        } else {
          await show(items, of: collection, to: call)
        }
      }
    }

    /// Tells a client that somebody let it use a collection what it was not shown before.
    func tellAdmitted(_ client: String, to collection: BusCollection) async {
      if readers.ofCollection(collection.id).contains(where: { $0.sender == client }) {
        tell(["Locked": .bool(false)], of: .collection(collection.id), to: client)
      }
      for (call, items) in readers.items(of: collection) where call.sender == client {
        await show(items, of: collection, to: call)
      }
    }

    /// Tells a client that items which it has read are not locked any more, with all properties of those of which it read
    /// more than that, because it may not have seen them. Recorded first, like an answer; else nothing is told.
    private func show(_ items: [BusReaders.ReadItem], of collection: BusCollection, to call: BusCall) async {
      guard mayUse(collection, call) else { return }
      let shown = items.filter(\.showsContent).compactMap { collection.known($0.id) }
      guard (try? await recordAll(shown.map { (call, collection, $0.name) })) != nil, mayUse(collection, call) else {
        return
      }
      let names = Set(shown.map(\.name))
      for item in items {
        // It may have changed since, and then another call tells the same.
        var properties = ["Locked": BusValue.bool(false)]
        if item.showsContent, let known = collection.known(item.id), names.contains(known.name) {
          properties = Self.properties(of: known, isLocked: false)
        }
        tell(properties, of: .item(collection: collection.id, item.id), to: call.sender)
      }
    }

    private func mayUse(_ collection: BusCollection, _ call: BusCall) -> Bool {
      seal.current != nil && !locked.contains(collection.id) && isOpen(collection, to: call)
    }

    private func isOpen(_ collection: BusCollection, to call: BusCall) -> Bool {
      isOpen(collection, to: call.sender, lastRules.rule(for: call.program))
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
