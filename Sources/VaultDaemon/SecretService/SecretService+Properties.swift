#if Daemon
  import VaultFoundation

  // Properties, and which collections are locked.
  extension SecretService {
    // MARK: Properties

    func properties(of object: BusObject, _ call: BusCall) async throws -> [BusValue] {
      switch (call.member, call.given) {
      case ("GetAll", (.text(let interface)?, _, _)):
        guard interface.isEmpty || interface == object.interface?.name else { return [.properties([:])] }
        return [.properties(try await properties(of: object, only: nil, call))]
      case ("Get", (.text(let interface)?, .text(let name)?, _)):
        guard interface.isEmpty || interface == object.interface?.name,
          object.interface?.properties.contains(where: { $0.name == name }) ?? false
        else { throw BusFailure.unknownProperty }
        guard let value = try await properties(of: object, only: name, call)[name] else {
          throw BusFailure.unknownProperty
        }
        return [.variant(value)]
      case ("Set", (.text(let interface)?, .text(let name)?, .variant(let value)?)):
        guard interface.isEmpty || interface == object.interface?.name,
          let property = object.interface?.properties.first(where: { $0.name == name })
        else { throw BusFailure.unknownProperty }
        guard property.isWritable else { throw BusFailure.readOnlyProperty }
        guard property.type == value.signature else {
          throw BusFailure.invalid("\(name) is of type '\(property.type)'")
        }
        try await set(name, to: value, of: object, call)
        return []
      default: throw BusFailure.unknownMethod
      }
    }

    /// - Parameter only: the one that is wanted; `nil` for all.
    private func properties(
      of object: BusObject, only name: String?, _ call: BusCall
    ) async throws -> [String: BusValue] {
      switch object {
      case .service:
        return ["Collections": .paths(collections.map { BusObject.collection($0.id).path })]
      case .collection(let id): return try await properties(of: try collection(id), only: name, call)
      case .alias(let alias):
        guard let collection = aliased(alias) else { throw BusFailure.noObject }
        return try await properties(of: collection, only: name, call)
      case .item(let id, let item): return try await properties(of: item, in: try collection(id), only: name, call)
      case .portal: return ["version": .word(1)]
      case .session, .prompt, .folder: return [:]
      }
    }

    private func properties(
      of collection: BusCollection, only name: String?, _ call: BusCall
    ) async throws -> [String: BusValue] {
      let isLocked = try await isLocked(collection, for: call)
      var properties: [String: BusValue] = [
        "Locked": .bool(isLocked), "Items": .paths([]), "Created": .number(0), "Modified": .number(0),
      ]
      if name == nil || name == "Label" { properties["Label"] = .text(try await label(of: collection, call)) }
      // A client that reads all at once keeps them.
      if name == nil, lastRules.rule(for: call.program) != .deny { readers.note(call, collection: collection.id) }
      guard name == nil || name == "Items" || name == "Created" || name == "Modified" else { return properties }
      guard seal.current != nil else {
        guard lastRules.rule(for: call.program) != .deny else { return properties }
        return properties.merging(Self.properties(ofItems: collection.knownItems, in: collection)) { $1 }
      }
      let opened = try await requireNoDenial(call)
      let read = try await Blocking.read {
        Result { try collection.read(opened.store) { Array($0.items.values) } }
      }
      // A program that loads all collections would have none because of one.
      if name == nil, case .failure(let error) = read {
        noteUnread(collection, error)
        return properties
      }
      let (items, changes) = try read.get()
      tell(changes, in: collection)
      if name == nil || name == "Items" { try await record(call, .list, collection) }
      return properties.merging(Self.properties(ofItems: items, in: collection)) { $1 }
    }

    /// A locked item shows what it is only to a program that a rule allows to use it: many read what they found before they
    /// have it unlocked. To others it says only that it is there.
    private func properties(
      of id: String, in collection: BusCollection, only name: String?, _ call: BusCall
    ) async throws -> [String: BusValue] {
      let hidden: [String: BusValue] = [
        "Locked": .bool(true), "Label": .text(""), "Attributes": .attributes([:]), "Type": .text(""),
        "Created": .number(0), "Modified": .number(0),
      ]
      let showsContent = name != "Locked" && name != "Created" && name != "Modified"
      let path = BusObject.item(collection: collection.id, id).path
      // While the store is closed, the rules and the items are those that were known before.
      if seal.isSealed, lastRules.rule(for: call.program) != .deny, let item = collection.known(id) {
        readers.note(call, item: path, showsContent: showsContent)
        guard lastRules.rule(for: call.program) == .allow,
          !showsContent || noteShown(item, in: collection, to: call)
        else { return hidden }
        return Self.properties(of: item, isLocked: true)
      }
      let opened = try await requireNoDenial(call)
      let item = try await item(id, of: collection, opened)
      let isLocked = try await isLocked(collection, for: call)
      let rule = try await rules(for: call).rule(for: call.program)
      readers.note(call, item: path, showsContent: showsContent)
      guard !isLocked || rule == .allow else { return hidden }
      if showsContent { try await record(call, .inspect, collection, item: item.name) }
      return Self.properties(of: item, isLocked: isLocked)
    }

    private func set(_ name: String, to value: BusValue, of object: BusObject, _ call: BusCall) async throws {
      switch (object, value) {
      case (.collection(let id), .text(let label)): try await set(label, of: try collection(id), call)
      case (.alias(let alias), .text(let label)):
        guard let collection = aliased(alias) else { throw BusFailure.noObject }
        try await set(label, of: collection, call)
      case (.item(let id, let item), _):
        let collection = try collection(id)
        let opened = try await require(collection, call)
        let old = try await self.item(item, of: collection, opened)
        var content = BusCollection.Content()
        switch value {
        case .attributes(let pairs): content.attributes = try Self.checked(pairs)
        case .text(let text) where name == "Type":
          content.attributes = old.attributes.merging(["xdg:schema": text]) { $1 }
        case .text(let text): content.label = text
        default: throw BusFailure.readOnlyProperty
        }
        _ = try await change(.change(item, content), in: collection, .write, item: old.name, call)
      default: throw BusFailure.readOnlyProperty
      }
    }

    /// The label that a program gave the collection, else the owner's, else the group's name.
    private func label(of collection: BusCollection, _ call: BusCall) async throws -> String {
      guard let opened = seal.current else { return collection.group ?? BusCollection.memoryID }
      let read = try await Blocking.read { Result { try collection.label(in: opened.store) } }
      if case .success((_, let changes)) = read { tell(changes, in: collection) }
      let label = try? read.get().label
      guard let group = collection.group else { return label ?? BusCollection.memoryID }
      if let label { return label }
      return try await rules(for: call).label(of: group) ?? group
    }

    /// Sets a collection's label. It is in the group, because only the owner writes settings.
    private func set(_ label: String, of collection: BusCollection, _ call: BusCall) async throws {
      let opened = try await require(collection, call)
      let label = BusItem.withoutControls(label)
      guard !label.isEmpty else { throw BusFailure.invalid("a collection needs a label") }
      guard label.utf8.count <= 1_024 else { throw BusFailure.overLimit }
      try await record(call, .write, collection, item: BusCollection.labelName)
      do {
        let changes = try await Blocking.write { try collection.setLabel(label, in: opened.store) }
        tell(changes, in: collection)
      } catch {
        try await record(call, .write, collection, item: BusCollection.labelName, Refusal(error).outcome)
        throw error
      }
      tellEverybody(["Label": .text(label)], of: collection)
    }

    // MARK: Locking

    /// Locks collections for everybody, which any program may that no rule denies.
    func lock(_ collections: [BusCollection], _ call: BusCall) async throws {
      try await requireNoDenial(call)
      for collection in collections {
        try await record(call, .logout, collection)
        if locked.insert(collection.id).inserted { await tellLocked(collection, true) }
      }
    }

    /// Unlocks what needs no question, and makes a prompt for the rest.
    func unlock(_ paths: [String], _ call: BusCall) async throws -> [BusValue] {
      if seal.current != nil { try await requireNoDenial(call) }
      var (unlocked, rest): ([String], [String]) = ([], [])
      for (path, collection) in try collections(of: paths) {
        if try await isLocked(collection, for: call) { rest.append(path) } else { unlocked.append(path) }
      }
      guard !rest.isEmpty else { return [.paths(unlocked), .path("/")] }
      return [.paths(unlocked), .path(try await prompt(.unlock(rest), call))]
    }

    /// Adds a collection that somebody has just made, and tells everybody.
    func add(_ collection: BusCollection) {
      collections.insert(collection, at: collections.count - 1)
      signal(.service, .service, "CollectionCreated", [.path(BusObject.collection(collection.id).path)])
      tellCollections()
    }

    func remove(_ collection: BusCollection) {
      collections.removeAll { $0.id == collection.id }
      locked.remove(collection.id)
      readers.forget(collection: collection.id)
      if aliased("default") == nil { setDefault() }
      signal(.service, .service, "CollectionDeleted", [.path(BusObject.collection(collection.id).path)])
      tellCollections()
    }
  }
#endif
