#if Daemon
  import Exchange
  import HTTPTypes
  import Vault

  /// The versions of an item as HashiCorp's interface counts them.
  ///
  /// The store counts every change: removing, restoring or relabelling an item makes a version, too. KV counts values.
  /// What KV needs beyond the item's own history is kept in a companion item; everything else is read from that
  /// history, so changes made with `vault` appear here as well. A value is recognized by the epoch in which it was
  /// first written, which a restored or relabelled version keeps.
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
    /// - Throws: ``Refusal`` for a companion that this type cannot have written.
    init(companion: JSONValue?, history: [Item]) throws(Refusal) {
      if let companion {
        guard let saved = KVHistory(saved: companion) else { throw KVHistory.foreign }
        self = saved
      }
      item = history.first
      follow(history.reversed())
    }

    /// How many versions are listed at most, including destroyed ones.
    private static let mostVersions = 1_000

    static let foreign = Refusal(
      status: .internalServerError, "the companion item of this path was not written by vaultd")

    /// Adds the changes made to the item since the companion was written.
    private mutating func follow(_ history: [Item]) {
      // If the item was copied to another group, or its history was begun anew, the epochs in the companion do not fit.
      if let newest = history.last, newest.version < seen { (versions, seen) = ([], 0) }
      var stored: [UInt64: UInt64] = [:]
      var wasRemoved = false
      for item in history {
        defer { wasRemoved = item.isRemoved }
        if item.isRemoved {
          guard item.version > seen, let index = versions.indices.last else { continue }
          if versions[index].deleted == nil { versions[index].deleted = item.changed }
          continue
        }
        stored[item.valueEpoch] = item.version
        guard item.version > seen else { continue }
        if versions.last?.valueEpoch == item.valueEpoch {
          // The newest value again: restored, or with a new label or attributes.
          if wasRemoved, let index = versions.indices.last { versions[index].deleted = nil }
          continue
        }
        append(item)
      }
      // Both items were copied here by some other means. Show what `vault` shows.
      if let newest = history.last, !newest.isRemoved, versions.last?.valueEpoch != newest.valueEpoch { append(newest) }
      for index in versions.indices where !versions[index].isDestroyed {
        versions[index].stored = stored[versions[index].valueEpoch]
      }
      last = max(last, currentNumber)
      // The store keeps as many versions as the group's setting says. Versions that it dropped are not listed.
      versions.removeAll { $0.stored == nil && !$0.isDestroyed }
      created = created ?? history.first?.created
      if let newest = history.last { seen = max(seen, newest.version) }
    }

    /// - Parameter number: by default the next one. Without a companion, the item's own version, so that numbers stay
    ///   the same when older versions are dropped.
    private mutating func append(_ item: Item, as number: Int? = nil) {
      let next = isStored ? currentNumber + 1 : max(currentNumber + 1, Int(clamping: item.version))
      let number = number ?? next
      versions.append(Version(number: number, created: item.changed, valueEpoch: item.valueEpoch))
      updated = item.changed
    }

    /// Whether the item's own history says everything, so that no companion is needed.
    var isPlain: Bool {
      !isStored && !isKept && settings == KVSettings() && custom.isEmpty
        && versions.allSatisfy { $0.isPlain }
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
      append(item, as: currentNumber + 1)
      versions.removeFirst(max(0, versions.count - (count > 0 ? count : Self.mostVersions)))
      change(currentNumber) { ($0.deleted, $0.request) = (deletedAt, request) }
      last = currentNumber
      created = created ?? item.created
    }

    /// Updates the versions of the item to `history`, newest first, which contains no value that is unknown here.
    mutating func took(_ history: [Item]) {
      item = history.first
      seen = item?.version ?? seen
      for index in versions.indices {
        versions[index].stored = history.first { !$0.isRemoved && $0.valueEpoch == versions[index].valueEpoch }?.version
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
            isDestroyed: entry["destroyed"] == true, valueEpoch: epoch, request: entry["request"]?.text))
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
