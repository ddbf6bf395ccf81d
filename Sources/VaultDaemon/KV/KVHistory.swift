#if Daemon
  import Exchange
  import HTTPTypes
  import Vault

  /// The versions of an item as HashiCorp's interface counts them.
  ///
  /// The store counts every change: removing, restoring or relabelling an item makes a version, too. KV counts values.
  /// What KV needs beyond the item's own history is kept in a companion item; everything else is read from that
  /// history, so changes made with `vault` appear here as well. A value is recognized by the epoch in which it was
  /// first written, which a restored or relabelled version keeps, and by its bytes: values that share a commit have one
  /// epoch.
  struct KVHistory: Equatable {
    struct Version: Equatable {
      let number: Int
      var created: Timestamp
      /// When it was deleted, or will be.
      var deleted: Timestamp?
      var isDestroyed = false
      /// The epoch in which its value was written.
      var valueEpoch: UInt64
      /// The newest version of the item with the value; `nil` if none is kept.
      var stored: UInt64?
      /// The ID that the client gave the request that wrote it.
      var request: String?

      func isDeleted(at now: Timestamp) -> Bool { deleted.map { $0 <= now } ?? false }

      /// Whether the item's own history says all of this.
      fileprivate var isPlain: Bool { deleted == nil && !isDestroyed && UInt64(number) == stored && request == nil }

      func isReadable(at now: Timestamp) -> Bool { !isDestroyed && stored != nil && !isDeleted(at: now) }
    }

    /// Oldest first.
    var versions: [Version] = []
    var settings = KVSettings()
    var created: Timestamp?
    var updated: Timestamp?
    /// Attributes, for the time when there is no item to hold them.
    var custom: [String: String] = [:]
    /// The item's version up to which `versions` includes removals and restorations.
    private var seen: UInt64 = 0
    /// Whether a companion item exists.
    private(set) var isStored = false
    /// Whether to write a companion even if there are no versions yet.
    private(set) var isKept = false
    /// The highest number used so far, including dropped versions.
    private var last = 0

    /// The item's current version; `nil` if there never was one.
    private(set) var item: Item?

    /// The attributes of the item, or those that it will get.
    var attributes: [String: String] {
      guard let item, !item.isRemoved else { return custom }
      return item.attributes
    }

    var current: Version? { versions.last }
    var currentNumber: Int { versions.last?.number ?? last }
    var exists: Bool { !versions.isEmpty || isStored }

    func version(_ number: Int) -> Version? { versions.first { $0.number == number } }

    mutating func change(_ number: Int, _ body: (inout Version) -> Void) {
      guard let index = versions.firstIndex(where: { $0.number == number }) else { return }
      body(&versions[index])
    }

    /// - Parameters:
    ///   - companion: the companion's JSON, if there is one.
    ///   - history: all kept versions of the item, newest first.
    ///   - fingerprint: tells values of one epoch apart.
    /// - Throws: ``Refusal`` for a companion that this type cannot have written; what `fingerprint` throws.
    init(companion: JSONValue?, history: [Item], fingerprint: (Item) throws -> Int) throws {
      if let companion {
        guard let saved = KVHistory(saved: companion) else { throw KVHistory.foreign }
        self = saved
      }
      item = history.first
      try follow(history.reversed(), fingerprint)
    }

    /// How many versions are listed at most, including destroyed ones.
    private static let mostVersions = 1_000

    static let foreign = Refusal(
      status: .internalServerError, "the companion item of this path was not written by vaultd")

    /// Adds the changes made to the item since the companion was written.
    private mutating func follow(_ history: [Item], _ fingerprint: (Item) throws -> Int) throws {
      // If the item was copied to another group, or its history was begun anew, the epochs in the companion do not fit.
      if let newest = history.last, newest.version < seen { (versions, seen) = ([], 0) }
      // For each epoch, the item's versions with its values, each with the newest version that has the same value.
      var values: [UInt64: [UInt64: UInt64]] = [:]
      for (epoch, items) in Dictionary(grouping: history.filter { !$0.isRemoved }, by: \.valueEpoch) {
        let groups = items.count == 1 ? [0: items] : try Dictionary(grouping: items, by: fingerprint)
        for items in groups.values {
          for item in items { values[epoch, default: [:]][item.version] = items.last?.version }
        }
      }
      let stored = versions.map { $0.isDestroyed ? nil : newest(of: $0, in: values[$0.valueEpoch] ?? [:]) }
      for index in versions.indices { versions[index].stored = stored[index] }
      var wasRemoved = false
      for item in history {
        defer { wasRemoved = item.isRemoved }
        guard item.version > seen else { continue }
        if item.isRemoved {
          guard let index = versions.indices.last else { continue }
          // It may be planned that it is deleted later.
          if !versions[index].isDeleted(at: item.changed) { versions[index].deleted = item.changed }
          continue
        }
        let stored = values[item.valueEpoch]?[item.version]
        guard let index = versions.indices.last, versions[index].stored == stored else {
          append(item, storedAs: stored)
          continue
        }
        // The newest value again: restored, or with a new label or attributes.
        if wasRemoved { versions[index].deleted = nil }
      }
      // Both items were copied here by some other means. Show what `vault` shows.
      if let newest = history.last, !newest.isRemoved, versions.last?.stored != newest.version {
        append(newest, storedAs: newest.version)
      }
      last = max(last, currentNumber)
      // The store keeps as many versions as the group's setting says. Versions that it dropped are not listed.
      versions.removeAll { $0.stored == nil && !$0.isDestroyed }
      created = created ?? history.first?.created
      if let newest = history.last { seen = max(seen, newest.version) }
    }

    /// The newest version of the item with the value of `version`.
    ///
    /// - Parameter values: as `follow` collects them, of the epoch of that value.
    private func newest(of version: Version, in values: [UInt64: UInt64]) -> UInt64? {
      // The companion names the item's version, unless it was written before values could share an epoch.
      guard let stored = version.stored else { return values.values.max() }
      if let newest = values[stored] { return newest }
      // That version was dropped. Its value was written again since if it is the only one that can have been.
      let isOnly = versions.allSatisfy {
        $0.valueEpoch != version.valueEpoch || $0.isDestroyed || $0.stored == stored
      }
      return isOnly ? values.values.max() : nil
    }

    /// - Parameters:
    ///   - number: by default the next one. Without a companion, the item's own version, so that numbers stay the same
    ///     when older versions are dropped.
    ///   - stored: the newest version of the item with its value.
    private mutating func append(_ item: Item, as number: Int? = nil, storedAs stored: UInt64?) {
      let next = isStored ? currentNumber + 1 : max(currentNumber + 1, Int(clamping: item.version))
      let number = number ?? next
      versions.append(
        Version(number: number, created: item.changed, valueEpoch: item.valueEpoch, stored: stored))
      updated = item.changed
    }

    /// Whether the item's own history says everything, so that no companion is needed.
    var isPlain: Bool {
      !isStored && !isKept && settings == KVSettings() && custom.isEmpty
        && versions.allSatisfy { $0.isPlain } && Set(versions.map(\.valueEpoch)).count == versions.count
        && versions.last.map { $0.stored == item?.version } ?? false
    }

    /// Makes sure that the companion is written, even if it contains nothing.
    mutating func keep() { isKept = true }

    /// The oldest version of the item that is still needed after one more value is written.
    func oldestKept(by settings: KVSettings) -> UInt64 {
      guard settings.maxVersions > 0, versions.count >= settings.maxVersions else { return 0 }
      // Every version from the first needed one on must stay; only removals can lie between it and the next.
      return versions.suffix(settings.maxVersions - 1).compactMap(\.stored).min() ?? .max
    }

    /// Notes that a new value was written; `item` is the item's new version.
    mutating func add(_ item: Item, deletedAt: Timestamp?, request: String?, keeping count: Int) {
      append(item, as: currentNumber + 1, storedAs: item.version)
      versions.removeFirst(max(0, versions.count - (count > 0 ? count : Self.mostVersions)))
      change(currentNumber) { ($0.deleted, $0.request) = (deletedAt, request) }
      last = currentNumber
      created = created ?? item.created
    }

    /// Updates the versions of the item to `history`, newest first, which contains no value that is unknown here.
    ///
    /// - Parameter moved: the versions of the item that were written again, with the new ones.
    mutating func took(_ history: [Item], moved: [UInt64: UInt64] = [:]) {
      item = history.first
      seen = item?.version ?? seen
      let kept = Set(history.filter { !$0.isRemoved }.map(\.version))
      for index in versions.indices {
        let stored = versions[index].stored.map { moved[$0] ?? $0 }
        versions[index].stored = stored.flatMap { kept.contains($0) ? $0 : nil }
      }
      versions.removeAll { $0.stored == nil && !$0.isDestroyed }
    }
  }

  // MARK: - The companion item

  extension KVHistory {
    /// The companion's contents, as JSON.
    var saved: JSONValue {
      let versions = versions.map { version -> JSONValue in
        var members: [(String, JSONValue)] = [
          ("number", .number(version.number)), ("created", .number(version.created.milliseconds)),
          ("epoch", .number(version.valueEpoch)),
        ]
        if let stored = version.stored { members.append(("stored", .number(stored))) }
        if let deleted = version.deleted { members.append(("deleted", .number(deleted.milliseconds))) }
        if version.isDestroyed { members.append(("destroyed", true)) }
        if let request = version.request { members.append(("request", .string(request))) }
        return .members(members)
      }
      var members: [(String, JSONValue)] = [
        ("kv", 1), ("seen", .number(seen)), ("last", .number(last)), ("versions", .array(versions)),
        ("settings", settings.json),
      ]
      if let created { members.append(("created", .number(created.milliseconds))) }
      if let updated { members.append(("updated", .number(updated.milliseconds))) }
      if !custom.isEmpty { members.append(("custom", .strings(custom))) }
      return .members(members)
    }

    private init?(saved json: JSONValue) {
      guard json["kv"]?.whole == 1, let seen = json["seen"]?.whole.flatMap(UInt64.init(exactly:)),
        let last = json["last"]?.whole, case .array(let list)? = json["versions"],
        let settings = json["settings"].flatMap(KVSettings.init(json:))
      else { return nil }
      for entry in list {
        guard let number = entry["number"]?.whole, number > versions.last?.number ?? 0,
          let created = entry["created"]?.moment, let epoch = entry["epoch"]?.whole.flatMap(UInt64.init(exactly:))
        else { return nil }
        versions.append(
          Version(
            number: number, created: created, deleted: entry["deleted"]?.moment,
            isDestroyed: entry["destroyed"] == true, valueEpoch: epoch,
            stored: entry["stored"]?.whole.flatMap(UInt64.init(exactly:)), request: entry["request"]?.text))
      }
      guard last >= currentNumber, last < Int.max / 2 else { return nil }
      (self.seen, self.last, self.settings, isStored) = (seen, last, settings, true)
      (created, updated) = (json["created"]?.moment, json["updated"]?.moment)
      custom = json["custom"]?.members?.compactMapValues(\.text) ?? [:]
    }
  }

  extension JSONValue {
    static func strings(_ texts: [String: String]) -> JSONValue {
      .members(texts.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })
    }

    fileprivate var moment: Timestamp? {
      whole.flatMap(UInt64.init(exactly:)).flatMap { $0 < 1 << 53 ? Timestamp(milliseconds: $0) : nil }
    }
  }
#endif
