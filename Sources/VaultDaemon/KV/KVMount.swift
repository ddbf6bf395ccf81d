#if Daemon
  import Exchange
  import HTTPTypes
  import Vault

  /// An access group as a mount of HashiCorp's KV interface, version 2. Every call may block on disks and locks.
  struct KVMount: Sendable {
    let group: AccessGroup
    let now: @Sendable () -> Timestamp

    init(_ group: AccessGroup, now: @escaping @Sendable () -> Timestamp = { .now }) {
      (self.group, self.now) = (group, now)
    }

    // MARK: Reading

    /// The data of a version, with its metadata.
    enum Reading {
      case value(JSONValue)
      /// The version was deleted or destroyed, so only its metadata remains.
      case gone(JSONValue)
    }

    /// - Parameter number: `nil` or 0 for the current version.
    /// - Throws: ``Refusal``; `notFound` if there is no such version.
    func read(_ path: KVPath, version number: Int?) throws -> Reading {
      let state = try group.state()
      let history = try KVHistory(of: path, in: state)
      let wanted = number.flatMap { $0 == 0 ? nil : $0 }
      guard let version = wanted.map({ history.version($0) }) ?? history.current else { throw Refusal.notFound }
      let metadata = history.json(of: version)
      guard version.isReadable(at: now()), let stored = version.stored else {
        return .gone(["data": .null, "metadata": metadata])
      }
      return .value([
        "data": try KVValue.data(of: try state.open(path.name, version: stored)), "metadata": metadata,
      ])
    }

    /// The metadata of a path and of all its versions.
    ///
    /// - Throws: ``Refusal``; `notFound` if there is no such path.
    func metadata(_ path: KVPath) throws -> JSONValue {
      let history = try KVHistory(of: path, in: try group.state())
      guard history.exists else { throw Refusal.notFound }
      return history.json
    }

    /// The entries of a folder.
    ///
    /// - Parameters:
    ///   - all: whether to include deleted ones.
    ///   - draft: counts the entries while they are found.
    /// - Throws: ``Refusal``; `notFound` if there are none.
    func list(_ folder: String, all: Bool, _ draft: BodyBudget.Draft? = nil) throws -> [String] {
      var entries: Set<String> = []
      let list = try group.list(prefix: folder)
      while let name = try list.next()?.name {
        guard all || !name.isCompanion, let entry = KVPath.entry(of: name.description, in: folder) else { continue }
        if entries.insert(entry).inserted { try draft?.grow(by: entry.utf8.count) }
      }
      guard !entries.isEmpty else { throw Refusal.notFound }
      return entries.sorted()
    }

    func settings() throws -> KVSettings { try settings(in: try group.state()) }

    private func settings(in state: OneState) throws -> KVSettings {
      guard let json = try state.json(KVPath.mount) else { return KVSettings() }
      guard let settings = json["settings"].flatMap(KVSettings.init(json:)) else { throw KVHistory.foreign }
      return settings
    }

    // MARK: Writing

    /// Writes a new version.
    ///
    /// - Parameters:
    ///   - expected: the number that the current version must have; 0 if there must be none.
    ///   - request: identifies the request. If it has already written a version of the path, nothing is written again.
    ///   - makeData: makes the new data from the current version's data, which is `nil` if it cannot be read.
    /// - Returns: the new version's metadata.
    @discardableResult
    func write(
      _ path: KVPath, expecting expected: Int? = nil, for request: String? = nil,
      _ makeData: (JSONValue?) throws -> JSONValue?
    ) throws -> JSONValue {
      try change(path) { (edit, history) in
        if let request, let done = history.versions.first(where: { $0.request == request }) {
          return history.json(of: done)
        }
        let settings = history.settings.within(try settings(in: edit.state))
        if let expected {
          guard expected == history.currentNumber else {
            throw Refusal.invalid("check-and-set parameter did not match the current version")
          }
        } else if settings.casRequired {
          throw Refusal.invalid("check-and-set parameter required for this call")
        }
        let (bytes, kind) = try KVValue.value(of: try makeData(try currentData(path, history, edit.state)))
        let deleted = settings.deleteAfter > 0 ? now().later(by: UInt64(settings.deleteAfter)) : nil
        var details = Details(expires: deleted.map { .to($0) } ?? .keep)
        if history.item?.isRemoved ?? true { details.attributes = history.custom.mapValues { $0 } }
        edit.set(
          path.name, to: try Secret(bytes), kind: kind, details, droppingBelow: history.oldestKept(by: settings))
        let versions = try edit.state.history(path.name)
        if let failure = edit.failure { throw failure }
        guard let newest = versions.first else { throw Refusal.unexpected }
        history.custom = [:]
        history.add(newest, deletedAt: deleted, request: request, keeping: settings.maxVersions)
        history.took(versions)
        return history.current.map { history.json(of: $0) } ?? .null
      }
    }

    private func currentData(_ path: KVPath, _ history: KVHistory, _ state: OneState) throws -> JSONValue? {
      guard let current = history.current, current.isReadable(at: now()), let stored = current.stored else {
        return nil
      }
      return try? KVValue.data(of: try state.open(path.name, version: stored))
    }

    /// Deletes versions, which can be undeleted.
    ///
    /// - Parameter numbers: `nil` for the current one.
    func delete(_ path: KVPath, _ numbers: [Int]?) throws {
      try change(path) { (edit, history) in
        let (now, attributes) = (now(), history.attributes)
        for number in numbers ?? history.current.map({ [$0.number] }) ?? [] {
          history.change(number) { version in
            if !version.isDestroyed, !version.isDeleted(at: now) { version.deleted = now }
          }
        }
        try settle(path, edit, &history, attributes)
      }
    }

    /// Undeletes versions.
    func undelete(_ path: KVPath, _ numbers: [Int]) throws {
      try change(path) { (edit, history) in
        let (attributes, wasDeleted) = (history.attributes, history.current?.deleted != nil)
        for number in numbers { history.change(number) { if !$0.isDestroyed { $0.deleted = nil } } }
        try settle(path, edit, &history, attributes, endsExpiry: wasDeleted && history.current?.deleted == nil)
      }
    }

    /// Removes the values of versions for good. The remaining versions are written again, because the store's history
    /// has no gaps.
    func destroy(_ path: KVPath, _ numbers: [Int]) throws {
      try change(path) { (edit, history) in
        let destroyed = numbers.compactMap { history.version($0) }.filter { !$0.isDestroyed }
        guard !destroyed.isEmpty else { return }
        let attributes = history.attributes
        for version in destroyed {
          history.change(version.number) { ($0.isDestroyed, $0.stored) = (true, nil) }
        }
        let kept = Set(history.versions.compactMap(\.stored)).sorted()
        edit.destroy(path.name, keeping: kept)
        let versions = try edit.state.history(path.name)
        let written = versions.prefix(kept.count).reversed().map(\.version)
        history.took(versions, moved: Dictionary(zip(kept, written)) { $1 })
        try settle(path, edit, &history, attributes)
      }
    }

    /// Removes a path and everything that is known about it.
    func destroyAll(_ path: KVPath) throws {
      try group.transaction { edit in
        for name in [path.name, path.companion] {
          guard let item = try edit.state.item(name), !item.isRemoved || item.oldestVersion < item.version else {
            continue
          }
          edit.destroy(name)
        }
      }
    }

    /// Changes the settings and the attributes of a path.
    ///
    /// - Parameter isPatch: whether to keep attributes that are not named, and remove those that are null.
    func setMetadata(_ path: KVPath, _ json: JSONValue, isPatch: Bool) throws {
      try change(path) { (edit, history) in
        if isPatch, !history.exists { throw Refusal.notFound }
        try history.settings.take(json)
        guard let custom = json["custom_metadata"] else { return history.keep() }
        let old = history.attributes
        var new = isPatch ? old : [:]
        guard custom == .null || custom.members != nil else {
          throw Refusal.invalid("custom_metadata must be an object of strings")
        }
        for (key, value) in custom.members ?? [:] {
          guard isPatch && value == .null || value.text != nil else {
            throw Refusal.invalid("custom_metadata must be an object of strings")
          }
          new[key] = value.text
        }
        guard let item = history.item, !item.isRemoved else {
          // The label stands for what the next value adds to them: its writer, dates and numbers.
          let details = Details(label: .to(String(repeating: " ", count: 512)), attributes: new.mapValues { $0 })
          try group.rehearse(path.name, to: try Secret(""), kind: .json, typeName: nil, details)
          history.custom = new
          return history.keep()
        }
        history.keep()
        guard new != old else { return }
        edit.change(path.name, Details(attributes: Self.changes(from: old, to: new)))
        try take(path, edit, &history, as: item.version)
      }
    }

    func setSettings(_ json: JSONValue) throws {
      try group.transaction { edit in
        var settings = try settings(in: edit.state)
        try settings.take(json)
        try edit.set(
          KVPath.mount, json: ["kv": 1, "settings": settings.json], label: "settings of HashiCorp's interface")
      }
    }

    // MARK: Steps

    /// Changes an item and its companion in one transaction.
    private func change<Result>(
      _ path: KVPath, _ body: (borrowing Edit, inout KVHistory) throws -> Result
    ) throws -> Result {
      try group.transaction { edit in
        var history = try KVHistory(of: path, in: edit.state)
        let before = history
        let result = try body(edit, &history)
        if history != before, !history.isPlain, history.exists || history.isKept {
          try edit.set(path.companion, json: history.saved, label: "versions of HashiCorp's interface")
        }
        return result
      }
    }

    /// Removes or restores the item, so that it exists if and only if the current version can be read.
    ///
    /// - Parameter attributes: the attributes that the item has, or gets when it is restored.
    private func settle(
      _ path: KVPath, _ edit: borrowing Edit, _ history: inout KVHistory, _ attributes: [String: String],
      endsExpiry: Bool = false
    ) throws {
      guard let item = history.item else { return }
      if let readable = history.current.flatMap({ $0.isReadable(at: now()) ? $0.stored : nil }) {
        if item.isRemoved { edit.restore(path.name, version: readable) }
        guard let present = try edit.state.item(path.name) else { return }
        let details = Details(
          attributes: Self.changes(from: present.attributes, to: attributes), expires: endsExpiry ? .remove : .keep)
        if !details.attributes.isEmpty || endsExpiry && present.expires != nil { edit.change(path.name, details) }
        history.custom = [:]
        try take(path, edit, &history, as: readable)
      } else {
        history.custom = attributes
        if !item.isRemoved { edit.remove(path.name) }
        history.took(try edit.state.history(path.name))
      }
    }

    /// Updates `history` after a change after which the item has the value that its version `old` has.
    private func take(
      _ path: KVPath, _ edit: borrowing Edit, _ history: inout KVHistory, as old: UInt64
    ) throws {
      let versions = try edit.state.history(path.name)
      history.took(versions, moved: versions.first.map { [old: $0.version] } ?? [:])
    }

    private static func changes(from old: [String: String], to new: [String: String]) -> [String: String?] {
      var changes: [String: String?] = [:]
      for key in old.keys where new[key] == nil { changes.updateValue(nil, forKey: key) }
      for (key, value) in new where old[key]?.utf8.elementsEqual(value.utf8) != true { changes[key] = value }
      return changes
    }
  }

  extension KVHistory {
    /// Reads the history of `path` and its companion.
    init(of path: KVPath, in state: OneState) throws {
      try self.init(
        companion: try state.json(path.companion), history: try state.history(path.name)
      ) { item in
        let opened = try state.open(path.name, version: item.version)
        var hasher = Hasher()
        hasher.combine(item.kind)
        unsafe opened.secret.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        return hasher.finalize()
      }
    }
  }

  extension OneState {
    /// The JSON in the item `name`; `nil` if there is none.
    fileprivate func json(_ name: String) throws -> JSONValue? {
      guard let item = try item(name), !item.isRemoved else { return nil }
      guard let text = try open(name).secret.exportInsecurelyAsString(), let json = try? JSONValue(parsing: text) else {
        throw KVHistory.foreign
      }
      return json
    }
  }

  extension Edit {
    /// Writes a companion item without a history of its own.
    fileprivate func set(_ name: String, json: JSONValue, label: String) throws {
      set(name, to: try Secret(json.json), kind: .json, Details(label: .to(label)), droppingBelow: .max)
    }
  }
#endif
